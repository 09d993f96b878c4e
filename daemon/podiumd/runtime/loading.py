"""A run from its log: folded as far as it can be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from podiumd.core import facts as f
from podiumd.core import views
from podiumd.core.fold import evolve
from podiumd.core.state import RunState
from podiumd.store.errors import RunUnreadable
from podiumd.store.facts import Store
from podiumd.store.records import RunRow, StoredFact


class Loaded(msgspec.Struct, frozen=True):
    """A run as far as its log can be read. ``damaged``: what could not be, in words."""

    state: RunState
    damaged: str = ""


async def load(store: Store, run_id: str) -> Loaded | None:
    """Fold a run from the store; ``None`` when not even its beginning can be read."""
    stored, damaged = await _read(store, run_id)
    state: RunState | None = None
    for row, folded in _folded(stored):
        if folded is not None:
            state = folded[1]
        elif state is not None:
            damaged.append(f"fact {row.seq} does not follow from what can be read")
    return None if state is None else Loaded(state, "; ".join(damaged))


async def history(store: Store, run_id: str) -> list[tuple[f.AnyFact, RunState]]:
    """Each fact of a run and the state after it, as far as its log can be read."""
    stored, _damaged = await _read(store, run_id)
    return [folded for _row, folded in _folded(stored) if folded is not None]


def _folded(
    stored: Iterable[StoredFact],
) -> Iterator[tuple[StoredFact, tuple[f.AnyFact, RunState] | None]]:
    """Fold facts one by one; the last has nothing where it does not follow from those before."""
    state: RunState | None = None
    for row in stored:
        try:
            fact = f.decode(bytes(row.data))
            state = evolve(state, fact, row.at)
        except (AssertionError, LookupError, msgspec.ValidationError):
            yield row, None
            return
        yield row, (fact, state)


async def _read(store: Store, run_id: str) -> tuple[list[StoredFact], list[str]]:
    """All facts of a run that can be read, and what is wrong with the others."""
    facts: list[StoredFact] = []
    damaged: list[str] = []
    after: int | None = 0
    while after is not None:
        try:
            facts += await store.events(run_id, after)
            after = None
        except RunUnreadable as error:
            facts += error.prefix
            damaged.append(f"fact {error.seq} {error.reason}")
            after = error.seq
    return facts, damaged


async def facts_of(store: Store, run_id: str) -> list[f.AnyFact]:
    """The facts of a run, as far as its log can be read."""
    stored, _damaged = await _read(store, run_id)
    return [f.decode(bytes(row.data)) for row in stored]


async def turn_ids(store: Store, run_id: str) -> list[str]:
    """The turns of a run, in order, as far as its log can be read."""
    stored, _damaged = await _read(store, run_id)
    intended = (row for row in stored if row.type == "turn.intended")
    return [str(msgspec.json.decode(row.data)["turn_id"]) for row in intended]


async def summary(store: Store, row: RunRow) -> views.Json | None:
    """The public ``run`` of a row. A row that was damaged is made up for from the run's facts;
    ``None`` when these are lost as well."""
    if row.intact:
        found: views.Json = msgspec.json.decode(row.summary)
        return found
    loaded = await load(store, row.run_id)
    return None if loaded is None else views.run_view(loaded.state)
