"""Distribution of events to all followers: directly to one that waits for them and can take them,
else into bounded queues.

A queue that overflows is thrown away, and its follower is notified: it goes on from the store.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

import msgspec
import trio

from podiumd.runtime.event import Heard
from podiumd.runtime.recent_output import Recent
from podiumd.store.records import StoredFact
from podiumd.wire.event import RUN_ENDED, RUN_RENAMED, Event
from podiumd.wire.events import TurnOutput

_LAST = frozenset({RUN_ENDED, RUN_RENAMED})
"""Facts behind which a run may be over: of such a run nothing is kept."""

QUEUE_EVENTS = 1024
"""Events a follower may lag behind before it is sent back to the store."""


class Output(msgspec.Struct, frozen=True):
    """A transient event, never stored: words of an agent while it works, or the state of a
    conversation.

    ``number`` is that of ``Recent``, 0 where it is not kept there; ``again``: a daemon before this
    one may have sent it.
    """

    run_id: str
    event: Event
    number: int = 0
    again: bool = False

    @property
    def type(self) -> str:
        return self.event.type


Item = Heard | Output


class Wish(NamedTuple):
    """The events that a follower wants: of one run or all, of some types or all; ``again``: also
    those that a daemon before this one may have sent already."""

    run_id: str | None = None
    types: frozenset[str] | None = None
    again: bool = False

    def of(self, items: Sequence[Item]) -> Sequence[Item]:
        """Select the wanted items, in their order."""
        return [item for item in items if self._has(item)]

    def _has(self, item: Item) -> bool:
        return (
            (self.run_id is None or item.run_id == self.run_id)
            and (self.types is None or item.type in self.types)
            and (self.again or not (isinstance(item, Output) and item.again))
        )


class Burst:
    """The simultaneous events for the same followers: their lines are built once."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.facts = [item.fact for item in items if isinstance(item, Heard)]
        self.outputs = [item for item in items if isinstance(item, Output)]
        self._lines: dict[str, bytes | None] = {}

    def lines(self, method: str, write: Callable[[str, Event], bytes]) -> bytes | None:
        """Build the lines of all events by ``write``; ``None``: one has to be read for first."""
        if method not in self._lines:
            self._lines[method] = self._written(method, write)
        return self._lines[method]

    def _written(self, method: str, write: Callable[[str, Event], bytes]) -> bytes | None:
        lines = []
        for item in self.items:
            event = item.event if isinstance(item, Output) else item.at_once()
            if event is None:
                return None
            lines.append(write(method, event))
        return b"".join(lines)


class Follower:
    """The bounded queue of one follower.

    ``lagged``: it is to go on from the store. ``missed``: something transient may have been lost.
    """

    def __init__(self) -> None:
        self.queue: deque[Item] = deque()
        self.lagged = False
        self.missed = False
        self.closed = False
        self._wake = trio.Event()
        self._take: Callable[[Burst], bool] | None = None

    def put(self, burst: Burst) -> None:
        """Hand over what happened if it waits for it with nothing else to do, else queue it."""
        if self._take is not None:
            if self._take(burst):
                return
            self._take = None  # it goes on in its task
        if len(self.queue) + len(burst.items) > QUEUE_EVENTS:
            self.queue.clear()
            self.lagged = self.missed = True
        if not self.lagged:
            self.queue.extend(burst.items)
        elif burst.outputs:
            self.missed = True
        self._wake.set()

    def close(self) -> None:
        self.closed = True
        self._wake.set()

    async def wait(self, take: Callable[[Burst], bool] | None = None) -> None:
        """Wait, with an empty queue, until there is something to do. What happens meanwhile is
        offered to ``take``, and queued only when that does not take it (returns False)."""
        self._take = take
        try:
            await self._wake.wait()
        finally:
            self._take = None
        self._wake = trio.Event()


class Bus:
    """Distributor of every durable fact and every transient output to the followers; ``recent``
    holds the latest output of agents."""

    def __init__(self) -> None:
        self.recent = Recent()
        self._followers: dict[Wish, set[Follower]] = {}

    @property
    def longest_queue(self) -> int:
        """Events that wait for the slowest follower."""
        return max((len(follower.queue) for follower in self._all()), default=0)

    def publish(self, stored: Sequence[StoredFact]) -> None:
        """Called by the store when facts are durable, in the order of ``pos``."""
        for fact in stored:
            self.recent.stored(fact.run_id, fact.seq, last=fact.type in _LAST)
        self._tell([Heard(fact) for fact in stored])

    def publish_transient(self, run_id: str, event: Event, *, again: bool = False) -> None:
        number = 0
        if isinstance(event.fact, TurnOutput) and event.fact.kind != "progress":
            number = self.recent.keep(run_id, event, event.fact, again=again).number
        self._tell([Output(run_id, event, number, again)])

    def _tell(self, items: Sequence[Item]) -> None:
        runs = {item.run_id for item in items}
        for wish, followers in self._followers.items():
            if wish.run_id is None or wish.run_id in runs:
                burst = Burst(wish.of(items))
                if burst.items:
                    for follower in followers:
                        follower.put(burst)

    def _all(self) -> Iterator[Follower]:
        return chain.from_iterable(self._followers.values())

    @contextmanager
    def follow(self, wish: Wish) -> Iterator[Follower]:
        follower = Follower()
        followers = self._followers.setdefault(wish, set())
        followers.add(follower)
        try:
            yield follower
        finally:
            followers.discard(follower)
            if not followers:
                del self._followers[wish]

    def close(self) -> None:
        """Close every feed: the daemon stops."""
        for follower in self._all():
            follower.close()
