"""Fold the facts of conversations into a run's state (a case each in ``core.run.fold``). Pure."""

from __future__ import annotations

from typing import Final

from podiumd.core.run import facts as f
from podiumd.core.run.state import ActiveTurn, Exchange, PendingSteer, RunState
from podiumd.core.structs import replace

EXCHANGES: Final = 20
EXCHANGE_CHARACTERS: Final = 2000

NOW: Final = "This is what comes next:"
"""Stands between the first words to a new agent and its prompt."""

_GOES_ON: Final = ("go-on", "interrupted")


def asked_for(intent: f.TurnIntended) -> str:
    """Return a turn's prompt, without the summary that a new agent gets first."""
    return intent.prompt.partition(f"{NOW}\n\n")[2] if intent.anew else intent.prompt


def begun(state: RunState, intent: f.TurnIntended) -> ActiveTurn:
    """Begin a turn; one that goes on with another has the calls of that before its own."""
    words = tuple(s.text for s in state.steers if s.uuid in intent.carried)
    before = state.left if intent.purpose in _GOES_ON else ()
    return ActiveTurn(intent=intent, before=before, words=words)


def subject(state: RunState, turn: ActiveTurn) -> str:
    """Return what a new turn is about; one that goes on with another keeps what that was about."""
    if turn.intent.purpose in _GOES_ON or turn.intent.purpose == "again":
        return "\n\n".join([state.prompt, *turn.words])
    return asked_for(turn.intent)


def left_by(turn: ActiveTurn) -> tuple[f.ToolUsed, ...]:
    """Return those of a turn's calls that count when it is over."""
    return tuple(used for used in (turn.transition, turn.asked) if used is not None)


def exchanges(state: RunState, turn: ActiveTurn, text: str) -> tuple[Exchange, ...]:
    """Add a turn of a conversation: the person's words and the agent's answer."""
    if not state.in_conversation:
        return state.exchanges
    exchange = Exchange(_shortened("\n\n".join(turn.words)), _shortened(text))
    return (*state.exchanges, exchange)[-EXCHANGES:]


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
