"""The words of a person to a conversation: they go to the agent of its phase at any moment."""

from __future__ import annotations

from functools import partial

import trio

from podiumd.core.decide import conversation
from podiumd.core.run import commands as c
from podiumd.core.run.state import RunState
from podiumd.runtime.errors import NotFound
from podiumd.runtime.fact_reader import load
from podiumd.runtime.idempotency import Token
from podiumd.runtime.run import heard
from podiumd.runtime.run.actor import RunActor
from podiumd.store.facts import Store
from podiumd.wire.runs import Turn
from podiumd.wire.sessions import Went

TAKEN_SECONDS = 1.0
"""How long it is waited until a turn has the words, so that the answer names that turn."""


async def say(actor: RunActor, text: str, name: str, token: Token | None) -> Went:
    """Send words to the phase that a run is in; ``name`` is their uuid.

    Where a turn runs they go into it, else they are the next prompt: as ``sessions.prompt`` reports
    it. They are stored when this returns.

    Raises:
        CommandRefused: the run is over.
    """
    await actor.submit(c.Say(**actor.stamp(), uuid=name, text=text), token=token)
    with trio.move_on_after(TAKEN_SECONDS):
        await actor.until(partial(_is_known, name))
    state = actor.state
    turn_id = _turn_of(name, state)
    if turn_id is None and _has_left(name, state):  # the turn that had them is over already
        store = actor.context.store
        found = await heard.find(store, actor.run_id, name)
        assert found is not None
        return await before(store, actor, actor.run_id, name, found)
    steered = turn_id is not None and name not in _carried(state)
    turn_id = turn_id or conversation.carrier(state, name)
    return _told(actor.run_id, state.session_id, name, turn_id, steered=steered)


def _is_known(name: str, state: RunState) -> bool:
    """Return whether it is known where the words go: into the running turn, or after it."""
    if state.exit is not None or _turn_of(name, state) is not None or _has_left(name, state):
        return True
    return state.turn is not None and any(said.uuid == name for said in state.messages)


def _told(run_id: str, session_id: str | None, name: str, turn_id: str, *, steered: bool) -> Went:
    return Went(
        session_id=session_id,
        turn_id=turn_id,
        run_id=run_id,
        delivery="steered" if steered else "phase",
        uuid=name,
    )


def _carried(state: RunState) -> tuple[str, ...]:
    return () if state.turn is None else state.turn.intent.carried


def _turn_of(name: str, state: RunState) -> str | None:
    """Return the running turn, if it has the words."""
    if state.turn is None:
        return None
    waiting = [steer for steer in state.steers if steer.uuid == name]
    taken = name in _carried(state) or any(steer.queued for steer in waiting)
    return state.turn.intent.turn_id if taken else None


async def before(
    store: Store, actor: RunActor | None, run_id: str, name: str, found: heard.Words
) -> Went:
    """Report where earlier words went, by what was ``found`` of them."""
    steered = found.steered
    if found.turn_id is not None:
        return _told(run_id, found.session_id, name, found.turn_id, steered=steered)
    state = None if actor is None else actor.state
    if state is None:  # the run ended before any turn had them
        loaded = await load(store, run_id)
        assert loaded is not None  # it has the fact of their receipt
        state = loaded.state
    return _told(run_id, state.session_id, name, conversation.carrier(state, name), steered=steered)


async def answered(
    store: Store,
    actor: RunActor | None,
    run_id: str,
    name: str,
    found: heard.Words | None = None,
) -> Turn:
    """Wait for the turn that had the words, once it is over; else the run's last one.

    ``found``: what was found of them before. Raises ``NotFound`` where the run never received them.
    """
    while True:
        found = await heard.find(store, run_id, name, found)
        if found is None:
            raise NotFound("run", run_id)
        if found.over or actor is None:
            return await heard.turn_of(store, run_id, found)
        if found.turn_id is None:
            await actor.until(partial(_is_heard, name))
        else:
            await actor.until(partial(_is_over, found.turn_id))


def _is_heard(name: str, state: RunState) -> bool:
    return state.exit is not None or _has_left(name, state)


def _has_left(name: str, state: RunState) -> bool:
    """Return whether the words do not wait any more."""
    return all(steer.uuid != name for steer in state.steers)


def _is_over(turn_id: str, state: RunState) -> bool:
    turn = state.turn
    return state.exit is not None or turn is None or turn.intent.turn_id != turn_id
