"""What happens, handed to everyone who follows, into bounded queues.

A queue that overflows is thrown away, and its follower told so: it goes on from the store.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import trio

from podiumd.runtime.events import Event, Heard
from podiumd.runtime.recent import OUTPUT, Recent
from podiumd.store.records import StoredFact

Json = dict[str, Any]

QUEUE_EVENTS = 1024
"""Events a follower may lag behind before it is sent back to the store."""


class Output(msgspec.Struct, frozen=True):
    """What is told and never stored: words of an agent while it works, where a conversation
    stands. ``number`` is that of ``Recent``, 0 where it is not kept there; ``again``: a daemon
    before this one may have told it."""

    run_id: str
    event: Event
    number: int = 0
    again: bool = False

    @property
    def type(self) -> str:
        return str(self.event["type"])


class Follower:
    """One follower's bounded queue.

    ``lagged``: it is to go on from the store. ``missed``: something transient may have been lost.
    """

    def __init__(self, wants: Callable[[Heard | Output], bool]) -> None:
        self.wants = wants
        self.queue: deque[Heard | Output] = deque()
        self.lagged = False
        self.missed = False
        self.closed = False
        self._wake = trio.Event()

    def put(self, item: Heard | Output) -> None:
        if not self.wants(item):
            return
        if len(self.queue) >= QUEUE_EVENTS:
            self.queue.clear()
            self.lagged = self.missed = True
        if not self.lagged:
            self.queue.append(item)
        elif isinstance(item, Output):
            self.missed = True
        self._wake.set()

    def close(self) -> None:
        self.closed = True
        self._wake.set()

    async def wait(self) -> None:
        await self._wake.wait()
        self._wake = trio.Event()


class Bus:
    """Hands every durable fact and every transient output to the followers; ``recent`` is what
    agents have told lately."""

    def __init__(self) -> None:
        self.recent = Recent()
        self._followers: set[Follower] = set()

    @property
    def longest_queue(self) -> int:
        """Events that wait for the slowest follower."""
        return max((len(follower.queue) for follower in self._followers), default=0)

    def publish(self, stored: Sequence[StoredFact]) -> None:
        """Called by the store when facts are durable, in the order of ``pos``."""
        for fact in stored:
            self.recent.stored(fact.run_id, fact.seq, last=fact.type == "run.ended")
            heard = Heard(fact)
            for follower in self._followers:
                follower.put(heard)

    def publish_transient(self, run_id: str, event: Json, *, again: bool = False) -> None:
        kept = event["type"] == OUTPUT and event["data"]["kind"] != "progress"
        number = self.recent.keep(run_id, event, again=again).number if kept else 0
        item = Output(run_id, Event(event), number, again)
        for follower in self._followers:
            follower.put(item)

    @contextmanager
    def follow(self, wants: Callable[[Heard | Output], bool]) -> Iterator[Follower]:
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
