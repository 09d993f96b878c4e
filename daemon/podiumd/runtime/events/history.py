"""Read what a run did, a page of its visits at a time, from its facts."""

from __future__ import annotations

from typing import Final

from podiumd.core.run import facts as f
from podiumd.core.run.history import History, HistoryPlace
from podiumd.runtime.events.feeds import PAGE, run_page
from podiumd.store.facts import Store
from podiumd.wire import views
from podiumd.wire.event import data_of
from podiumd.wire.runs import RunHistory

PAGE_BYTES: Final = 1024 * 1024
"""Of the facts of a page: with so many it ends where a visit or a turn begins."""

MOST_PAGES: Final = 4
"""How many times that it may grow while something is left open."""


async def read_history(
    store: Store, run_id: str, after: HistoryPlace | None, now: str
) -> RunHistory:
    """Return the visits of a run after a page that ended at this place, told up to ``now`` while
    it goes on. The first may be the rest of the page's last. Facts that cannot be read are passed
    over."""
    history = History(after)
    started, size, at = None, 0, history.place.seq
    complete = full = False
    while not complete and not full:
        page = await run_page(store, run_id, at, PAGE)
        complete = not page
        for row in page:
            fact = f.decode(bytes(row.data))
            anyhow = size >= MOST_PAGES * PAGE_BYTES
            full = size >= PAGE_BYTES and history.may_end_before(fact, anyhow=anyhow)
            if full:
                history.end_before(fact, row.at)
                break
            started = fact if isinstance(fact, f.RunStarted) else started
            history.add(row.seq, row.at, fact)
            size, at = size + len(row.data), row.seq
    until = history.ended_at or now
    return RunHistory(
        started=None if started is None else data_of(started),
        visits=tuple(views.history_visit_view(visit, until) for visit in history.visits),
        undelivered=history.undelivered,
        until=until,
        next=history.place,
        complete=complete,
    )
