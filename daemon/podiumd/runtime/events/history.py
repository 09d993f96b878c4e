"""Read what a run did, a page of its visits at a time, from its facts."""

from __future__ import annotations

from typing import Final

from podiumd.core.run import facts as f
from podiumd.core.run.history import History
from podiumd.runtime.events.feeds import PAGE, run_page
from podiumd.store.facts import Store
from podiumd.wire import views
from podiumd.wire.event import data_of
from podiumd.wire.runs import RunHistory

PAGE_BYTES: Final = 1024 * 1024
"""Of the facts of a page: with so many it ends where its last visit does."""

_ENTERED: Final = frozenset({"step.entered"})


async def read_history(store: Store, run_id: str, after_seq: int, now: str) -> RunHistory:
    """Return the visits of a run after a page that ended with ``after_seq``, told up to ``now``
    while it goes on. Facts that cannot be read are passed over."""
    history = History(after_seq, await _entered(store, run_id, after_seq))
    started, size, at = None, 0, after_seq
    complete = full = False
    while not complete and not full:
        page = await run_page(store, run_id, at, PAGE)
        complete = not page
        for row in page:
            fact = f.decode(bytes(row.data))
            full = size >= PAGE_BYTES and history.may_end_before(fact)
            if full:
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
        next_seq=history.over_seq,
        complete=complete,
    )


async def _entered(store: Store, run_id: str, until_seq: int) -> list[f.StepEntered]:
    """Return the visits that began before a page."""
    found: list[f.StepEntered] = []
    seq = 0
    while seq < until_seq and (page := await store.events_of(run_id, _ENTERED, seq, PAGE)):
        facts = [f.decode(bytes(row.data)) for row in page if row.seq <= until_seq]
        found += [fact for fact in facts if isinstance(fact, f.StepEntered)]
        seq = page[-1].seq
    return found
