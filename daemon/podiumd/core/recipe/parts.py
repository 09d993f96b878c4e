"""The parts of agents in a recipe: a step is given to one by its name, or by a parameter. Pure.

Where a step names none it falls to the run's own agent, and so it does where the parameter that it
names is empty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from podiumd.core.recipe.model import Recipe, Step
from podiumd.core.recipe.template import variables
from podiumd.core.structs import replace

PROMPTING: Final = ("turn", "talk")
"""The kinds of steps that an agent takes."""

_ONE: Final = re.compile(r"\{\{[^{}]*\}\}")


def chosen_by(agent: str | None) -> str | None:
    """Return the parameter that names the agent of a step; ``None`` where none does."""
    found = variables(agent or "")
    return found[0][0] if len(found) == 1 and _ONE.fullmatch((agent or "").strip()) else None


def is_chosen(recipe: Recipe, agent: str | None) -> bool:
    """Return whether a parameter of the recipe that is meant for it names the agent of a step."""
    param = recipe.params.get(chosen_by(agent) or "")
    return param is not None and param.type == "agent"


def agents_of(recipe: Recipe, values: Mapping[str, str | int | bool], own: str) -> dict[str, str]:
    """Return the agent that each parameter of type ``agent`` names; ``own`` is the run's own."""
    chosen = [name for name, param in recipe.params.items() if param.type == "agent"]
    return {name: str(values[name]).strip() or own for name in chosen if name in values}


def given_out(recipe: Recipe, agents: Mapping[str, str], own: str, default: str) -> Recipe:
    """Return the recipe with each step given to the agent that takes it in a run.

    ``agents`` are those that parameters name. A step that names none is left to ``own``, the run's:
    words of the step for ``default``, whose it is by itself, mean nothing to another.
    """
    return replace(
        recipe,
        steps={name: _given(step, agents, own, default) for name, step in recipe.steps.items()},
    )


def _given(step: Step, agents: Mapping[str, str], own: str, default: str) -> Step:
    if step.kind not in PROMPTING:
        return step
    by = chosen_by(step.agent)
    if by is not None:
        return replace(step, agent=agents[by])
    if step.agent is None and own != default:
        return replace(step, model=None, permission_mode=None)
    return step


def doubled(agents: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the agents that more than one parameter names, each with these parameters."""
    parts: dict[str, list[str]] = {}
    for param, agent in agents.items():
        parts.setdefault(agent, []).append(param)
    return {agent: params for agent, params in parts.items() if len(params) > 1}


def doubt(agent: str, params: list[str]) -> str:
    """Say that one agent has several parts, and what to do."""
    *others, last = params
    return (
        f"'{agent}' is {', '.join(others)} and {last}: these parts are meant for different agents; "
        f"choose another with -p {last}=AGENT"
    )
