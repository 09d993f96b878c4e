"""The output of one turn while it goes on, as events, each with its place in the turn."""

from __future__ import annotations

from collections import Counter

from podiumd.core.run.facts import TurnIntended
from podiumd.drivers.base import Output
from podiumd.wire.event import Event
from podiumd.wire.events import TurnOutput


class Outputs:
    """Builder of the events of one turn.

    A daemon that takes a turn up reports the part that goes on from its beginning, so that counting
    begins anew with it: the same words have the same place.
    """

    def __init__(self, run_id: str, intent: TurnIntended) -> None:
        self._run_id = run_id
        self._intent = intent
        self._told: Counter[tuple[str, str]] = Counter()

    def event(self, output: Output, at: str) -> Event:
        """Build the event of an output. Its place is the characters of its kind before it."""
        counted = output.part, output.kind
        place = self._told[counted]
        self._told[counted] += len(output.delta)
        told = TurnOutput(
            turn_id=self._intent.turn_id,
            uuid=output.uuid,
            kind=output.kind,
            delta=output.delta,
            part=output.part,
            at=place,
        )
        return Event(told, at=at, run_id=self._run_id, session_id=self._intent.session_id)
