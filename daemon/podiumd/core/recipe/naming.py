"""Names of runs: the recipe, and what the run was started for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podiumd.core.recipe.model import Param, Recipe

NAME_CHARACTERS: Final = 80


def run_name(recipe: Recipe | None, params: Mapping[str, Any], text: str | None) -> str:
    """Name a run: ``implement-and-review: Add unicode slugs``; without a task the recipe's label.

    The task is the first parameter of the recipe, in its order, that is a text and was given. A
    plain prompt is called by its own words.
    """
    if recipe is None:
        return cut(text or "")
    task = task_of(recipe.params, params)
    return cut(f"{recipe.id}: {task}" if task else recipe.label or recipe.id)


def task_of(declared: Mapping[str, Param], given: Mapping[str, Any]) -> str:
    """Return the task of a run, in the words that it was started with; maybe empty."""
    for name, param in declared.items():
        value = given.get(name)
        own = param.type == "string" and value != param.default
        if own and isinstance(value, str) and (words := cut(value)):
            return words
    return ""


def named_row(view: Mapping[str, Any]) -> str:
    """Name a run as an earlier release stored it, which has no name: the recipe as it was is not
    known, so its first text that is not empty is the task."""
    if view.get("name"):
        return str(view["name"])
    texts = (value for value in (view.get("params") or {}).values() if isinstance(value, str))
    task = next(filter(None, map(cut, texts)), "")
    recipe = str(view.get("recipe") or "")
    return cut(f"{recipe}: {task}") if recipe and task else recipe


def cut(text: str) -> str:
    """Fold a text into one line, and cut it where it is long."""
    # A task may be a whole document: what is cut off is not folded first.
    words = " ".join(text[: 8 * NAME_CHARACTERS].split())
    return words if len(words) <= NAME_CHARACTERS else words[: NAME_CHARACTERS - 1] + "…"
