"""A turn of an agent that reads a named pipe and writes a spool file.

The iteration reads the spool itself: no task stands between the file and the turn's follower, so a
slow follower holds nothing but its own place in the file. The meaning of the lines is the
``Dialect``'s business; when the turn is over, and how it is ended, is decided here.
"""

from __future__ import annotations

import contextlib
import signal
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

import trio

from podiumd.core.reply.report import EndKind, TurnReport
from podiumd.drivers.agent_process import (
    ERRORS,
    PIPE,
    SPOOL,
    AgentProcess,
    end_leftovers,
    error_tail,
)
from podiumd.drivers.base import (
    ApprovalRequested,
    ApprovalWithdrawn,
    Decision,
    HookRaised,
    Output,
    PromptState,
    SessionNamed,
    ToolCalled,
    TurnEvent,
)
from podiumd.drivers.dialect import Aftermath, Dialect, Ending, Group
from podiumd.drivers.fifo import Fifo, FifoError, LineTooLong
from podiumd.drivers.said_again import say_again
from podiumd.drivers.spool import Bell, SpoolReader
from podiumd.drivers.tasks import helpers
from podiumd.tools.failpoints import failpoint
from podiumd.tools.files.private_file import write_private

TOLD = "told"
STEP_SECONDS = 2.0  # for each of: interrupt, terminate, kill
CLOSING_SECONDS = 10.0  # for the end of session: what an agent has not written by then is lost
ENDING_SECONDS = 30.0  # more than those four and a sweep (10 s) can take together
MEBIBYTE = 1 << 20
SPOOL_MEGABYTES = 1024

Look = Callable[[], Awaitable[Aftermath]]

_REQUESTS = (ApprovalRequested, ToolCalled, HookRaised)
_TOLD_AGAIN = (ApprovalWithdrawn, PromptState, SessionNamed)
"""What may not have become a fact before the earlier daemon died; again it changes nothing."""


