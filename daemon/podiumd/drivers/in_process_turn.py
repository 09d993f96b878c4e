"""A turn that is played inside the daemon, and ends with it: what such turns have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self, TypeVar

import trio
from msgspec.structs import replace

from podiumd.core.reply.report import TurnReport
from podiumd.drivers.base import Decision, TurnEvent
from podiumd.drivers.tasks import helpers
from podiumd.drivers.turn_channel import ToolReply, TurnChannel
from podiumd.tools.failpoints import failpoint
from podiumd.tools.process.processes import sweep


class InProcessTurn(ABC):
    """The part of ``podiumd.drivers.base.Turn`` that such turns share."""

    def __init__(self, dealings: TurnChannel) -> None:
        self.finished = trio.Event()
        self._dealings = dealings
        self._scope = trio.CancelScope()
        self._left = False
        self._report: TurnReport | None = None

    @abstractmethod
    async def run(self) -> None:
        """Do the turn to its end; never raises but for faults of this daemon."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TurnEvent:
        return await anext(self._dealings.events)

    @property
    def report(self) -> TurnReport:
        """Return the end of the turn, once its context was left."""
        if self._report is None:
            raise RuntimeError("the turn has no report: it was let go, or is not over")
        return self._report

    @property
    def may_leave_processes(self) -> bool:
        """Return whether a process was started for the turn, in any life of the daemon.

        Only then is there one to look for at its end.
        """
        return True

    @property
    def _stopped(self) -> bool:
        """Return whether the turn takes nothing more."""
        return self.finished.is_set() or self._scope.cancel_called

    async def interrupt(self) -> None:
        """Stop at once; what was done stays done."""
        await trio.lowlevel.checkpoint()
        self.stop()

    async def answer(self, request_id: str, decision: Decision) -> bool:
        """Answer an approval; the first answer holds."""
        failpoint("answer.before-write")
        await trio.lowlevel.checkpoint()
        taken = not self.finished.is_set() and self._dealings.approvals.give(request_id, decision)
        failpoint("answer.after-write")
        return taken

    async def reply_tool(self, call_id: str, text: str, success: bool) -> bool:
        """Answer a call with its result; the first answer holds."""
        await trio.lowlevel.checkpoint()
        reply = ToolReply(text, success)
        return not self.finished.is_set() and self._dealings.replies.give(call_id, reply)

    async def settle_hook(self, hook_id: str, refusal: str | None) -> bool:
        """Answer the agent with a hook's verdict; the first answer holds."""
        await trio.lowlevel.checkpoint()
        return not self.finished.is_set() and self._dealings.words.give(hook_id, refusal)

    async def leave(self) -> None:
        """Let go. The turn cannot go on without this daemon: it stops where it is."""
        self._left = True
        await self.interrupt()

    def stop(self) -> None:
        """End the work, if it goes on."""
        self._scope.cancel()

    async def close(self, stopped: tuple[str, ...]) -> None:
        """Drop unread events and complete the report with what a sweep had to end."""
        self._dealings.events.close()
        if self._left or self._report is None:
            self._report = None
        else:
            self._report = replace(self._report, background_stopped=stopped)


Played = TypeVar("Played", bound=InProcessTurn)


@asynccontextmanager
async def played(turn: Played, turn_id: str, ending_seconds: float) -> AsyncIterator[Played]:
    """Do a turn while its handle is in use; then end it with all that it has left running.

    A turn that has started no process is known to have left none, and no search is made for one.

    ``ending_seconds`` is what its end, and the sweep of its marker (8 s), may take.
    """
    async with helpers() as nursery:
        nursery.start_soon(turn.run)
        try:
            yield turn
        finally:
            turn.stop()
            with trio.move_on_after(ending_seconds, shield=True):
                await turn.finished.wait()
                left = await sweep(turn_id) if turn.may_leave_processes else ()
                await turn.close(tuple(left))
