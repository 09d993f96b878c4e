"""What the facts of conversations change in a run's state (``core.fold`` names them all)."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from podiumd.core import facts as f
from podiumd.core.state import ActiveTurn, Exchange, PendingSteer, RunState

EXCHANGES: Final = 20
EXCHANGE_CHARACTERS: Final = 2000

NOW: Final = "This is what comes next:"
"""Stands between what a new agent is told first and its prompt."""

_GOES_ON: Final = ("go-on", "interrupted")


def asked_for(intent: f.TurnIntended) -> str:
    """A turn's prompt, without the summary that a new agent is told first."""
    return intent.prompt.partition(f"{NOW}\n\n")[2] if intent.anew else intent.prompt


def turn_intended(state: RunState, intent: f.TurnIntended) -> dict[str, Any]:
    """What a new turn is about; one that goes on with another keeps what that was about."""
    words = tuple(s.text for s in state.steers if s.uuid in intent.carried)
    goes_on = intent.purpose in _GOES_ON
    still = goes_on or intent.purpose == "again"
    return {
        "turn": ActiveTurn(intent=intent, before=state.left if goes_on else (), words=words),
        "prompt": "\n\n".join([state.prompt, *words]) if still else asked_for(intent),
        "attempts": 0 if intent.purpose in ("opening", "say") else state.attempts,
        "left": (),
    }


def turn_ended(state: RunState, fact: f.TurnEnded) -> dict[str, Any]:
    """What a turn leaves: its exchange, and those of its calls that count when it is over."""
    turn = state.turn
    assert turn is not None
    changes: dict[str, Any] = {"left": tuple(filter(None, (turn.transition, turn.asked)))}
    if state.in_talk:
        exchange = Exchange(_shortened("\n\n".join(turn.words)), _shortened(fact.text))
        changes["exchanges"] = (*state.exchanges, exchange)[-EXCHANGES:]
    return changes


def message_received(state: RunState, fact: f.MessageReceived, _at: str) -> dict[str, Any]:
    words = PendingSteer(uuid=fact.uuid, text=fact.text, turn_id=None, late=state.stopping)
    return {"steers": (*state.steers, words), "heard": state.heard.plus(fact.uuid, None)}


def tool_used(state: RunState, fact: f.ToolUsed, _at: str) -> dict[str, Any]:
    turn = state.turn
    assert turn is not None
    changes: dict[str, Any] = {"turn": replace(turn, calls={**turn.calls, fact.call_id: fact})}
    if fact.tool == "save" and fact.success:
        changes["ctx"] = {**state.ctx, fact.args["key"]: fact.args["value"]}
    return changes


def hook_ended(state: RunState, fact: f.HookEnded, _at: str) -> dict[str, Any]:
    return {
        "next": None,
        "seconds": state.seconds + fact.seconds,
        "attempts": state.attempts + fact.refused,
        "left": () if fact.refused else state.left,
    }


def _shortened(text: str) -> str:
    if len(text) <= EXCHANGE_CHARACTERS:
        return text
    return f"{text[:EXCHANGE_CHARACTERS]}… ({len(text)} characters)"
