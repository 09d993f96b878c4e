"""Refusals of agents that a person has chosen for a recipe that is not theirs to change. Pure.

What is wrong is the choice: the words name the option by which it is made, and who fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podiumd.core.analysis.check_agents import KnownAgents, Lack, lacks_of
from podiumd.core.recipe.model import Recipe, Step
from podiumd.core.recipe.parts import PROMPTING, chosen_by


def refuse_choice(
    recipe: Recipe, written: Recipe, agents: KnownAgents, usable: Iterable[str]
) -> str | None:
    """Say which chosen agents do not fit, each once with its steps, and how to choose another.

    ``recipe`` has its agents, ``written`` is the same before they were chosen, ``usable`` are those
    that can be used here. ``None``: the recipe itself is at fault, or nothing is.
    """
    choices: dict[tuple[str, str], dict[str, Step]] = {}
    for name, step in recipe.steps.items():
        if step.kind in PROMPTING:
            option = _option(written.steps[name])
            choices.setdefault((option, step.agent or agents.own), {})[name] = step
    words = []
    for (option, agent), steps in choices.items():
        lacks = {name: _lacks(recipe, step, agent, agents) for name, step in steps.items()}
        wrong = [name for name, found in lacks.items() if found]
        if not wrong:
            continue
        if not option:
            return None
        fit = [
            other
            for other in usable
            if not any(_lacks(recipe, step, other, agents) for step in steps.values())
        ]
        found = list(dict.fromkeys(lack for name in wrong for lack in lacks[name]))
        words.append(_refusal(wrong, agent, found, option, fit))
    return " ".join(words) or None


def _option(step: Step) -> str:
    """Return the option by which the agent of a step is chosen; empty where the recipe names it."""
    by = chosen_by(step.agent)
    if by is not None:
        return f"-p {by}=AGENT"
    return "" if step.agent else "--agent AGENT"


def _lacks(recipe: Recipe, step: Step, agent: str, agents: KnownAgents) -> list[Lack]:
    return list(lacks_of(recipe, step, agent, agents))


def _refusal(
    steps: Sequence[str], agent: str, lacks: Sequence[Lack], option: str, fit: Sequence[str]
) -> str:
    where = ("Step " if len(steps) == 1 else "Steps ") + ", ".join(f"'{one}'" for one in steps)
    what = ", and ".join(dict.fromkeys(lack.what + lack.origin for lack in lacks))
    remedies = [*dict.fromkeys(lack.remedy for lack in lacks if lack.settings)]
    here = f"here: {', '.join(fit)}" if fit else "none of those here fits"
    remedies.append(f"choose another with {option} ({here})")
    remedy = ", or ".join(remedies)
    return f"{where}: agent '{agent}' {what}. {remedy[:1].upper()}{remedy[1:]}."
