"""A run from its log: folded as far as it can be read."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from podiumd.core.run import facts as f
from podiumd.core.run.fold import evolve
from podiumd.core.run.state import RunState
from podiumd.runtime.run_rows import run_of, whole_run
from podiumd.store.errors import RunUnreadable
from podiumd.store.facts import Store
from podiumd.store.records import RunRow, StoredFact
from podiumd.wire import views
from podiumd.wire.runs import Run, Visit, WholeRun

SHOWN_FAULTS = 5
"""Number of facts that are named, of those that cannot be read and of those that do not follow."""


PAGE = 256
"""Facts of one kind that are read at a time."""


class Loaded(msgspec.Struct, frozen=True):
    """A run as far as its log can be read. ``damaged``: what could not be, in words."""

    state: RunState
    damaged: str = ""


class _Log(msgspec.Struct, frozen=True):
    """The readable facts of a run; ``lost`` are the numbers of the others, ``why`` gives the reason
    for each."""

    facts: list[StoredFact]
    lost: list[int]
    why: list[str]


async def load(store: Store, run_id: str) -> Loaded | None:
    """Fold a run from the store; ``None`` when not even its beginning can be read.

    What does not follow from what can be read is left out. So what is stored after that, which
    was decided without it, is folded as it was when it was decided.
    """
    log = await _read(store, run_id)
    state: RunState | None = None
    astray = []
    for row, folded in _folded(log):
        if folded is not None:
            state = folded
        elif state is not None:
            astray.append(f"fact {row.seq} does not follow from what can be read")
    if state is None:
        return None
    state = replace(state, gaps=len(log.lost) + len(astray))
    return Loaded(state, "; ".join([*_shortened(log.why), *_shortened(astray)]))


def _folded(
    log: _Log,
) -> Iterator[tuple[StoredFact, RunState | None]]:
    """Fold facts one by one; one that does not follow from those before it has nothing."""
    state: RunState | None = None
    astray = 0
    for row in log.facts:
        try:
            fact = f.decode(bytes(row.data))
            if state is not None:
                gaps = bisect(log.lost, row.seq) + astray
                state = state if gaps == state.gaps else replace(state, gaps=gaps)
            state = evolve(state, fact, row.at)
        except _DOES_NOT_FOLLOW:
            astray += state is not None
            yield row, None
        else:
            yield row, state


# Errors of the fold on a fact without those that it rests on.
_DOES_NOT_FOLLOW = (
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    msgspec.ValidationError,
)


def _shortened(words: list[str]) -> list[str]:
    more = len(words) - SHOWN_FAULTS
    return words if more <= 0 else [*words[:SHOWN_FAULTS], f"and so {more} more"]


async def _read(store: Store, run_id: str) -> _Log:
    """Read all facts of a run that can be read, and what is wrong with the others."""
    log = _Log([], [], [])
    after: int | None = 0
    while after is not None:
        try:
            log.facts.extend(await store.events(run_id, after))
            after = None
        except RunUnreadable as error:
            log.facts.extend(error.prefix)
            log.lost.append(error.seq)
            log.why.append(f"fact {error.seq} {error.reason}")
            after = error.seq
    return log


async def facts_of(store: Store, run_id: str) -> list[f.AnyFact]:
    """Read the facts of a run, as far as its log can be read."""
    return [f.decode(bytes(row.data)) for row in (await _read(store, run_id)).facts]


async def turn_ids(store: Store, *run_ids: str) -> list[str]:
    """List the turns of runs, in order, as far as their logs can be read."""
    intended = await store.of_type(run_ids, "turn.intended")
    return [str(msgspec.json.decode(row.data)["turn_id"]) for row in intended]


async def summary(store: Store, row: RunRow) -> Run | None:
    """Build the public ``run`` of a row.

    One that was damaged, or holds too little, is made up for from the run's facts; ``None`` when
    these are lost as well.
    """
    found = run_of(row)
    if found is None:
        loaded = await load(store, row.run_id)
        return None if loaded is None else views.run_view(loaded.state)
    return replace(found, sessions=UNSET)


async def whole(store: Store, row: RunRow) -> WholeRun | None:
    """Build the ``run`` of a row with what grows with its steps: its history and its sessions."""
    found = run_of(row)
    sessions = UNSET if found is None else found.sessions
    if found is None or sessions is UNSET:  # of the first release, or of one that cannot go on
        loaded = await load(store, row.run_id)
        if found is None:
            return None if loaded is None else await whole_of(store, loaded.state)
        sessions = () if loaded is None else tuple(loaded.state.sessions)
    return whole_run(found, sessions, await _visits(store, row.run_id))


async def whole_of(store: Store, state: RunState) -> WholeRun:
    """Build the public ``run`` of a state, with what grows with its steps.

    That is the sessions it has had, and how each visit of a step ended, which is read from the
    facts.
    """
    run = views.run_view(state)
    history = await _visits(store, state.start.run_id)
    # The stored visits may be ahead of the state, and are never behind it.
    return whole_run(run, tuple(state.sessions), history[: state.edges])


async def _visits(store: Store, run_id: str) -> tuple[Visit, ...]:
    """List how each visit of a run's steps ended, in order, as far as its log can be read."""
    found: list[Visit] = []
    seq = 0
    while page := await store.events_of(run_id, frozenset({"edge.taken"}), seq, PAGE):
        for row in page:
            edge = f.decode(bytes(row.data))
            assert isinstance(edge, f.EdgeTaken)
            found.append(views.visit_view(edge, row.at))
        seq = page[-1].seq
    return tuple(found)
