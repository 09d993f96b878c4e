"""Rehearsal of one step of a recipe with made-up replies: how each is read, and the retries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from podiumd.core.analysis.rehearse_conversation import PhasePlay, play_conversation
from podiumd.core.analysis.walk import SAID, SimulationError, Walk
from podiumd.core.recipe.exits import Exit
from podiumd.core.recipe.model import Recipe
from podiumd.core.reply.report import TurnReport
from podiumd.core.run import facts as f
from podiumd.core.structs import replace


class Accepted(msgspec.Struct, frozen=True):
    """A reply with an outcome."""

    ok: Literal[True]
    outcome: str
    description: str | None
    source: str
    repaired: bool


class Rejected(msgspec.Struct, frozen=True):
    """A reply after which the agent is asked again, or given up."""

    ok: Literal[False]
    error: str
    message: str
    excerpt: str


class StepPlay(msgspec.Struct, frozen=True):
    """The effect of replies at one step: how each was read, and where they lead.

    ``outcome``, ``to`` and ``exit`` are ``None`` where the replies ran out before the step was
    over; ``unused`` counts those that came after its end.
    """

    replies: tuple[Accepted | Rejected, ...]
    outcome: str | None
    to: str | None
    exit: Exit | None
    unused: int


def play_step(recipe: Recipe, name: str, replies: Sequence[str]) -> StepPlay | PhasePlay:
    """Play one step with made-up replies, retries included; its checks pass.

    In a conversation the replies may hold tool calls, and a person's messages: see
    ``rehearse_conversation``.

    Raises:
        SimulationError: the step does not prompt an agent.
    """
    step = recipe.steps[name]
    if step.kind not in ("turn", "talk"):
        raise SimulationError(name, f"step '{name}' has no prompt, so nobody replies in it")
    alone = replace(step, prompt=SAID, gate=None)
    walk = Walk(replace(recipe, initial=name, steps={**recipe.steps, name: alone}))
    walk.proceed()
    if step.kind == "talk":
        return play_conversation(walk, replies)
    used = 0
    while used < len(replies) and walk.state.exit is None and not walk.hops:
        walk.proceed()
        walk.reply(TurnReport(kind="done", texts=(replies[used],), prompt_recorded=True))
        used += 1
        while walk.state.next is not None and walk.state.next.kind == "check":
            walk.end_check(passed=True)
    hop = walk.hops[0] if walk.hops else None
    return StepPlay(
        replies=tuple(filter(None, map(_judged, walk.facts))),
        outcome=hop.outcome if hop is not None else None,
        to=hop.to if hop is not None else None,
        exit=walk.state.exit,
        unused=len(replies) - used,
    )


def _judged(fact: f.AnyFact) -> Accepted | Rejected | None:
    """Return how a reply was read; ``None`` where the fact does not record that."""
    if isinstance(fact, f.OutcomeParsed):
        return Accepted(True, fact.outcome, fact.description, fact.source, fact.repaired)
    if isinstance(fact, f.OutcomeInvalid):
        return Rejected(False, fact.error, fact.message, fact.excerpt)
    return None
