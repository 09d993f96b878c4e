"""Check of the recipes that steps call: they must exist, fit and come to an end.

A called recipe comes back with its exit reason. A reason that the caller does not name ends the
caller in the same way, so that none is unhandled.
"""

from __future__ import annotations

from collections.abc import Callable

from podiumd.core.findings import Notes, nearest
from podiumd.core.recipe.expand import CallError, LoadCalled, expand
from podiumd.core.recipe.graph import RecipeGraph
from podiumd.core.recipe.model import DECLINED, Recipe, Step
from podiumd.core.recipe.params import ParamError, param_value
from podiumd.core.recipe.parts import is_chosen
from podiumd.core.recipe.paths import ways_out
from podiumd.core.recipe.template import variables
from podiumd.core.structs import replace


def check_calls(recipe: Recipe, notes: Notes, load_called: LoadCalled) -> Recipe | None:
    """Note each call that does not fit the recipe it calls.

    Returns the recipe with every call replaced by the steps of what it calls; ``None`` where that
    cannot be done.
    """
    before = len(notes.findings)
    for name, step in recipe.steps.items():
        if step.recipe is not None:
            _check_call(name, step, recipe, notes, load_called)
    if len(notes.findings) > before:
        return None
    try:
        return expand(recipe, finder(load_called))
    except CallError as error:  # each fits by itself, but not all of them together
        message = f"{error}: call less, or put less into what is called"
        notes.add("bad-value", ("steps", error.step, "recipe"), message)
        return None


def _check_call(
    name: str, step: Step, recipe: Recipe, notes: Notes, load_called: LoadCalled
) -> None:
    id_ = step.recipe or ""
    path = ("steps", name, "recipe")
    called = load_called(id_)
    if id_ == recipe.id or _calls(id_, recipe.id, load_called):
        message = (
            f"recipe '{recipe.id}' calls itself by way of '{id_}', and so without end: remove the "
            'call; to begin again there is to = "@restart"'
        )
        notes.add("unbounded-cycle", path, message)
    elif called is None:
        message = (
            f"there is no recipe '{id_[:80]}' that can be called: write the id of one that "
            "'podium recipe list' shows without faults"
        )
        notes.add("unknown-target", path, message)
    elif _params_fit(name, step, recipe, called, notes):
        find = finder(load_called)
        try:
            expand(replace(recipe, steps={name: step}), find)
        except CallError as error:
            message = f"recipe '{id_}' cannot be called: {error}. Mend that, or remove the call"
            notes.add("bad-value", path, message)
        else:
            _check_reasons(name, step, expand(called, find), notes)


def finder(load_called: LoadCalled) -> Callable[[str], Recipe]:
    """Return how ``expand`` finds what is called; it raises CallError where there is nothing."""

    def find(id: str) -> Recipe:
        recipe = load_called(id)
        if recipe is None:
            raise CallError("", f"it calls '{id[:80]}', which cannot be used")
        return recipe

    return find


def _calls(id: str, sought: str, load_called: LoadCalled) -> bool:
    """Say whether the recipe ``id`` calls ``sought``, directly or by way of others."""
    met = {id}
    todo = [id]
    while todo:
        recipe = load_called(todo.pop())
        steps = recipe.steps.values() if recipe is not None else ()
        new = {step.recipe for step in steps if step.recipe is not None} - met
        met |= new
        todo += new
    return sought in met


def _params_fit(name: str, step: Step, recipe: Recipe, called: Recipe, notes: Notes) -> bool:
    """Note each parameter that is unknown, wrong or missing; say whether there is none."""
    before = len(notes.findings)
    for param, value in step.params.items():
        path = ("steps", name, "params", param)
        if param not in called.params:
            hint = nearest(param, called.params)
            message = (
                f"recipe '{called.id}' has no parameter '{param}'; {hint}. Correct or remove it"
            )
            notes.add("unknown-key", path, message)
        elif not variables(str(value)):
            try:
                param_value(param, called.params[param], value)
            except ParamError as error:
                notes.add("bad-value", path, error.message)
        elif called.params[param].type == "agent" and not is_chosen(recipe, str(value)):
            message = (
                f"parameter '{param}' names an agent: expected a name, or nothing but a parameter "
                'of this recipe with type = "agent"'
            )
            notes.add("bad-value", path, message)
    for param, wanted in called.params.items():
        if wanted.default is None and param not in step.params:
            message = f"recipe '{called.id}' needs '{param}': add it to [steps.{name}.params]"
            notes.add("missing-key", ("steps", name), message)
    return len(notes.findings) == before


def _check_reasons(name: str, step: Step, called: Recipe, notes: Notes) -> None:
    """Check that the called recipe can end with each handled reason."""
    ways = (way for inner in RecipeGraph(called).reachable for way in ways_out(called.steps[inner]))
    possible = {way.exit for way in ways if way.exit is not None}
    for outcome in step.on:
        if outcome not in possible and not (outcome == DECLINED and step.gate is not None):
            message = (
                f"recipe '{called.id}' can never end with '{outcome}'; "
                f"{nearest(outcome, sorted(possible))}. Correct the name or remove the edge"
            )
            notes.add("dead-handler", ("steps", name, "on", outcome), message)