class SpooledTurn:
    """Implements ``podiumd.drivers.base.Turn``. ``offset`` is the end of the last line read.

    ``spool_megabytes`` (MiB): a turn whose agent writes more is ended as failed.
    """

    def __init__(
        self,
        *,
        directory: Path,
        dialect: Dialect,
        process: AgentProcess,
        bell: Bell,
        idle_timeout: float,
        spool_megabytes: int = SPOOL_MEGABYTES,
    ) -> None:
        self._directory = directory
        self._dialect = dialect
        self._process = process
        self._bell = bell
        self._idle_timeout = idle_timeout
        self._spool_megabytes = spool_megabytes
        self._fifo = Fifo(directory / PIPE)
        self._spool = SpoolReader(directory / SPOOL)
        self._pending: deque[TurnEvent] = deque([process.started])
        self._replies: deque[Group] = deque()
        self._began = self._last_output = trio.current_time()
        self._stop_at: float | None = None
        self._ended: tuple[EndKind | None, str] | None = None
        self._left = False
        self._first_output = self._tool_begun = False
        # Set once the agent has taken up its prompt, and when the turn ends or is let go.
        self._taken_up = trio.Event()
        self._report: TurnReport | None = None

    # -- following ---------------------------------------------------------------------------

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TurnEvent:
        while not self._pending:
            if self._ended is not None or self._left:
                raise StopAsyncIteration
            await self._advance()
        return self._pending.popleft()

    @property
    def offset(self) -> int:
        """Return the offset in the spool, in bytes, up to which lines became events."""
        return self._spool.offset

    @property
    def report(self) -> TurnReport:
        """Return the end of the turn, once its context was left."""
        if self._report is None:
            raise RuntimeError("the turn has no report: it was let go, or is not over")
        return self._report

    async def catch_up(self, offset: int | None) -> None:
        """Read what an earlier daemon may have read already.

        ``None``: up to where that daemon noted that it stopped; if it could not, what is there now.
        The agent's output up to ``offset`` is reported as earlier output. The fate of messages and
        the agent's own id of the session are reported again, and open requests of the agent are
        raised again, or answered again, wherever they stand.
        """
        if offset is None:
            offset = _told(self._directory)
        events: list[TurnEvent] = []
        while not self._spool.at_end:
            for line in self._spool.read():
                for one in self._dialect.feed(line.data):
                    if line.end > offset or isinstance(one, _TOLD_AGAIN):
                        if not isinstance(one, _REQUESTS):
                            events.append(one)
                    elif isinstance(one, Output) and one.kind != "progress":
                        say_again(events, one)
            await trio.lowlevel.checkpoint()
        self._first_output = True
        self._tool_begun = self._dialect.tool_begun
        self._see_taken_up()
        self._pending.extend([*events, *self._dialect.open_requests()])
        self._dialect.attached()
        self._replies.extend(self._dialect.replies())
        self._judge()

    async def _advance(self) -> None:
        """Read what is there, or wait for more; decide whether that was the end."""
        gone = self._process.gone.is_set()  # asked first: what is read now is then all there is
        if self._read(keep=True) or self._replies or not self._spool.at_end:
            await trio.lowlevel.checkpoint()
            self._judge()
            at, kind, detail = self._patience()
            with trio.move_on_at(at) as scope:
                await self._reply()
            if scope.cancelled_caught:
                self._end(kind, detail)
        elif gone:
            self._end(None, "")
        else:
            self._judge()  # by what is no line yet, too
            at, kind, detail = self._patience()
            if trio.current_time() >= at:
                self._end(kind, detail)
            elif self._ended is None:
                await self._bell.wait(at - trio.current_time())

    async def _reply(self) -> None:
        """Send replies that need no decision; unsent ones are kept."""
        while self._replies and not self._left:
            failpoint("handshake.before-write")
            try:
                await self._send(*self._replies[0])
            except LineTooLong as error:
                self._end("failed", f"the tools cannot be sent to the agent: {error}")
            failpoint("handshake.after-write")
            self._replies.popleft()

    def _read(self, *, keep: bool) -> bool:
        lines = self._spool.read()
        worked = False
        for line in lines:
            if not self._first_output:
                self._first_output = True
                failpoint("turn.first-output")
            events = self._dialect.feed(line.data)
            worked = worked or not self._dialect.idle_line
            if keep:
                self._pending.extend(events)
            self._replies.extend(self._dialect.replies())
            if self._dialect.tool_begun and not self._tool_begun:
                self._tool_begun = True
                failpoint("turn.tool-begun")
        if worked:
            self._last_output = trio.current_time()
        if lines:
            self._see_taken_up()
        return bool(lines)

    def _see_taken_up(self) -> None:
        if self._dialect.taken_up:
            self._taken_up.set()

    def _judge(self) -> None:
        if self._dialect.over:
            failpoint("turn.idle-seen")
            self._end(None, "")
        elif self._dialect.hopeless:
            self._end(None, self._dialect.hopeless)
        elif self._wrote_too_much():
            bound = f"{self._spool_megabytes} MiB of output (limits.spool_megabytes)"
            self._end("failed", f"the agent wrote more than {bound}")

    def _wrote_too_much(self) -> bool:
        """Return whether it wrote more than it may, to stderr too, and within a line."""
        try:
            errors = (self._directory / ERRORS).stat().st_size
        except OSError:  # removed by a person
            errors = 0
        return self._spool.size + errors > self._spool_megabytes * MEBIBYTE

    def _patience(self) -> tuple[float, EndKind | None, str]:
        """Until when to wait for the next line, and what it means if none comes."""
        ends: list[tuple[float, EndKind | None, str]] = [(float("inf"), None, "")]
        if self._stop_at is not None:
            ends.append((self._stop_at, "interrupted", "the agent did not stop by itself"))
        if self._dialect.lingering:
            at = self._last_output + STEP_SECONDS
            fate = "the agent is idle and never reported the fate of a message"
            ends.append((at, "broken", fate))
        elif not self._dialect.waits_for_answer:
            at = self._last_output + self._idle_timeout
            ends.append((at, "timeout", f"no output for {self._idle_timeout:g} s"))
        return min(ends, key=lambda end: end[0])

    def _end(self, kind: EndKind | None, detail: str) -> None:
        if self._ended is None:
            if kind is None and self._stop_at is not None:
                kind, detail = "interrupted", "stopped on request"
            self._ended = (kind, detail)
            self._taken_up.set()

    # -- talking to it -----------------------------------------------------------------------

    async def interrupt(self) -> None:
        """Ask the agent to stop; the iteration ends within 2 s, whether it does or not."""
        await trio.lowlevel.checkpoint()
        if self._ended is None and not self._left:
            await self._interrupt()

    async def _interrupt(self) -> None:
        if self._stop_at is None:
            self._stop_at = trio.current_time() + STEP_SECONDS
            self._taken_up.set()
            self._bell.ring()
            with trio.move_on_at(self._stop_at):
                await self._send(*self._dialect.interrupt())

    async def steer(self, text: str, uuid: str) -> bool:
        """Hand a message to the running turn; ``False``: it was over, nothing was sent.

        Waits until the agent has taken up its prompt, while another task follows the turn: a
        message that comes before that Claude Code may join with the prompt into one message that is
        neither. An agent may take none at all. Raises ``LineTooLong``.
        """
        await self._taken_up.wait()
        if self._ended is not None or self._stop_at is not None or self._left:
            await trio.lowlevel.checkpoint()
            return False
        lines = self._dialect.prompt(text, uuid)
        if lines is None:
            return False
        failpoint("steer.before-write")
        self._dialect.sent(uuid)
        sent = False
        try:
            sent = await self._send(*lines)
        finally:
            if not sent:
                self._dialect.not_sent(uuid)
        failpoint("steer.after-write")
        return sent

    async def answer(self, request_id: str, decision: Decision) -> bool:
        """Answer an approval; ``False``: no request waits for it any more."""
        lines = None if self._left else self._dialect.answer(request_id, decision)
        return await self._say(lines, "answer.before-write", "answer.after-write")

    async def reply_tool(self, call_id: str, text: str, success: bool) -> bool:
        """Send the result of a call; ``False``: no call waits for it any more."""
        lines = None if self._left else self._dialect.reply_tool(call_id, text, success)
        return await self._say(lines, "tool.before-reply", "tool.after-reply")

    async def settle_hook(self, hook_id: str, refusal: str | None) -> bool:
        """Let the agent go on, or not; ``False``: no hook waits for it any more."""
        lines = None if self._left else self._dialect.settle_hook(hook_id, refusal)
        return await self._say(lines, "hook.before-settle", "hook.after-settle")

    async def _say(self, lines: Group | None, before: str, after: str) -> bool:
        if lines is None or self._process.gone.is_set():
            await trio.lowlevel.checkpoint()
            return False
        failpoint(before)
        sent = await self._send(*lines)
        failpoint(after)
        self._last_output = trio.current_time()
        return sent

    async def leave(self) -> None:
        """Let go of the turn: the agent works on, nothing is torn down."""
        # The flag first: leaving holds also where this task is being cancelled.
        self._left = True
        self._taken_up.set()
        self._bell.ring()
        with contextlib.suppress(OSError):  # without it nothing is sent twice, only less
            write_private(self._directory / TOLD, str(self.offset))
        await trio.lowlevel.checkpoint()

    async def _send(self, *lines: bytes) -> bool:
        """Write a group whole. ``False``: nothing was written, or half of it, which ends the
        turn."""
        try:
            if lines:
                await self._fifo.send(*lines)
        except LineTooLong:
            raise
        except FifoError as error:
            if self._fifo.poisoned:
                self._end("broken", str(error))
                self._bell.ring()
            return False
        return True

    # -- ending it ---------------------------------------------------------------------------

    async def finish(self, turn_id: str, look: Look) -> None:
        """End all that lives of the turn and make the report; nothing if it was let go.

        In order: interrupt, end of session, terminate, kill, then a sweep; ``look`` then reads the
        agent's own record. The end of session has 10 s where the agent is idle, each other 2 s.
        """
        self._taken_up.set()
        try:
            if not self._left:
                await self._end_process()
                failpoint("turn.ended-process")
                stopped = await end_leftovers(turn_id, self._directory)
                failpoint("turn.swept")
                self._report = self._dialect.report(self._ending(stopped, await look()))
        finally:
            self._spool.close()

    async def _end_process(self) -> None:
        gone = self._process.gone.is_set
        idle = self._dialect
        if not idle.over and not gone() and not self._deaf:
            await self._interrupt()
            with trio.move_on_at(self._stop_at or 0):
                await self._until(lambda: idle.over or gone() or self._deaf)
        if not gone() and not self._deaf and (end := idle.end()):
            with trio.move_on_after(CLOSING_SECONDS if idle.over else STEP_SECONDS):
                await self._send(*end)
                failpoint("turn.end-sent")
                await self._until(lambda: idle.closed or gone() or self._deaf)
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not gone():
                self._process.signal(number)
                with trio.move_on_after(STEP_SECONDS):
                    await self._until(gone)
        # What it left running may write on without end: what stands there now is read.
        there = self._spool.size
        while self._spool.position < there and (self._read(keep=False) or not self._spool.at_end):
            await trio.lowlevel.checkpoint()

    @property
    def _deaf(self) -> bool:
        """Return whether it is not asked any more: half a line is in its pipe, or it floods us."""
        return self._fifo.poisoned or self._wrote_too_much()

    async def _until(self, done: Callable[[], bool]) -> None:
        while not done():
            if self._read(keep=False) or self._replies or not self._spool.at_end:
                await trio.lowlevel.checkpoint()
                await self._reply()
            else:
                await self._bell.wait()

    def _ending(self, stopped: tuple[str, ...], aftermath: Aftermath) -> Ending:
        kind, detail = self._ended or ("interrupted", "the turn was left before its end")
        return Ending(
            kind=kind,
            detail=detail or error_tail(self._directory),
            exit_status=self._process.status,
            seconds=trio.current_time() - self._began,
            background_stopped=stopped,
            aftermath=aftermath,
            torn=self._spool.partial,
        )


def _told(directory: Path) -> int:
    """Read up to where in the spool clients have been informed of the agent's work."""
    try:
        return int((directory / TOLD).read_text())
    except (OSError, ValueError):
        return (directory / SPOOL).stat().st_size


@asynccontextmanager
async def running(
    turn: SpooledTurn, process: AgentProcess, bell: Bell, turn_id: str, look: Look
) -> AsyncIterator[SpooledTurn]:
    """Watch over the process while the body follows the turn, then end it."""
    async with helpers() as nursery:
        nursery.start_soon(process.watch, bell)
        try:
            yield turn
        finally:
            with trio.move_on_after(ENDING_SECONDS, shield=True):
                await turn.finish(turn_id, look)
            process.unwatch()
