"""The driver of an agent that is a process: what all such agents have in common.

The process reads a named pipe and writes a spool file in the turn's directory, so it works on when
the daemon stops, and the next daemon takes it up (``podiumd.drivers.spooled``). What is an agent's
own comes as three functions, and its dialect.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Generic, TypeVar

import trio

from podiumd.core.excerpt import end
from podiumd.core.reply.report import TurnReport
from podiumd.drivers.agent_process import AgentProcess
from podiumd.drivers.base import PendingTurn, Turn, TurnRequest
from podiumd.drivers.dialect import Dialect
from podiumd.drivers.failed_start import FailedStart
from podiumd.drivers.fifo import FifoError
from podiumd.drivers.reattach import find_agent
from podiumd.drivers.spool import SpoolWatch
from podiumd.drivers.spooled import SPOOL_MEGABYTES, Look, SpooledTurn, running
from podiumd.tools.files.disk import is_full
from podiumd.tools.process.in_thread import PrintedTooMuchError, Program, Result
from podiumd.tools.process.short_answer import MOST_ANSWERED

VERSION_SECONDS: Final = 10.0

D = TypeVar("D", bound=Dialect)

LookBack = Callable[[TurnRequest | PendingTurn], Look]
"""Notes where the agent's own record of the session ends before a turn that starts, and makes what
looks at the end of the turn what that record holds of it; of a pending turn all of it counts."""


def messages_of(turn: TurnRequest | PendingTurn) -> tuple[str, ...]:
    """Return the ids of the messages that the agent was, or may have been, sent: the prompt's
    first."""
    sent = turn.sent_uuids if isinstance(turn, PendingTurn) else ()
    return tuple(dict.fromkeys((turn.prompt_uuid, *sent)))


class SpooledDriver(Generic[D]):
    """Runs turns of an agent that is one process a turn.

    ``watch`` wakes the followers of its turns. ``spool_megabytes`` bounds the output of a turn that
    starts, or is taken up, now. ``dialect`` makes the reader of a conversation, of a turn that
    starts or of one that is taken up: what it then needs of the request, beside what facts know,
    the driver keeps in the turn's directory. ``spawn`` starts the process with the first lines of
    the conversation in its stdin (``podiumd.drivers.agent_process.spawn``); it may raise
    ``OSError``, ``FifoError`` and ``ValueError``.
    """

    def __init__(
        self,
        watch: SpoolWatch,
        spool_megabytes: Callable[[], int] = lambda: SPOOL_MEGABYTES,
        *,
        dialect: Callable[[TurnRequest | PendingTurn], D],
        spawn: Callable[[TurnRequest, D], Awaitable[AgentProcess]],
        look_back: LookBack,
    ) -> None:
        self._watch = watch
        self._spool_megabytes = spool_megabytes
        self._dialect = dialect
        self._spawn = spawn
        self._look_back = look_back

    @asynccontextmanager
    async def turn(self, request: TurnRequest) -> AsyncIterator[Turn]:
        """Run one turn; see ``podiumd.drivers.base.Driver.turn``.

        A deadline for the whole turn is the caller's: ``interrupt()`` it and leave the context. A
        turn that was interrupted reports ``interrupted``, whatever the agent had done by then. An
        agent that cannot be started at all is a turn without events whose report is ``failed``.
        """
        dialect = self._dialect(request)
        directory = Path(request.directory)
        look = self._look_back(request)
        failure = ""
        process: AgentProcess | None = None
        with self._watch.follow(directory) as bell:
            try:
                process = await self._spawn(request, dialect)
            except (OSError, FifoError, ValueError) as error:
                if is_full(error):
                    raise
                failure = f"the agent cannot be run: {error}"
            if process is None:
                yield FailedStart(TurnReport(kind="failed", detail=failure))
                return
            turn = SpooledTurn(
                directory=directory,
                dialect=dialect,
                process=process,
                bell=bell,
                idle_timeout=request.idle_timeout_seconds,
                spool_megabytes=self._spool_megabytes(),
            )
            async with running(turn, process, bell, request.turn_id, look):
                yield turn

    @asynccontextmanager
    async def reattach(self, pending: PendingTurn) -> AsyncIterator[SpooledTurn]:
        """Attach to the turn of an earlier daemon; also where it has ended in the meantime.

        Events of lines before ``pending.offset`` are not sent again; requests on which the agent
        still waits are: approvals, calls of Podium's tools, hooks.

        Raises ``LookupError`` where no process of the turn is known or found: ``inspect`` it.
        """
        agent = await find_agent(pending)
        if agent is None:
            raise LookupError(f"turn {pending.turn_id} has no living agent process")
        process = AgentProcess(agent, agent.pid)
        dialect = self._dialect(pending)
        directory = Path(pending.directory)
        look = self._look_back(pending)
        with self._watch.follow(directory) as bell:
            turn = SpooledTurn(
                directory=directory,
                dialect=dialect,
                process=process,
                bell=bell,
                idle_timeout=pending.idle_timeout_seconds,
                spool_megabytes=self._spool_megabytes(),
            )
            async with running(turn, process, bell, pending.turn_id, look):
                await turn.catch_up(pending.offset)
                yield turn

    async def available(
        self, command: tuple[str, ...], environment: Mapping[str, str]
    ) -> str | None:
        """Return why ``command`` cannot be run, ``None`` where it can.

        Asks the program for its version (15 ms), at most 10 s.
        """
        program = shutil.which(command[0], path=environment.get("PATH"))
        if program is None:
            return f"`{command[0]}` is no program on the PATH that the daemon was started with"
        try:
            done = await _version([program, *command[1:], "--version"], environment)
        except OSError as error:
            return f"{program} cannot be run: {error.strerror}"
        except trio.TooSlowError:
            return f"`{program} --version` did not answer within {VERSION_SECONDS:g} s"
        except PrintedTooMuchError:
            return f"`{program} --version` printed more than {MOST_ANSWERED // 1024} KiB"
        if done.returncode != 0:
            said = end(done.stderr.decode(errors="replace").strip(), 500)
            return f"`{program} --version` ended with status {done.returncode}: {said}"
        return None


async def _version(command: list[str], environment: Mapping[str, str]) -> Result:
    asked = Program(command, environment, beginning=MOST_ANSWERED)
    try:
        with trio.fail_after(VERSION_SECONDS):
            await asked.over()
    finally:
        with trio.CancelScope(shield=True):  # bounded: it is killed where it does not obey
            await asked.end()
    return asked.result()
