"""Faults of the machine as a whole: steps that nothing leads to, runs that cannot end well, and
limits that can never bind: a bound that holds nothing back only looks like one.
"""

from __future__ import annotations

from collections.abc import Sequence

from podiumd.core.analysis.worst_case import costliest_path, worst_case
from podiumd.core.findings import Notes
from podiumd.core.recipe.graph import RecipeGraph, reverse
from podiumd.core.recipe.model import Limits, Recipe
from podiumd.core.structs import replace


def check_graph(recipe: Recipe, graph: RecipeGraph, notes: Notes) -> None:
    """Note dead ends, endless cycles and ends without success.

    ``graph`` is that of the recipe with its calls replaced: the steps of what step ``ship`` calls
    are ``ship.NAME`` there. Their faults are reported at the step that calls.
    """
    ending = graph.ending()
    _check_reach(recipe, notes, {_own(name) for name in graph.reachable}, {*map(_own, ending)})
    _check_cycles(recipe, graph, notes)
    if _own(recipe.initial) in {*map(_own, ending)}:
        _check_success(graph, notes)


def _own(name: str) -> str:
    """Return the recipe's own step that ``name`` belongs to."""
    return name.partition(".")[0]


def _check_reach(recipe: Recipe, notes: Notes, reachable: set[str], ending: set[str]) -> None:
    """Check that each step can be reached, and an exit from each."""
    for name in recipe.steps:
        path = ("steps", name)
        if name not in reachable:
            message = (
                f"no way leads to step '{name}': add an edge with to = \"{name}\" to a step that "
                "can be reached, or remove the step"
            )
            notes.add("unreachable-step", path, message)
        elif name not in ending:
            message = (
                f"from step '{name}' no exit can be reached: add an edge with exit = \"REASON\" "
                "to it, or to a step that it leads to"
            )
            notes.add("no-exit", path, message)


def _check_cycles(recipe: Recipe, graph: RecipeGraph, notes: Notes) -> None:
    """Check that each cycle has a way out and a bound; a recipe's restarts are always bounded."""
    for cycle in graph.cycles(restarts=True):
        if not graph.leaves(cycle):
            message = (
                f"no edge leads out of {_named(cycle)}: let one of its outcomes exit or lead to "
                "another step"
            )
            notes.add("trapped-cycle", ("steps", _own(cycle[0])), message)
    limits = recipe.limits
    if limits.max_step_visits is not None or limits.max_total_steps is not None:
        return
    for cycle in graph.cycles():
        message = (
            f"nothing bounds {_named(cycle)}: set max_step_visits or max_total_steps in [limits]"
        )
        notes.add("unbounded-cycle", ("steps", _own(cycle[0])), message)


def _named(cycle: Sequence[str]) -> str:
    """Name the steps of a cycle; many are cut short."""
    shown = ", ".join(f"'{name}'" for name in cycle[:6])
    if len(cycle) == 1:
        return f"the cycle of step {shown} with itself"
    return f"the cycle of steps {shown}" + (" and others" if len(cycle) > 6 else "")


def _check_success(graph: RecipeGraph, notes: Notes) -> None:
    """Check that a run can reach an exit that is a success; the exits of an unknown recipe are not
    known."""
    classes = {way.class_ for name in graph.reachable for way in graph.ways[name]}
    if "completed" not in classes and not graph.calls:
        message = (
            "no exit of this recipe is a success, so no run of it can end well: give an edge an "
            'exit of class "completed", such as { exit = "changes-committed" }'
        )
        notes.warn("no-success-exit", ("steps",), message)


def check_irreversible(recipe: Recipe, graph: RecipeGraph, notes: Notes) -> None:
    """Warn where no person approves an irreversible step that follows an agent's work."""
    before = reverse(graph.next)
    for name in graph.reachable:
        step = recipe.steps[name]
        if step.irreversible and not _approved(recipe, before, name):
            message = (
                f"step '{name}' cannot be undone, and nobody is asked before it: add gate = "
                "\"QUESTION\" to it, or a step with 'ask' in front of it"
            )
            notes.warn("ungated-irreversible", ("steps", name, "irreversible"), message)


def _approved(recipe: Recipe, before: dict[str, list[str]], name: str) -> bool:
    """Say whether each way to the step has a question, and no agent at work after it."""
    met: set[str] = set()
    todo = [name]
    while todo:
        here = todo.pop()
        step = recipe.steps[here]
        if step.kind == "gate" or (step.gate and (here == name or step.kind == "command")):
            continue
        if here == recipe.initial or (here != name and step.kind != "command"):
            return False
        met.add(here)
        todo += [other for other in before[here] if other not in met]
    return True


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
