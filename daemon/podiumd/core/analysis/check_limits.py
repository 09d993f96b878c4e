"""Limits that can never bind: a bound that holds nothing back only looks like one."""

from __future__ import annotations

from podiumd.core.analysis.worst_case import costliest_path, worst_case
from podiumd.core.findings import Notes
from podiumd.core.recipe.graph import RecipeGraph
from podiumd.core.recipe.model import Limits, Recipe
from podiumd.core.structs import replace

_DEFAULT = Limits()


def check_limits(recipe: Recipe, graph: RecipeGraph, notes: Notes) -> None:
    """Warn of each limit that no run can reach.

    ``recipe`` and ``graph`` are without calls. A limit that has its default value is passed over:
    it is there to be seen.
    """
    kinds = {recipe.steps[name].kind for name in graph.reachable}
    limits = recipe.limits
    if graph.cycles():
        _in_cycles(limits, graph, notes)
    else:
        _without_cycles(limits, graph, notes)
    if limits.max_restarts != _DEFAULT.max_restarts and not graph.restarts:
        _idle(notes, limits, "max_restarts", 'no edge has to = "@restart"')
    if limits.max_retries != _DEFAULT.max_retries and not kinds & {"turn", "talk"}:
        _idle(notes, limits, "max_retries", "no step prompts an agent")
    if limits.max_cost_usd is not None and not kinds & {"turn", "talk"}:
        _idle(notes, limits, "max_cost_usd", "no step prompts an agent")
    if limits.max_minutes is not None:
        unbounded = replace(recipe, limits=replace(limits, max_minutes=None))
        minutes = worst_case(unbounded).minutes
        if minutes is not None and minutes < limits.max_minutes:
            why = f"by their own timeouts all steps together take {minutes:g} minutes at most"
            _idle(notes, limits, "max_minutes", why)


def _in_cycles(limits: Limits, graph: RecipeGraph, notes: Notes) -> None:
    """Compare visits and steps; one of them that a person can extend may let the other bind."""
    visits, total = limits.max_step_visits, limits.max_total_steps
    if visits is None or total is None:
        return
    extended = 2 if limits.on_limit == "ask" else 1
    most = visits * len(graph.reachable)
    if total > most * extended:
        why = f"{len(graph.reachable)} steps with {visits} visits each are {most} steps"
        _idle(notes, limits, "max_total_steps", why)
    # Only a step that can follow itself is visited more often than every other time.
    apart = 1 if any(name in graph.next[name] for name in graph.reachable) else 2
    if visits * apart >= total * extended:
        why = f"max_total_steps = {total} ends a run before any step has so many visits"
        _idle(notes, limits, "max_step_visits", why)


def _without_cycles(limits: Limits, graph: RecipeGraph, notes: Notes) -> None:
    if limits.max_step_visits is not None:
        _idle(notes, limits, "max_step_visits", "there is no cycle, so no step is entered twice")
    longest = int(costliest_path(graph, lambda _name: 1))
    if limits.max_total_steps is not None and limits.max_total_steps >= longest:
        why = f"there is no cycle, and the longest way is {longest} steps"
        _idle(notes, limits, "max_total_steps", why)


def _idle(notes: Notes, limits: Limits, name: str, why: str) -> None:
    message = (
        f"{name} = {getattr(limits, name):g} can never be reached: {why}. Lower it or remove it"
    )
    notes.warn("idle-limit", ("limits", name), message)
