"""Recipes drawn at random from one number, so that each can be drawn again.

Most are sound by construction, as people's recipes are: each step leads to the next one or out by
some outcome. The others lead anywhere at all. Either may call another random recipe.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from podiumd.core.recipe.model import RESTART, Check, Edge, Limits, Param, Recipe, Step
from tests.core.builders import a_recipe, leave, to

WORDS = ("complete", "again", "no-issues", "issues-found")
EXITS = (leave("changes-committed"), leave("clarification-needed"), leave("odd", "error"))
KINDS = ("turn", "turn", "turn", "turn", "command", "gate", "call")
MOST_STEPS = 6
DEPTH = 2


class Drawn(NamedTuple):
    """A recipe, and all that it may call by their ids."""

    recipe: Recipe
    others: dict[str, Recipe]

    def load_called(self, id: str) -> Recipe | None:
        return self.others.get(id)


def draw(seed: str) -> Drawn:
    """The recipe that belongs to ``seed``."""
    chance = Random(seed)
    others: dict[str, Recipe] = {}
    return Drawn(_recipe(chance, "drawn", others, DEPTH), others)


def _recipe(chance: Random, called: str, others: dict[str, Recipe], depth: int) -> Recipe:
    names = [f"step-{number}" for number in range(chance.randint(1, MOST_STEPS))]
    sound = chance.random() < 0.8
    top = called == "drawn"
    targets = [*map(to, names), *EXITS, *([to(RESTART)] if top and chance.random() < 0.5 else [])]
    steps = {}
    for number, name in enumerate(names):
        following = to(names[number + 1]) if name != names[-1] else chance.choice(EXITS)
        onward = following if sound else chance.choice(targets)
        steps[name] = _step(chance, onward, targets, others, depth)
    return a_recipe(steps, _limits(chance), id=called)


def _limits(chance: Random) -> Limits:
    visits = chance.choice([None, 1, 2, 3])
    total = chance.randint(1, 12)
    return Limits(
        max_step_visits=visits,
        max_total_steps=chance.choice([None, total] if visits else [*[total] * 9, None]),
        max_minutes=chance.choice([None, None, None, 5.0, 60.0]),
        max_cost_usd=chance.choice([None, None, None, 2.0]),
        max_retries=chance.randint(1, 3),
        max_restarts=chance.randint(1, 3),
        on_limit=chance.choice(["exit", "ask"]),
    )


def _step(
    chance: Random, onward: Edge, targets: list[Edge], others: dict[str, Recipe], depth: int
) -> Step:
    kind = chance.choice(KINDS)
    gate = chance.choice([None, None, None, "Shall I?"])
    minutes = chance.choice([None, 1.0, 30.0])
    if kind == "call" and depth:
        return _call(chance, onward, targets, others, depth)
    if kind == "command":
        on = {"passed": onward, "failed": chance.choice(targets)}
        return Step(
            kind="command",
            run=("make",),
            on=on,
            outcomes=(*on,),
            gate=gate,
            timeout_minutes=minutes,
        )
    if kind == "gate":
        on = {"yes": onward, "later": chance.choice(targets)}
        choices = ("yes", "no", "later")
        return Step(kind="gate", ask="Well?", on=on, choices=choices, outcomes=choices)
    said = chance.sample(WORDS, chance.randint(1, 3))
    on = {word: chance.choice(targets) for word in said} | {said[0]: onward}
    checks = tuple(Check(run=("make",), timeout_seconds=60.0) for _ in range(chance.randint(0, 2)))
    extra = {"other": True, "checks-failed": bool(checks), "declined": gate is not None}
    on |= {
        word: chance.choice(targets) for word, can in extra.items() if can and chance.random() < 0.5
    }
    return Step(
        kind="turn",
        prompt="Do it.",
        session=chance.choice(["same", "fresh", "fork"]),
        on=on,
        outcomes=tuple(said),
        checks=checks,
        gate=gate,
        timeout_minutes=minutes,
    )


def _call(
    chance: Random, onward: Edge, targets: list[Edge], others: dict[str, Recipe], depth: int
) -> Step:
    """A call of a new recipe; some of its reasons are handled."""
    name = f"called-{len(others)}"
    others[name] = a_recipe(id=name)  # the name is taken while what it calls is drawn
    called = _recipe(chance, name, others, depth - 1)
    if chance.random() < 0.3:
        called = _with_param(called)
    others[name] = called
    reasons = sorted(
        {edge.exit for step in called.steps.values() for edge in step.on.values() if edge.exit}
    )
    on = {reason: chance.choice(targets) for reason in reasons if chance.random() < 0.7}
    if reasons:
        on[chance.choice(reasons)] = onward
    params: dict[str, str | int | bool] = {"what": "it"} if called.params else {}
    return Step(kind="call", recipe=name, params=params, on=on, outcomes=tuple(on))


def _with_param(recipe: Recipe) -> Recipe:
    return a_recipe(
        recipe.steps, recipe.limits, id=recipe.id, params={"what": Param(type="string")}
    )
