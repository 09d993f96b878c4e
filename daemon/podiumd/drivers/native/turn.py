"""One turn of the native agent, as the runtime handles it; ``work`` is what goes on in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Self

import trio
from msgspec.structs import replace

from podiumd.core.loop_facts import Words
from podiumd.core.report import TurnReport
from podiumd.drivers.base import Decision, LedgerClosed, TurnEvent
from podiumd.drivers.native.people import People
from podiumd.tools.failpoints import failpoint


class NativeTurn:
    """Implements ``podiumd.drivers.base.Turn``.

    Parameters:
        work: does the turn, to its end, and reports it.
        wind_up: reports a turn that was stopped, after what has to be noted down; bounded.
    """

    def __init__(
        self,
        people: People,
        work: Callable[[], Awaitable[TurnReport]],
        wind_up: Callable[[], Awaitable[TurnReport]],
    ) -> None:
        self.finished = trio.Event()
        self._people = people
        self._work = work
        self._wind_up = wind_up
        self._scope = trio.CancelScope()
        self._left = False
        self._report: TurnReport | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TurnEvent:
        return await anext(self._people.events)

    @property
    def report(self) -> TurnReport:
        """The end of the turn, once its context was left."""
        if self._report is None:
            raise RuntimeError("the turn has no report: it was let go, or is not over")
        return self._report

    async def interrupt(self) -> None:
        """Stop at once: the model is not listened to any more, a command is ended."""
        await trio.lowlevel.checkpoint()
        self.stop()

    async def steer(self, text: str, uuid: str) -> bool:
        """Accept words; the model gets them with its next request."""
        failpoint("steer.before-write")
        await trio.lowlevel.checkpoint()
        if self.finished.is_set() or self._scope.cancel_called:
            return False
        taken = self._people.say(Words(uuid, text))
        failpoint("steer.after-write")
        return taken

    async def answer(self, request_id: str, decision: Decision) -> bool:
        """Answer an approval; the first answer holds."""
        failpoint("answer.before-write")
        await trio.lowlevel.checkpoint()
        taken = not self.finished.is_set() and self._people.answer(request_id, decision)
        failpoint("answer.after-write")
        return taken

    async def leave(self) -> None:
        """Let go. The turn cannot go on without this daemon: it stops, for the next to go on."""
        self._left = True
        await self.interrupt()

    def stop(self) -> None:
        """End the work, if it goes on."""
        self._scope.cancel()

    def close(self, stopped: tuple[str, ...]) -> None:
        """Drop unread events and complete the report with what a sweep had to end."""
        self._people.events.close()
        if self._left:
            self._report = None
        elif self._report is not None:
            self._report = replace(self._report, background_stopped=stopped)

    async def run(self) -> None:
        """Do the turn to its end; never raises but for faults of this daemon."""
        report: TurnReport | None = None
        try:
            with self._scope:
                try:
                    report = await self._work()
                except LedgerClosed:
                    report = None
            if report is None and not self._left:
                report = await self._wind_up()
        finally:
            self._people.end()
            self._report = report
            self.finished.set()
