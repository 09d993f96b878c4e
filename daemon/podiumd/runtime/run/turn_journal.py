"""The record of a native turn, as its driver sees it: the facts of its run."""

from __future__ import annotations

from podiumd.core.run import commands as c
from podiumd.core.run.native_loop_commands import LoopCommand
from podiumd.core.run.native_loop_facts import Words
from podiumd.core.run.native_loop_state import LoopState
from podiumd.drivers.base import JournalClosed
from podiumd.runtime.run.actor import RunActor


class RunTurnJournal:
    """Records what happens within one turn of a run; see ``podiumd.drivers.base.TurnJournal``."""

    def __init__(self, actor: RunActor, turn_id: str) -> None:
        self._actor = actor
        self._turn_id = turn_id
        self._last = LoopState()  # for a reader after the turn is over

    @property
    def loop(self) -> LoopState:
        turn = self._actor.state.turn
        if turn is not None and turn.intent.turn_id == self._turn_id:
            self._last = turn.loop
        return self._last

    @property
    def words(self) -> tuple[Words, ...]:
        mine = [s for s in self._actor.state.steers if s.turn_id == self._turn_id and s.queued]
        return tuple(Words(steer.uuid, steer.text) for steer in mine)

    async def record(self, command: LoopCommand) -> LoopState:
        """Decide and store; a full disk is waited out.

        Raises ``JournalClosed`` where the turn, or its whole run, is over.
        """
        step = c.LoopStep(**self._actor.stamp(), turn_id=self._turn_id, step=command)
        state = await self._actor.report(step)
        turn = state.turn
        if state.exit is not None or turn is None or turn.intent.turn_id != self._turn_id:
            raise JournalClosed
        return self.loop
