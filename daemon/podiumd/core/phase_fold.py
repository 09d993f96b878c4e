"""Fold the facts of conversations into a run's state (``core.fold`` has a case for each). Pure."""

from __future__ import annotations

from typing import Final

from podiumd.core import facts as f
from podiumd.core.state import ActiveTurn, Exchange, PendingSteer, RunState
from podiumd.core.structs import replace

EXCHANGES: Final = 20
EXCHANGE_CHARACTERS: Final = 2000

NOW: Final = "This is what comes next:"
"""Stands between what a new agent is told first and its prompt."""

_GOES_ON: Final = ("go-on", "interrupted")


def asked_for(intent: f.TurnIntended) -> str:
    """Return a turn's prompt, without the summary that a new agent is told first."""
    return intent.prompt.partition(f"{NOW}\n\n")[2] if intent.anew else intent.prompt


def turn_intended(state: RunState, intent: f.TurnIntended) -> RunState:
    """Set what a new turn is about; one that goes on with another keeps what that was about."""
    words = tuple(s.text for s in state.steers if s.uuid in intent.carried)
    goes_on = intent.purpose in _GOES_ON
    still = goes_on or intent.purpose == "again"
    return replace(
        state,
        turn=ActiveTurn(intent=intent, before=state.left if goes_on else (), words=words),
        prompt="\n\n".join([state.prompt, *words]) if still else asked_for(intent),
        attempts=0 if intent.purpose in ("opening", "say") else state.attempts,
        left=(),
    )


def turn_ended(state: RunState, fact: f.TurnEnded) -> RunState:
    """Keep what a turn leaves: its exchange, and those of its calls that count when it is over."""
    turn = state.turn
    assert turn is not None
    exchanges = state.exchanges
    if state.in_talk:
        exchange = Exchange(_shortened("\n\n".join(turn.words)), _shortened(fact.text))
        exchanges = (*exchanges, exchange)[-EXCHANGES:]
    left = tuple(used for used in (turn.transition, turn.asked) if used is not None)
    return replace(state, exchanges=exchanges, left=left)


def message_received(state: RunState, fact: f.MessageReceived) -> RunState:
    """Keep a person's words for the next prompt."""
    words = PendingSteer(uuid=fact.uuid, text=fact.text, turn_id=None, late=state.stopping)
    return replace(state, steers=(*state.steers, words), heard=state.heard.plus(fact.uuid, None))


def tool_used(state: RunState, fact: f.ToolUsed) -> RunState:
    """Keep a call with its turn, and what it has saved."""
    assert state.turn is not None
    turn = replace(state.turn, calls={**state.turn.calls, fact.call_id: fact})
    saved = fact.tool == "save" and fact.success
    ctx = {**state.ctx, fact.args["key"]: fact.args["value"]} if saved else state.ctx
    return replace(state, turn=turn, ctx=ctx)


def hook_ended(state: RunState, fact: f.HookEnded) -> RunState:
    """Go on after a hook; what it refuses counts no more, as an attempt of the agent's."""
    return replace(
        state,
        next=fact.next,
        seconds=state.seconds + fact.seconds,
        attempts=state.attempts + fact.refused,
        left=() if fact.refused else state.left,
    )


def _shortened(text: str) -> str:
    if len(text) <= EXCHANGE_CHARACTERS:
        return text
    return f"{text[:EXCHANGE_CHARACTERS]}… ({len(text)} characters)"
