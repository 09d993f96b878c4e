"""Publish the state of conversations to all their followers: transient events, never stored.

One comes after everything that changes what a client shows, and first thing to each follower, so
that no client has to put a phase and its context together from facts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, assert_never

from podiumd.core.run import facts as f
from podiumd.core.run.state import RunState
from podiumd.wire import views
from podiumd.wire.event import Event

MOST_AT_ONCE: Final = 64
"""Conversations that are reported to a new follower: those that were begun last."""


Unchanging = (
    f.QuietFact
    | f.RunStarted
    | f.TurnIntended
    | f.ToolUsed
    | f.HookEnded
    | f.CheckEnded
    | f.CommandIntended
    | f.CommandEnded
    | f.SteerIntended
    | f.AsideNoted
    | f.LoopFact
    | f.RunParked
    | f.OutcomeParsed
    | f.OutcomeInvalid
    | f.LimitHit
    | f.ProgressStalled
)
"""The facts that change nothing of what a client shows of a conversation."""


def converses(state: RunState) -> bool:
    """Return whether a run has phases that are conversations."""
    recipe = state.recipe
    return recipe is not None and any(step.kind == "talk" for step in recipe.steps.values())


def after(state: RunState, facts: Iterable[f.AnyFact], at: str) -> Event | None:
    """Return the event that follows a decision, if its facts change what is shown."""
    if not (converses(state) and any(map(_changes, facts))):
        return None
    return event(state, at)


def _changes(fact: f.AnyFact) -> bool:
    """Return whether a fact changes what a client shows of a conversation."""
    if isinstance(fact, Unchanging):
        return False
    match fact:
        case (
            f.TurnEnded()
            | f.EdgeTaken()
            | f.StepEntered()
            | f.QuestionOpened()
            | f.QuestionClosed()
            | f.MessageReceived()
            | f.RunPaused()
            | f.RunResumed()
            | f.RunEnded()
        ):
            return True
        case _:
            assert_never(fact)


def event(state: RunState, at: str) -> Event:
    """Build the transient event: no ``seq``, no ``pos``."""
    told = views.snapshot_view(state)
    return Event(told, at=at, run_id=told.run_id, session_id=told.session_id)


def present(states: Iterable[RunState], at: str) -> list[Event]:
    """Build the events of the conversations among these runs, of the newest if they are many."""
    found = [state for state in states if state.exit is None and converses(state)]
    return [event(state, at) for state in found[-MOST_AT_ONCE:]]
