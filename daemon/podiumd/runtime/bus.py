"""What happened, to everyone who follows: stored facts first from the log, then live.

A follower never misses or repeats a fact, however slow it is: its queue is bounded, and when it
overflows the queue is thrown away and the follower goes on reading from the store. Only the
transient words of agents (``turn.output``) are lost to one that is too slow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import trio

from podiumd.core import facts as f
from podiumd.core import views
from podiumd.runtime.loading import summary
from podiumd.store.errors import RunUnreadable
from podiumd.store.facts import Store
from podiumd.store.records import StoredFact

Json = dict[str, Any]

QUEUE_EVENTS = 1024
"""Events a follower may lag behind before it is sent back to the store."""

PAGE = 256
"""Facts read from the store at a time."""


class Output(msgspec.Struct, frozen=True):
    """Words of an agent while it works."""

    run_id: str
    event: Json


class Follower:
    """One follower's bounded queue."""

    def __init__(self, wants: Callable[[StoredFact | Output], bool]) -> None:
        self.wants = wants
        self.queue: deque[StoredFact | Output] = deque()
        self.lagged = False
        self.closed = False
        self._wake = trio.Event()

    def put(self, item: StoredFact | Output) -> None:
        if not self.wants(item):
            return
        if len(self.queue) >= QUEUE_EVENTS:
            self.queue.clear()
            self.lagged = True
        if not self.lagged:
            self.queue.append(item)
        self._wake.set()

    def close(self) -> None:
        self.closed = True
        self._wake.set()

    async def wait(self) -> None:
        await self._wake.wait()
        self._wake = trio.Event()


class Bus:
    """Hands every durable fact and every transient output to the followers."""

    def __init__(self) -> None:
        self._followers: set[Follower] = set()

    def publish(self, stored: Sequence[StoredFact]) -> None:
        """Called by the store when facts are durable, in the order of ``pos``."""
        for fact in stored:
            for follower in self._followers:
                follower.put(fact)

    def publish_output(self, run_id: str, event: Json) -> None:
        item = Output(run_id, event)
        for follower in self._followers:
            follower.put(item)

    @contextmanager
    def follow(self, wants: Callable[[StoredFact | Output], bool]) -> Iterator[Follower]:
        follower = Follower(wants)
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)

    def close(self) -> None:
        """The daemon stops: every feed comes to its end."""
        for follower in self._followers:
            follower.close()


async def to_event(store: Store, stored: StoredFact) -> Json:
    """The public ``event`` of a stored fact."""
    fact = f.decode(bytes(stored.data))
    data = views.event_data(fact)
    if isinstance(fact, f.RunEnded):
        row = await store.run(stored.run_id)
        data["run"] = await summary(store, row) if row is not None else None
    return {
        "seq": stored.seq,
        "pos": stored.pos,
        "type": stored.type,
        "at": stored.at,
        "run_id": stored.run_id,
        "session_id": stored.session_id,
        "data": data,
    }


async def run_page(store: Store, run_id: str, after: int, limit: int) -> list[StoredFact]:
    """The next facts of a run; ones that cannot be read are passed over."""
    while True:
        try:
            return await store.events(run_id, after, limit)
        except RunUnreadable as error:
            if error.prefix:
                return list(error.prefix)
            after = error.seq


class RunFeed:
    """Every event of one run after ``start``, ending after ``run.ended``."""

    def __init__(self, store: Store, follower: Follower, run_id: str, start: int) -> None:
        self.start = start
        self._store = store
        self._follower = follower
        self._run_id = run_id

    async def __aiter__(self) -> AsyncIterator[Json]:
        seq = self.start
        self._follower.lagged = True  # whatever is stored already comes first
        while True:
            if self._follower.lagged:
                self._follower.lagged = False
                self._follower.queue.clear()
                row = await self._store.run(self._run_id)
                page = await run_page(self._store, self._run_id, seq, PAGE)
                if not page and row is not None and row.status == "ended":
                    return  # its end was told before, or cannot be read
                self._follower.lagged |= bool(page)
                for stored in page:
                    seq = stored.seq
                    yield await to_event(self._store, stored)
                    if stored.type == "run.ended":
                        return
                continue
            while self._follower.queue:
                item = self._follower.queue.popleft()
                if isinstance(item, Output):
                    yield item.event
                elif item.seq > seq:
                    seq = item.seq
                    yield await to_event(self._store, item)
                    if item.type == "run.ended":
                        return
            if self._follower.closed:
                return
            if not self._follower.lagged:
                await self._follower.wait()


class GlobalFeed:
    """Every event of the daemon after position ``start``, of the wanted types."""

    def __init__(
        self, store: Store, follower: Follower, types: frozenset[str] | None, start: int
    ) -> None:
        self.start = start
        self._store = store
        self._follower = follower
        self._types = types

    async def __aiter__(self) -> AsyncIterator[Json]:
        pos = self.start
        self._follower.lagged = True
        while True:
            if self._follower.lagged:
                self._follower.lagged = False
                self._follower.queue.clear()
                page = await self._store.events_after(pos, PAGE, self._types)
                self._follower.lagged |= len(page) == PAGE
                for stored in page:
                    pos = stored.pos
                    yield await to_event(self._store, stored)
                continue
            while self._follower.queue:
                item = self._follower.queue.popleft()
                if isinstance(item, Output):
                    yield item.event
                elif item.pos > pos:
                    pos = item.pos
                    yield await to_event(self._store, item)
            if self._follower.closed:
                return
            if not self._follower.lagged:
                await self._follower.wait()
