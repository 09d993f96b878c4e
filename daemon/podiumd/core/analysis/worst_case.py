"""The cost of a recipe at worst: the most turns, and the most minutes of work.

The rule: *the most step entries that the limits allow, times 1 + max_retries*.

- Entries: each reachable step may be entered ``max_step_visits`` times, all together
  ``max_total_steps`` times. Where both hold, the costliest steps are counted first. In a recipe
  without a cycle each step is entered at most once, and the costliest path counts if it is less.
- A step with a prompt is worth ``1 + max_retries`` turns, a command and a question none. Called
  recipes are taken as part of the caller, see ``core.recipe.expand``; before that, a call has no
  bound.
- Where ``@restart`` can be reached, all this may happen ``1 + max_restarts`` times.
- With ``on_limit = "ask"`` a person may grant each limit the same again, once: it counts twice.

Minutes are the same sum over ``timeout_minutes`` (each retry has the whole of it) and the timeouts
of checks, but never more than ``max_minutes``; a turn without a timeout of its own has none here. A
conversation has no bound: people decide how long they talk. Not counted is what a crash makes
Podium repeat, and what people send into a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from podiumd.core.decide.plain_steps import COMMAND_MINUTES
from podiumd.core.recipe.graph import RecipeGraph
from podiumd.core.recipe.model import Limits, Recipe, Step

_UNKNOWN: Final = ("talk", "call")


class WorstCase(msgspec.Struct, frozen=True):
    """The most turns and minutes of work; ``None``: nothing bounds them."""

    turns: int | None
    minutes: float | None


def worst_case(recipe: Recipe) -> WorstCase:
    """Return what no run of ``recipe`` can exceed, by the rule above."""
    graph = RecipeGraph(recipe)
    limits = recipe.limits
    steps = {name: recipe.steps[name] for name in graph.reachable}
    replies = 1 + limits.max_retries
    turns = _most(graph, limits, {name: _turns(step, replies) for name, step in steps.items()})
    work = _most(graph, limits, {name: _minutes(step, replies) for name, step in steps.items()})
    minutes = (work, _granted(limits, "max_minutes"))
    return WorstCase(
        turns=None if turns is None else int(turns),
        minutes=min((float(bound) for bound in minutes if bound is not None), default=None),
    )


def _turns(step: Step, replies: int) -> int | None:
    if step.kind in _UNKNOWN:
        return None
    return replies if step.kind == "turn" else 0


def _minutes(step: Step, replies: int) -> float | None:
    if step.kind == "gate":
        return 0.0
    if step.kind == "command":
        return step.timeout_minutes or COMMAND_MINUTES
    if step.kind in _UNKNOWN or step.timeout_minutes is None:
        return None
    return step.timeout_minutes * replies + sum(c.timeout_seconds for c in step.checks) / 60.0


def _granted(limits: Limits, name: str) -> float | None:
    """Return a limit, twice as far where a person may grant the same again."""
    limit: float | None = getattr(limits, name)
    return limit if limit is None or limits.on_limit == "exit" else limit * 2


def _most(
    graph: RecipeGraph, limits: Limits, worth: Mapping[str, int | float | None]
) -> int | float | None:
    """Return the most that entries into steps worth this much can come to."""
    worths = [value for value in worth.values() if value is not None]
    if len(worths) < len(worth):
        return None
    cyclic = bool(graph.cycles())
    visits = _granted(limits, "max_step_visits") if cyclic else 1
    life = _entries(sorted(worths, reverse=True), visits, _granted(limits, "max_total_steps"))
    if life is None:
        return None
    if not cyclic:
        life = min(life, costliest_path(graph, lambda name: worth[name] or 0))
    return life * (1 + (_granted(limits, "max_restarts") or 0)) if graph.restarts else life


def _entries(worths: list[int | float], visits: float | None, total: float | None) -> float | None:
    """Return the most that the entries of one life come to; ``worths`` begins with the highest."""
    if visits is None:
        if not worths[0]:
            return 0
        return None if total is None else worths[0] * total
    left = total if total is not None else visits * len(worths)
    most: float = 0
    for value in worths:
        entries = min(visits, left)
        most += value * entries
        left -= entries
    return most


def costliest_path(graph: RecipeGraph, worth: Callable[[str], float]) -> float:
    """Return what the costliest path through a graph without cycles comes to."""
    most: dict[str, float] = dict.fromkeys(graph.reachable, 0)
    for name in graph.upstream_first():
        most[name] += worth(name)
        for target in graph.next[name]:
            most[target] = max(most[target], most[name])
    return max(most.values())
