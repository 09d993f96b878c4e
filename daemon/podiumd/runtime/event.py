"""The event of a stored fact: made once for all who follow."""

from __future__ import annotations

import trio

from podiumd.core.run import facts as f
from podiumd.runtime.fact_reader import summary
from podiumd.store.facts import Store
from podiumd.store.records import StoredFact
from podiumd.wire.event import RUN_ENDED, Event
from podiumd.wire.runs import Run


class Heard:
    """A stored fact in the queues of followers, and its event once one is needed."""

    __slots__ = ("_event", "_making", "fact", "run_id", "type")

    def __init__(self, fact: StoredFact) -> None:
        self.fact = fact
        self.run_id = fact.run_id
        self.type = fact.type
        self._event: Event | None = None
        self._making: trio.Lock | None = None

    def at_once(self) -> Event | None:
        """Build the public event, the same for all; ``None``: the run must be read first."""
        if self._event is None and self.type != RUN_ENDED:
            self._event = _event(self.fact)
        return self._event

    async def event(self, store: Store) -> Event:
        """Build the public event, and read the run where it needs it."""
        event = self.at_once()
        if event is not None:
            return event
        self._making = self._making or trio.Lock()
        async with self._making:  # the others wait for the first, who reads the run
            if self._event is None:
                row = await store.run(self.fact.run_id)
                self._event = _event(self.fact, await summary(store, row) if row else None)
        return self._event


async def to_event(store: Store, stored: StoredFact) -> Event:
    """Build the public ``event`` of a stored fact for a single receiver."""
    return await Heard(stored).event(store)


def _event(stored: StoredFact, run: Run | None = None) -> Event:
    return Event(
        f.decode(bytes(stored.data)),
        seq=stored.seq,
        pos=stored.pos,
        at=stored.at,
        run_id=stored.run_id,
        session_id=stored.session_id,
        run=run,
    )
