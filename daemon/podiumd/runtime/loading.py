"""A run from its log: folded as far as it can be read."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from podiumd.core import facts as f
from podiumd.core import views
from podiumd.core.fold import evolve
from podiumd.core.state import RunState
from podiumd.store.errors import RunUnreadable
from podiumd.store.facts import Store
from podiumd.store.records import RunRow, StoredFact

SHOWN_FAULTS = 5
"""Of the facts that cannot be read, and of those that do not follow, how many are named."""


PAGE = 256
"""Facts of one kind that are read at a time."""


class Loaded(msgspec.Struct, frozen=True):
    """A run as far as its log can be read. ``damaged``: what could not be, in words."""

    state: RunState
    damaged: str = ""


class _Log(msgspec.Struct, frozen=True):
    """What can be read of a run's facts; ``lost`` are the numbers of those that cannot, ``why``
    says so of each."""

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


# What the fold says of a fact without those that it rests on.
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
    """All facts of a run that can be read, and what is wrong with the others."""
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
    """The facts of a run, as far as its log can be read."""
    return [f.decode(bytes(row.data)) for row in (await _read(store, run_id)).facts]


async def turn_ids(store: Store, *run_ids: str) -> list[str]:
    """The turns of runs, in order, as far as their logs can be read."""
    intended = await store.of_type(run_ids, "turn.intended")
    return [str(msgspec.json.decode(row.data)["turn_id"]) for row in intended]


async def summary(store: Store, row: RunRow, *, whole: bool = False) -> views.Json | None:
    """The public ``run`` of a row; ``whole``: with what grows with its steps, its history and its
    sessions. A row that was damaged is made up for from the run's facts; ``None`` when these are
    lost as well."""
    if not row.intact:
        loaded = await load(store, row.run_id)
        if loaded is None:
            return None
        view = views.run_view(loaded.state)
        return view | await length(store, loaded.state) if whole else view
    found: views.Json = msgspec.json.decode(row.summary)
    sessions = found.pop("sessions", None)
    found.pop("history", None)  # the first release stored it here; it is in the facts as well
    if not whole:
        return found
    if sessions is None:  # of a run of the first release, or of one that cannot go on
        loaded = await load(store, row.run_id)
        sessions = [] if loaded is None else list(loaded.state.sessions)
    return found | {"sessions": sessions, "history": await _visits(store, row.run_id)}


async def length(store: Store, state: RunState) -> views.Json:
    """What of the public ``run`` grows with its steps: the sessions it has had, and how each visit
    of a step ended, which is read from the facts."""
    history = await _visits(store, state.start.run_id)
    # What is stored may be ahead of the state, and is never behind it.
    return {"sessions": list(state.sessions), "history": history[: state.edges]}


async def _visits(store: Store, run_id: str) -> list[views.Json]:
    """How each visit of a run's steps ended, in order, as far as its log can be read."""
    found: list[views.Json] = []
    seq = 0
    while page := await store.events_of(run_id, frozenset({"edge.taken"}), seq, PAGE):
        for row in page:
            edge = f.decode(bytes(row.data))
            assert isinstance(edge, f.EdgeTaken)
            found.append(views.visit_view(edge, row.at))
        seq = page[-1].seq
    return found
