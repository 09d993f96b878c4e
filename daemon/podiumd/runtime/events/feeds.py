"""Feeds of events: stored ones come first, then new ones, without hole or repeat.

A follower may be as slow as it likes: when its queue overflows it is sent back to the store and
reads on from its cursor. Transient events are made up for: a follower of one run gets the words of
agents (``turn.output``) in their place, as far as they are kept, and new snapshots in place of lost
ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Self

import trio

from podiumd.runtime.bus import Burst, Follower, Item, Output
from podiumd.runtime.event import Heard
from podiumd.runtime.recent_output import Recent
from podiumd.store.errors import RunUnreadable
from podiumd.store.facts import Store
from podiumd.store.records import StoredFact
from podiumd.wire.event import RUN_ENDED, Event

PAGE = 256
"""Facts read from the store at a time."""

_EVENTS_TOGETHER = 64
"""Events sent without a pause; then the others have their turn."""


async def run_page(store: Store, run_id: str, after: int, limit: int) -> list[StoredFact]:
    """Read the next facts of a run; unreadable ones are passed over."""
    page: list[StoredFact] | None = None
    while page is None:
        try:
            page = await store.events(run_id, after, limit)
        except RunUnreadable as error:
            page = list(error.prefix) or None
            after = error.seq
    return page


class Feed(ABC):
    """Events after ``start``. Iterate it: it ends when the daemon stops, or by itself.

    The bus hands events (``hand_to``) directly to a receiver that can take them at any moment,
    while the iteration waits: there is no task to wake for each of many followers.
    """

    about = ""

    def __init__(
        self,
        store: Store,
        follower: Follower,
        start: int,
        present: Callable[[], list[Event]],
        *,
        behind: bool = True,
    ) -> None:
        """``present`` makes the snapshots that come first, and again after a follower lagged.
        ``behind``: there may be events after ``start`` that were before the follower."""
        self.start = start
        self._present = present
        self._snapshots: deque[Event] = deque(present())
        self._store = store
        self._follower = follower
        self._at = start
        self._page: deque[StoredFact] = deque()
        self._since_pause = 0
        self._over = False
        self._take: Callable[[Burst], bool] | None = None
        self._fault: Exception | None = None
        follower.lagged |= behind  # what is stored already comes first

    def __aiter__(self) -> Self:
        return self

    def hand_to(self, take: Callable[[Burst], bool]) -> None:
        """See ``Immediate``."""
        self._take = take

    async def __anext__(self) -> Event:
        event = None
        while event is None:
            if self._over or self._since_pause >= _EVENTS_TOGETHER:
                self._since_pause = 0
                await trio.lowlevel.checkpoint()
            if self._over:
                raise StopAsyncIteration
            self._since_pause += 1
            event = await self._advance()
        return event

    async def _advance(self) -> Event | None:
        """Take one step: return the next event if there is one, else look for more."""
        follower = self._follower
        if self._fault is not None:
            raise self._fault
        if self._snapshots:
            return self._snapshots.popleft()
        if self._page:
            return self._earlier(self._page[0]) or await self._tell(Heard(self._page.popleft()))
        if follower.lagged:
            follower.lagged = False
            # Events that were sent while a page was read and are not stored are not on the next
            # page.
            follower.missed |= any(isinstance(item, Output) for item in follower.queue)
            follower.queue.clear()
            try:
                self._page.extend(await self._read())
            except BaseException:
                follower.lagged = True  # what was in the queue has to be read once more
                raise
            follower.lagged |= bool(self._page)  # there may be more than a page
            if follower.missed and not follower.lagged:
                follower.missed = False
                self._snapshots.extend(self._present())
        elif follower.queue:
            if (event := self._earlier(follower.queue[0])) is not None:
                return event
            item = follower.queue.popleft()
            if isinstance(item, Output):
                return item.event if self._is_new(item) else None
            if self._cursor(item.fact) > self._at:
                return await self._tell(item)
        elif (event := self._earlier(None)) is not None:
            return event
        elif follower.closed:
            self._over = True
        else:
            await follower.wait(self._hand if self._take is not None else None)
            self._since_pause = 0
        return None

    def _hand(self, burst: Burst) -> bool:
        """Hand over new events, if they can be sent directly; return whether they were.

        While the iteration waits all earlier events are sent; the cursor identifies a fact that was
        read from the store before the bus published it. The last fact never comes this way: the run
        has to be read for it.
        """
        assert self._take is not None
        facts = burst.facts
        if facts and self._cursor(facts[0]) <= self._at:
            return False
        try:
            if not self._take(burst):
                return False
        except Exception as fault:  # noqa: BLE001 - of this follower, not of who publishes
            self._fault = fault
            return False
        if facts:
            self._at = self._cursor(facts[-1])
        for output in burst.outputs:
            self._is_new(output)
        return True

    async def _tell(self, heard: Heard) -> Event:
        self._at = self._cursor(heard.fact)
        self._over = self._is_last(heard.fact)
        return await heard.event(self._store)

    def _earlier(self, item: StoredFact | Item | None) -> Event | None:
        """Return an earlier event to send first; ``item`` is the next (``None``: now)."""
        return None

    def _is_new(self, item: Output) -> bool:
        """Return whether an output was not sent yet."""
        return True

    @abstractmethod
    async def _read(self) -> list[StoredFact]:
        """Read the next page after the cursor."""

    @abstractmethod
    def _cursor(self, stored: StoredFact) -> int:
        """Return the position of a fact in the feed."""

    @abstractmethod
    def _is_last(self, stored: StoredFact) -> bool:
        """Return whether nothing can come after this fact."""


class RunFeed(Feed):
    """Feed of every event of one run after ``start`` (its ``seq``), ending after ``run.ended``.

    It includes the output of its turns after number ``told`` of ``recent``; ``again``: with output
    that a daemon before this one may have sent already.
    """

    def __init__(
        self,
        store: Store,
        follower: Follower,
        run_id: str,
        start: int,
        present: Callable[[], list[Event]],
        recent: Recent,
        told: int,
        *,
        again: bool,
    ) -> None:
        super().__init__(store, follower, start, present)
        self._run_id = run_id
        self._recent = recent
        self._told = told
        self._again = again
        self._due: deque[Event] = deque()

    def _earlier(self, item: StoredFact | Item | None) -> Event | None:
        if not self._due:
            fact = item.fact if isinstance(item, Heard) else item
            before = fact.seq if isinstance(fact, StoredFact) else None
            below = item.number if isinstance(item, Output) else None
            pieces = self._recent.pieces(self._run_id, self._told, before, below=below)
            self._due.extend(one.event for one in pieces if self._again or not one.again)
            self._told = pieces[-1].number if pieces else self._told
        return self._due.popleft() if self._due else None

    def _is_new(self, item: Output) -> bool:
        if not item.number:
            return True
        new = item.number > self._told
        self._told = max(self._told, item.number)
        return new

    async def _read(self) -> list[StoredFact]:
        row = await self._store.run(self._run_id)
        page = await run_page(self._store, self._run_id, self._at, PAGE)
        if not page and row is not None and row.status == "ended":
            self._over = True  # its end was sent before, or cannot be read
        return page

    def _cursor(self, stored: StoredFact) -> int:
        return stored.seq

    def _is_last(self, stored: StoredFact) -> bool:
        return stored.type == RUN_ENDED


class GlobalFeed(Feed):
    """Every event of the daemon after ``start`` (its ``pos``), of the wanted types."""

    def __init__(
        self,
        store: Store,
        follower: Follower,
        types: frozenset[str] | None,
        start: int,
        present: Callable[[], list[Event]] = list,
        *,
        behind: bool = True,
    ) -> None:
        super().__init__(store, follower, start, present, behind=behind)
        self._types = types

    async def _read(self) -> list[StoredFact]:
        return await self._store.events_after(self._at, PAGE, self._types)

    def _cursor(self, stored: StoredFact) -> int:
        return stored.pos

    def _is_last(self, stored: StoredFact) -> bool:
        return False
