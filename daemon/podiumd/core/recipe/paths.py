"""The ways out of each step, and the paths through a recipe from its start to its exits."""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec

from podiumd.core.recipe.exits import Exit, ExitClass, classify
from podiumd.core.recipe.model import (
    CHECKS_FAILED,
    COMPLETE,
    DECLINED,
    OTHER,
    RESTART,
    Edge,
    Recipe,
    Step,
)

MOST_PATHS: Final = 1000
_MOST_BRANCHES: Final = 50_000
"""Limits of a search before it gives up: dense machines have paths beyond all counting."""


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """A way out of a step: ``to`` a step or ``@restart``, or ``exit`` with a reason.

    ``class_`` is the class of the exit, from the edge or the table of reasons. ``implied``: the
    recipe says nothing about this outcome, a built-in edge takes it. (The last phase of a
    conversation needs no such mark: that it has no edges shows that it completes.)
    """

    outcome: str
    to: str | None
    exit: str | None
    class_: ExitClass | None = msgspec.field(name="class")
    implied: bool


class Hop(msgspec.Struct, frozen=True):
    """A step passed: its outcome and where that led (``None``: out of the recipe)."""

    step: str
    outcome: str
    to: str | None


class SimplePath(msgspec.Struct, frozen=True):
    """A way through the recipe that enters no step twice; ``exit`` is ``None`` at a restart."""

    trace: tuple[Hop, ...]
    exit: Exit | None


class Paths(msgspec.Struct, frozen=True):
    """Paths, the shortest first; without ``complete`` there are more of them."""

    paths: tuple[SimplePath, ...]
    complete: bool


def checked_outcomes(step: Step) -> tuple[str, ...]:
    """Return the outcomes after which the step's checks run; none where it has no checks."""
    if not step.checks:
        return ()
    return tuple(name for name in step.outcomes if name != OTHER and not _handed_over(step, name))


def _handed_over(step: Step, outcome: str) -> bool:
    """Return whether the outcome hands the work to a person as it is."""
    edge = step.edge(outcome)
    if edge is None or edge.exit is None:
        return False
    return classify(edge.exit, edge.class_).class_ in ("needs-user", "blocked")


def outcomes_of(step: Step) -> tuple[str, ...]:
    """List each outcome that the step may end with: its own, then those that others decide."""
    names = step.allowed_outcomes
    # A claim that is not true goes back to the agent, unless the recipe says where to.
    if checked_outcomes(step) or (step.proved and CHECKS_FAILED in step.on):
        names = (*names, CHECKS_FAILED)
    return (*names, DECLINED) if step.gate is not None else names


def ways_out(step: Step) -> tuple[Way, ...]:
    """Return where each outcome of the step leads, in the order of ``outcomes_of``."""
    return tuple(
        _way(step, outcome, edge)
        for outcome in outcomes_of(step)
        if (edge := step.edge(outcome)) is not None
    )


def _way(step: Step, outcome: str, edge: Edge) -> Way:
    # The answer "no" of a gate step may go by the edge that is written as "declined".
    names = (outcome, DECLINED) if step.kind == "gate" and outcome == "no" else (outcome,)
    class_ = None if edge.exit is None else classify(edge.exit, edge.class_).class_
    implied = step.on.keys().isdisjoint(names) and outcome != COMPLETE
    return Way(outcome=outcome, to=edge.to, exit=edge.exit, class_=class_, implied=implied)


def simple_paths(recipe: Recipe, most: int = MOST_PATHS) -> Paths:
    """List each path to an exit or a restart that enters no step twice.

    A path begins at the initial step. The shortest come first, those of one length in the order of
    the file. Limits are left out of account. At most ``most`` paths are returned.
    """
    ways = {name: ways_out(step) for name, step in recipe.steps.items()}
    found: list[SimplePath] = []
    begun: deque[tuple[Hop, ...]] = deque([()])
    branches = 0
    while begun:
        behind = begun.popleft()
        name = behind[-1].to if behind else recipe.initial
        assert name is not None
        seen = {hop.step for hop in behind} | {name}
        for way in ways[name]:
            branches += 1
            trace = (*behind, Hop(name, way.outcome, way.to))
            if way.to in (None, RESTART):
                if len(found) == most:
                    return Paths(tuple(found), complete=False)
                found.append(SimplePath(trace, _exit(recipe, trace)))
            elif way.to not in seen:
                begun.append(trace)
        if branches > _MOST_BRANCHES:
            return Paths(tuple(found), complete=False)
    return Paths(tuple(found), complete=True)


def _exit(recipe: Recipe, trace: tuple[Hop, ...]) -> Exit | None:
    """Return how the run ends that took these hops."""
    last = trace[-1]
    edge = recipe.steps[last.step].edge(last.outcome)
    if edge is None or edge.exit is None:
        return None
    return classify(edge.exit, edge.class_, edge.message, step=last.step)
