"""Faults of the machine as a whole: steps that nothing leads to, and runs that cannot end well."""

from __future__ import annotations

from collections.abc import Sequence

from podiumd.core.findings import Notes
from podiumd.core.recipe.graph import RecipeGraph, reverse
from podiumd.core.recipe.model import Recipe


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
