"""A turn of the native agent, as the runtime handles it; ``work`` is what goes on in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from podiumd.agents.native.user_channel import UserChannel
from podiumd.core.reply.report import TurnReport
from podiumd.core.run.native_loop_facts import Words
from podiumd.drivers.base import JournalClosed
from podiumd.drivers.in_process_turn import InProcessTurn
from podiumd.tools.failpoints import failpoint


class NativeTurn(InProcessTurn):
    """Implements ``podiumd.drivers.base.Turn``.

    Parameters:
        work: does the turn, to its end, and reports it.
        wind_up: reports a turn that was stopped, after what has to be noted down; bounded.
    """

    def __init__(
        self,
        people: UserChannel,
        work: Callable[[], Awaitable[TurnReport]],
        wind_up: Callable[[], Awaitable[TurnReport]],
    ) -> None:
        super().__init__(people)
        self._people = people
        self._work = work
        self._wind_up = wind_up

    async def steer(self, text: str, uuid: str) -> bool:
        """Accept words; the model gets them with its next request."""
        failpoint("steer.before-write")
        await trio.lowlevel.checkpoint()
        if self._stopped:
            return False
        taken = self._people.say(Words(uuid, text))
        failpoint("steer.after-write")
        return taken

    async def run(self) -> None:
        """Do the turn to its end; never raises but for faults of this daemon."""
        report: TurnReport | None = None
        try:
            with self._scope:
                try:
                    report = await self._work()
                except JournalClosed:
                    report = None
            if report is None and not self._left:
                report = await self._wind_up()
        finally:
            self._people.end()
            self._report = report
            self.finished.set()
