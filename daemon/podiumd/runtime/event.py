"""The public ``event``: made once for all who follow, and written once."""

from __future__ import annotations

from typing import Any

import msgspec
import trio

from podiumd.core.run import facts as f
from podiumd.runtime.fact_reader import summary
from podiumd.store.facts import Store
from podiumd.store.records import StoredFact
from podiumd.wire import views

Json = dict[str, Any]

RUN_ENDED = "run.ended"
"""The type of the event that tells the run as it ended."""

_encode = msgspec.json.Encoder().encode


class Event(dict[str, Any]):
    """An event that many are told: nobody changes it."""

    __slots__ = ("_written",)
    _written: bytes

    @property
    def written(self) -> bytes:
        """The event as JSON. Raises TypeError or ValueError for what JSON cannot say."""
        try:
            return self._written
        except AttributeError:
            self._written = _encode(self)
            return self._written


class Heard:
    """A stored fact in the queues of those who follow, and its event once somebody asks."""

    __slots__ = ("_event", "_making", "fact", "run_id", "type")

    def __init__(self, fact: StoredFact) -> None:
        self.fact = fact
        self.run_id = fact.run_id
        self.type = fact.type
        self._event: Event | None = None
        self._making: trio.Lock | None = None

    def at_once(self) -> Event | None:
        """The public event, the same for all; ``None``: the run has to be read for it first."""
        if self._event is None and self.type != RUN_ENDED:
            self._event = _event(self.fact, views.event_data(f.decode(bytes(self.fact.data))))
        return self._event

    async def event(self, store: Store) -> Event:
        """The public event."""
        event = self.at_once()
        if event is not None:
            return event
        self._making = self._making or trio.Lock()
        async with self._making:  # the others wait for the first, who reads the run
            if self._event is None:
                row = await store.run(self.fact.run_id)
                run = await summary(store, row) if row is not None else None
                data = views.event_data(f.decode(bytes(self.fact.data)))
                self._event = _event(self.fact, data | {"run": msgspec.to_builtins(run)})
        return self._event


async def to_event(store: Store, stored: StoredFact) -> Event:
    """The public ``event`` of a stored fact that one alone is told."""
    return await Heard(stored).event(store)


def _event(stored: StoredFact, data: Json) -> Event:
    return Event(
        seq=stored.seq,
        pos=stored.pos,
        type=stored.type,
        at=stored.at,
        run_id=stored.run_id,
        session_id=stored.session_id,
        data=data,
    )
