"""Podium's own tools in each step: which exist follows from the recipe alone."""

from __future__ import annotations

from typing import Final

from podiumd.core.recipe.model import Recipe, Step

SERVER = "podium"
"""Name of the server of Podium's own tools, in agents' configurations too."""

SERVED_PREFIX = f"mcp__{SERVER}__"
"""Prefix of other agents' names for Podium's own tools; ``mcp__podium__save`` is ``save``."""

OWN_TOOLS: Final = frozenset({"ask", "notify", "report_outcome", "save", "transition"})
"""Podium's own tools: what comes of them is told from their facts."""


def plain_name(tool: str) -> str:
    """Return the tool's name without that of the server."""
    return tool.removeprefix(SERVED_PREFIX)


def served(recipe: Recipe, step: Step) -> tuple[str, ...]:
    """List the tools that exist in a step; where it lists tools, only those that it names."""
    save = ("save",) if recipe.context else ()
    names: tuple[str, ...]
    if step.kind == "talk":
        transition = () if step.final else ("transition",)
        names = ("ask", *save, *transition, "notify")
    elif step.kind == "turn":
        names = ("report_outcome", *save, "notify")
    else:
        return ()
    if isinstance(step.tools, str):
        return names
    listed = {plain_name(tool) for tool in step.tools}
    return tuple(name for name in names if name in listed)


def changes(recipe: Recipe) -> bool:
    """Return whether an agent is served other tools in one step of a recipe than in another."""
    if any(step.kind == "talk" for step in recipe.steps.values()):
        return True
    return len({served(recipe, step) for step in recipe.steps.values()} - {()}) > 1
