"""Following what happens: pages of a run's events, feeds of a run or of all, and where the
conversations among them stand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from podiumd.runtime.api import Told
from podiumd.runtime.bus import Wish
from podiumd.runtime.context import Context
from podiumd.runtime.event import to_event
from podiumd.runtime.events.feeds import GlobalFeed, RunFeed, run_page
from podiumd.runtime.run import snapshots
from podiumd.runtime.run.registry import Runs
from podiumd.wire.event import SNAPSHOT, Event


class EventAccess:
    """Access to events for followers."""

    def __init__(self, context: Context, runs: Runs) -> None:
        self._context = context
        self._runs = runs

    async def page(self, run_id: str, after_seq: int, limit: int) -> tuple[list[Event], int]:
        """Read a page of a run's stored events, and the next ``after_seq``. Raises ``NotFound``."""
        run_id = await self._runs.resolve(run_id)
        page = await run_page(self._context.store, run_id, after_seq, limit)
        events: list[Event] = [await to_event(self._context.store, stored) for stored in page]
        return events, page[-1].seq if page else after_seq

    async def told(self, run_id: str, after_seq: int, limit: int) -> Told:
        """Read a page of a run with its turns' output in between, as far as that is kept.

        Returns with it the next ``after_seq``, and the number of the last output.
        """
        run_id = await self._runs.resolve(run_id)
        stored, next_seq = await self.page(run_id, after_seq, limit)
        events, told = [], self._context.bus.recent.before(run_id, after_seq)
        for event in stored:
            for piece in self._context.bus.recent.pieces(run_id, told, event.seq):
                events.append(piece.event)
                told = piece.number
            events.append(event)
        return events, next_seq, told

    @asynccontextmanager
    async def run(
        self, run_id: str, after_seq: int, told: int | None = None
    ) -> AsyncIterator[RunFeed]:
        """Open a feed of a run after ``after_seq``. Entering raises ``NotFound``.

        It includes the output of its turns after number ``told``; ``None``: from now on.
        """
        run_id = await self._runs.resolve(run_id)
        bus, again = self._context.bus, told is not None
        with bus.follow(Wish(run_id, again=again)) as follower:
            present = partial(self._snapshots, run_id)
            told = bus.recent.count if told is None else told
            store, recent = self._context.store, bus.recent
            yield RunFeed(store, follower, run_id, after_seq, present, recent, told, again=again)

    @asynccontextmanager
    async def all(
        self, types: frozenset[str] | None, after: int | None
    ) -> AsyncIterator[GlobalFeed]:
        """Open a feed of the wanted types after a position, or from now on."""
        with self._context.bus.follow(Wish(types=types)) as follower:
            start = await self._context.store.last_pos() if after is None else after
            present = self._snapshots if types is None or SNAPSHOT in types else list
            behind = after is not None  # from now on: nothing transient is missed either
            yield GlobalFeed(self._context.store, follower, types, start, present, behind=behind)

    async def ended_recipes(self, after: int, until: int, limit: int) -> list[Event]:
        """List the newest ends of recipes in a range of positions, the oldest of them first."""
        store = self._context.store
        page = await store.ended_recipes(after, until, limit)
        return [await to_event(store, each) for each in page]

    def _snapshots(self, run_id: str | None = None) -> list[Event]:
        """Build snapshots of the conversations of all runs just now, or of one."""
        live = [actor.state for actor in self._runs.live if run_id in (None, actor.run_id)]
        return snapshots.present(live, self._context.clock.now())
