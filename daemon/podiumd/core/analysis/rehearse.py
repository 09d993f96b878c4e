"""Rehearsal of one step of a recipe with made-up replies: how each is read, and the retries.

In a phase of a conversation the replies have tool calls, and a person's messages stand between
them. A reply is an agent's text; its actions stand in it as the native agent writes them, in fenced
blocks (``{"action": "save", "key": "goal", "value": "..."}``). Lines that begin with ``>`` are the
person's message at that point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from podiumd.core.analysis.walk import AT, SAID, SimulationError, Walk
from podiumd.core.recipe.exits import Exit
from podiumd.core.recipe.model import Recipe
from podiumd.core.reply.actions import parse_reply
from podiumd.core.reply.fences import pieces
from podiumd.core.reply.report import TurnReport
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.structs import replace

_QUOTE: Final = ">"


class ToolPlayed(msgspec.Struct, frozen=True):
    """A call of one of Podium's tools, and the answer that the agent gets."""

    tool: str
    args: dict[str, Any]
    success: bool
    message: str


class PhaseReply(msgspec.Struct, frozen=True):
    """The effect of one turn of the agent.

    ``prompt`` is what it was sent, ``text`` its reply, ``ctx`` what is saved after it. With a
    ``fault`` the reply could not be read and nothing of it was done. ``transition`` is the way it
    goes on by, ``question`` what it asks the person. ``ok``: nothing was refused.
    """

    ok: bool
    prompt: str
    text: str
    fault: str | None
    tools: tuple[ToolPlayed, ...]
    ctx: dict[str, Any]
    transition: str | None
    question: str | None


class PhasePlay(msgspec.Struct, frozen=True):
    """The effect of a script in one phase; the fields in common with those of a ``StepPlay`` mean
    the same. ``waits``: the phase waits for the person when the script is at its end."""

    replies: tuple[PhaseReply, ...]
    outcome: str | None
    to: str | None
    exit: Exit | None
    unused: int
    waits: bool


def play_conversation(walk: Walk, script: Sequence[str]) -> PhasePlay:
    """Play a script in the phase that ``walk`` has just entered; its hooks let all pass.

    Where the agent replies though no person has written, a message of the person is assumed.
    """
    lines = [line for text in script for line in _lines(text)]
    replies: list[PhaseReply] = []
    used = 0
    for person, text in lines:
        if not person and not _is_over(walk):
            _have_it_speak(walk, used + 1)
        if _is_over(walk):
            break
        used += 1
        if person:
            _say(walk, text, used)
        else:
            replies.append(_reply(walk, text, used))
    hop = walk.hops[0] if walk.hops else None
    return PhasePlay(
        replies=tuple(replies),
        outcome=hop.outcome if hop is not None else None,
        to=hop.to if hop is not None else None,
        exit=walk.state.exit,
        unused=sum(not person for person, _ in lines[used:]),
        waits=walk.state.status == "waiting" and not walk.hops,
    )


def _lines(text: str) -> Iterator[tuple[bool, str]]:
    """Split a part of the script into the person's lines (``True``) and the agent's replies."""
    found: list[tuple[bool, list[str]]] = []
    for piece in pieces(text):
        plain = piece.info is None
        for line in piece.source.split("\n") if plain else [piece.source]:
            person = plain and line.startswith(_QUOTE)
            if not found or found[-1][0] != person:
                found.append((person, []))
            found[-1][1].append(line.removeprefix(_QUOTE).removeprefix(" ") if person else line)
    for person, said in found:
        whole = "\n".join(said).strip()
        if whole:
            yield person, whole


def _is_over(walk: Walk) -> bool:
    return walk.state.exit is not None or bool(walk.hops)


def _say(walk: Walk, text: str, number: int) -> None:
    walk.do(c.Say(at=AT, uuid=f"message-{number}", text=text))


def _have_it_speak(walk: Walk, number: int) -> None:
    """Begin the agent's turn, unless the run ends over that: its prompt may come to nothing."""
    if walk.state.open_questions:
        choices = walk.state.open_questions[0].choices
        _say(walk, choices[0][0] if choices else SAID, -number)
    elif walk.state.waits_for_words:
        _say(walk, SAID, -number)
    walk.proceed()


def _reply(walk: Walk, text: str, number: int) -> PhaseReply:
    turn = walk.state.turn
    assert turn is not None
    reply = parse_reply(text, names=turn.intent.served, served=turn.intent.served)
    for index, action in enumerate(reply.actions):
        walk.do(
            c.ReportToolCall(
                at=AT,
                turn_id=turn.intent.turn_id,
                call_id=f"{number}-{index}",
                tool=action.name,
                args=action.args,
            )
        )
    turn = walk.state.turn
    assert turn is not None
    walk.reply(TurnReport(kind="done", texts=(reply.prose,), prompt_recorded=True))
    while walk.state.next is not None and walk.state.next.kind == "hook":
        walk.do(c.ReportHookEnd(at=AT, index=walk.state.next.index, exit_status=0))
    tools = tuple(
        ToolPlayed(call.tool, call.args, call.success, call.message) for call in turn.calls.values()
    )
    return PhaseReply(
        ok=reply.fault is None and all(tool.success for tool in tools),
        prompt=turn.intent.prompt,
        text=reply.prose,
        fault=reply.fault,
        tools=tools,
        ctx=walk.state.ctx,
        transition=turn.transition.args["to"] if turn.transition is not None else None,
        question=turn.asked.args["question"] if turn.asked is not None else None,
    )


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
