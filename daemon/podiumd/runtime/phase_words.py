"""A person's words to a conversation: they go to the agent of its phase, whatever it is at."""

from __future__ import annotations

from functools import partial

import msgspec
import trio

from podiumd.core import commands as c
from podiumd.core import facts as f
from podiumd.core import talk
from podiumd.core.state import RunState
from podiumd.core.views import turn_view
from podiumd.runtime.actor import RunActor
from podiumd.runtime.api import Json
from podiumd.runtime.errors import NotFound
from podiumd.runtime.loading import history
from podiumd.runtime.tokens import Token
from podiumd.store.facts import Store

TAKEN_SECONDS = 1.0
"""How long it is waited until a turn has the words, so that the answer names that turn."""


async def say(actor: RunActor, text: str, name: str, token: Token | None) -> Json:
    """Say something to the phase that a run is in; ``name`` is the uuid of the words.

    Where a turn runs they go into it, else they are the next prompt: as ``sessions.prompt`` tells
    it. They are stored when this returns.

    Raises:
        CommandRefused: the run is over.
    """
    at, mono = actor.stamp()
    await actor.submit(c.Say(at=at, mono=mono, uuid=name, text=text), token=token)
    with trio.move_on_after(TAKEN_SECONDS):
        await actor.until(partial(_is_known, name))
    state = actor.state
    turn_id = _turn_of(name, state)
    if turn_id is None and _has_left(name, state):  # the turn that had them is over already
        told = await before(actor.context.store, actor, actor.run_id, name)
        assert told is not None
        return told
    steered = turn_id is not None and name not in _carried(state)
    delivery = "steered" if steered else "phase"
    return _told(state, name, turn_id or talk.carrier(state, name), delivery)


def _is_known(name: str, state: RunState) -> bool:
    """Whether it is known where the words go: into the running turn, or after it."""
    if state.exit is not None or _turn_of(name, state) is not None or _has_left(name, state):
        return True
    return state.turn is not None and any(words.uuid == name for words in state.messages)


def _told(state: RunState, name: str, turn_id: str, delivery: str) -> Json:
    return {
        "session_id": state.session_id,
        "turn_id": turn_id,
        "run_id": state.start.run_id,
        "delivery": delivery,
        "uuid": name,
    }


def _carried(state: RunState) -> tuple[str, ...]:
    return () if state.turn is None else state.turn.intent.carried


def _turn_of(name: str, state: RunState) -> str | None:
    """The running turn, if it has the words."""
    if state.turn is None:
        return None
    waiting = [steer for steer in state.steers if steer.uuid == name]
    taken = name in _carried(state) or any(steer.queued for steer in waiting)
    return state.turn.intent.turn_id if taken else None


async def before(store: Store, actor: RunActor | None, run_id: str, name: str) -> Json | None:
    """Where words went that were said once; ``None`` if no conversation has heard them."""
    found = await _find(store, run_id, name)
    if found is None:
        return None
    state = found.state if actor is None else actor.state
    delivery = "steered" if found.steered else "phase"
    return _told(state, name, found.turn_id or talk.carrier(state, name), delivery)


async def answered(store: Store, actor: RunActor | None, run_id: str, name: str) -> Json:
    """The turn that had the words, once it is over; the run's last one if none had them.

    Raises ``NotFound`` where the run never heard them.
    """
    while True:
        found = await _find(store, run_id, name)
        if found is None:
            raise NotFound("run", run_id)
        if found.over or actor is None:
            return turn_view(found.state) | {"status": "ended", "exit": found.exit}
        if found.turn_id is None:
            await actor.until(partial(_is_heard, name))
        else:
            await actor.until(partial(_is_over, found.turn_id))


def _is_heard(name: str, state: RunState) -> bool:
    return state.exit is not None or _has_left(name, state)


def _has_left(name: str, state: RunState) -> bool:
    """Whether the words do not wait any more."""
    return all(steer.uuid != name for steer in state.steers)


def _is_over(turn_id: str, state: RunState) -> bool:
    turn = state.turn
    return state.exit is not None or turn is None or turn.intent.turn_id != turn_id


class _Found:
    """What the facts tell of some words, folded up to the end of the turn that had them."""

    def __init__(self, state: RunState) -> None:
        self.state = state
        self.turn_id: str | None = None
        self.steered = False
        self.over = False
        self.exit: Json | None = None


async def _find(store: Store, run_id: str, name: str) -> _Found | None:
    """Fold a run as far as the words matter; ``None`` if they are not in it."""
    found: _Found | None = None
    for fact, state in await history(store, run_id):
        if isinstance(fact, f.MessageReceived) and fact.uuid == name:
            found = _Found(state)
        if found is None:
            continue
        if isinstance(fact, f.RunEnded):
            found.exit = msgspec.to_builtins(fact.exit)
        if found.over:
            continue
        found.state = state
        if isinstance(fact, f.TurnIntended) and name in fact.carried:
            found.turn_id, found.steered = fact.turn_id, False
        elif _delivers(fact, name) and state.turn is not None:
            found.turn_id, found.steered = state.turn.intent.turn_id, True
        elif isinstance(fact, f.TurnEnded) and fact.turn_id == found.turn_id:
            # Queued with the agent and not taken: they wait again.
            found.over = _has_left(name, state)
            found.turn_id = fact.turn_id if found.over else None
        found.over |= isinstance(fact, f.RunEnded)
    return found


def _delivers(fact: f.AnyFact, name: str) -> bool:
    return (
        isinstance(fact, f.EffectEnded)
        and fact.effect == f"steer:{name}"
        and fact.state in ("delivered", "queued")
    )
