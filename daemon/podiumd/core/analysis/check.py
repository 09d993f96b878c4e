"""Check a recipe before it runs: what the loader finds, and what only the whole graph shows.

Everything here is pure: the runtime hands in the text, the reader of prompt files, what the agents
can do, and the other recipes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import msgspec

from podiumd.core.analysis.check_agents import KnownAgents, check_agents, check_parts
from podiumd.core.analysis.check_calls import check_calls
from podiumd.core.analysis.check_graph import check_graph, check_irreversible, check_limits
from podiumd.core.analysis.worst_case import WorstCase, worst_case
from podiumd.core.findings import Finding, Notes, RecipeInvalid, TooManyFindings
from podiumd.core.recipe.expand import LoadCalled
from podiumd.core.recipe.graph import RecipeGraph
from podiumd.core.recipe.load import read_recipe
from podiumd.core.recipe.model import Recipe
from podiumd.core.recipe.rules import templates
from podiumd.core.recipe.template import variables


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of a check, in the order of the file; ``ok`` means no error.

    ``recipe`` and ``worst_case`` are set where the recipe loads, also with errors in its graph.
    ``whole`` is the recipe with its calls replaced, or as it is where they cannot be.
    """

    ok: bool
    findings: tuple[Finding, ...]
    worst_case: WorstCase | None = None
    recipe: Recipe | None = None
    whole: Recipe | None = None


def check_text(
    text: str,
    *,
    file: str,
    read_prompt: Callable[[str], str],
    agents: KnownAgents | None = None,
    load_called: LoadCalled | None = None,
) -> CheckResult:
    """Load and check the text of one recipe.

    ``file`` is its name in findings. ``read_prompt`` returns a prompt file's text, raising OSError
    or ValueError where it cannot. See ``check`` for the rest. A recipe that does not load is not
    checked further: most of what its graph shows would follow from the same fault.
    """
    try:
        recipe, notes = read_recipe(text, file=file, read_prompt=read_prompt)
    except RecipeInvalid as invalid:
        return CheckResult(ok=False, findings=invalid.findings)
    return check_recipe(
        recipe,
        notes,
        agents=agents,
        load_called=load_called,
    )


def check_recipe(
    recipe: Recipe,
    notes: Notes,
    *,
    agents: KnownAgents | None = None,
    load_called: LoadCalled | None = None,
) -> CheckResult:
    """Check a recipe that has loaded: all that its whole graph shows.

    ``notes`` knows its lines; findings are added there. Without ``agents`` what steps demand of
    them is not looked at. ``load_called`` finds called recipes by id; without it calls are not
    looked at.
    """
    whole = _look(recipe, notes, agents, load_called)
    return CheckResult(
        ok=all(finding.level != "error" for finding in notes.findings),
        findings=tuple(notes.sorted()),
        worst_case=worst_case(whole),
        recipe=recipe,
        whole=whole,
    )


def _look(
    recipe: Recipe,
    notes: Notes,
    agents: KnownAgents | None,
    load_called: LoadCalled | None,
) -> Recipe:
    """Note everything; returns the recipe with its calls replaced, or as it is if that fails."""
    whole = recipe
    with suppress(TooManyFindings):
        if load_called is not None:
            whole = check_calls(recipe, notes, load_called) or recipe
        graph = RecipeGraph(whole)
        check_graph(recipe, graph, notes)
        check_irreversible(recipe, RecipeGraph(recipe), notes)
        if all(step.kind != "call" for step in whole.steps.values()):
            check_limits(whole, graph, notes)
        check_parts(recipe, notes)
        if agents is not None:
            check_agents(whole, notes, agents)
        _check_params(recipe, notes)
    return whole


def _check_params(recipe: Recipe, notes: Notes) -> None:
    """Check that every parameter is used somewhere."""
    used = {
        variable
        for name, step in recipe.steps.items()
        for _, text in templates(name, step)
        for variable, _ in variables(text)
    }
    for name in recipe.params:
        if name not in used:
            message = (
                f"nothing uses '{{{{{name}}}}}': write it into a prompt or remove [params.{name}]"
            )
            notes.warn("unused-param", ("params", name), message)
