"""Recipes that are sound by construction, drawn at random, and walks through them.

Each step leads to the next one or out by at least one outcome, so all can be reached and an exit
can be reached from all; every other outcome may lead anywhere. A limit bounds every cycle.
"""

from __future__ import annotations

import random

from hypothesis import strategies as st

from podiumd.core.recipe.model import RESTART, Edge, Limits, Recipe, Step
from podiumd.core.recipe.paths import ways_out
from tests.core.builders import a_check, a_recipe, leave, to

WORDS = ("complete", "again", "no-issues", "issues-found")
EXITS = (leave("changes-committed"), leave("clarification-needed"), leave("odd", "error"))


@st.composite
def sound_recipes(draw: st.DrawFn) -> Recipe:
    """Recipes with cycles, gates, checks, commands, asks, calls, restarts and limits."""
    names = tuple(f"step-{number}" for number in range(draw(st.integers(1, 6))))
    steps = {}
    for name, following in zip(names, (*names[1:], None), strict=True):
        onward = to(following) if following is not None else draw(st.sampled_from(EXITS))
        anywhere = st.sampled_from([*map(to, names), to(RESTART), *EXITS])
        steps[name] = draw(_steps(onward, anywhere))
    visits = draw(st.none() | st.integers(1, 3))
    total = draw(st.integers(1, 8) if visits is None else st.none() | st.integers(1, 8))
    limits = Limits(
        max_step_visits=visits,
        max_total_steps=total,
        max_restarts=draw(st.integers(1, 2)),
        on_limit=draw(st.sampled_from(["exit", "ask"])),
    )
    return a_recipe(steps, limits)


@st.composite
def _steps(draw: st.DrawFn, onward: Edge, anywhere: st.SearchStrategy[Edge]) -> Step:
    """One step whose first outcome leads onward."""
    kind = draw(st.sampled_from(["turn", "turn", "turn", "command", "gate", "call"]))
    gate = draw(st.sampled_from([None, None, "Shall I?"]))
    if kind == "command":
        on = {"passed": onward, "failed": draw(anywhere)}
        return Step(kind="command", run=("make",), on=on, outcomes=tuple(on), gate=gate)
    if kind == "gate":
        on = {"yes": onward, "later": draw(anywhere)}
        choices = ("yes", "no", "later")
        return Step(kind="gate", ask="Well?", on=on, choices=choices, outcomes=choices)
    said = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True))
    on = dict(zip(said, [onward, *(draw(anywhere) for _ in said[1:])], strict=True))
    if kind == "call":
        return Step(kind="call", recipe="another", on=on, outcomes=tuple(said), gate=gate)
    checks = (a_check(),) * draw(st.integers(0, 2))
    extra = {
        name: draw(anywhere)
        for name, possible in (("other", True), ("checks-failed", checks), ("declined", gate))
        if possible and draw(st.booleans())
    }
    return Step(
        kind="turn",
        prompt="Do it.",
        on={**on, **extra},
        outcomes=tuple(said),
        checks=checks,
        gate=gate,
    )


def most_entries(recipe: Recipe) -> int:
    """How many steps the limits allow, restarts included."""
    limits = recipe.limits
    by_visits = (limits.max_step_visits or 10**9) * len(recipe.steps)
    return min(limits.max_total_steps or 10**9, by_visits) * (1 + limits.max_restarts)


def random_walk(recipe: Recipe, seed: int) -> list[str]:
    """Outcomes to an exit, or one more than the limits can allow; limits are not looked at."""
    chance = random.Random(seed)
    ways = {name: ways_out(step) for name, step in recipe.steps.items()}
    outcomes: list[str] = []
    name: str | None = recipe.initial
    while name is not None and len(outcomes) <= most_entries(recipe):
        way = chance.choice(ways[name])
        outcomes.append(way.outcome)
        name = recipe.initial if way.to == RESTART else way.to
    return outcomes


def entries_of(recipe: Recipe, hops: list[tuple[str, str | None]]) -> list[dict[str, int]]:
    """How often each step was entered, one count for each life between restarts."""
    lives: list[dict[str, int]] = [{}]
    for step, target in hops:
        lives[-1][step] = lives[-1].get(step, 0) + 1
        if target == RESTART:
            lives.append({})
    return lives
