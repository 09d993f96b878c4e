"""Compute the work that a run is to have going on outside of itself. Pure.

It follows from the run's state and what is going on. ``runtime.run.effects`` does it after every
change; a task that is under way already is not begun a second time.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Literal, assert_never

import msgspec

from podiumd.core.run.fact import MoveKind
from podiumd.core.run.state import PendingSteer, Question, RunState

Work = Literal["worktree", "command", "proceed"]
"""How what is next is done: git makes a worktree; a check, a hook or a step's command is run; or
the world is looked at for a decision."""


class Cancel(msgspec.Struct, frozen=True):
    """End what is going on of the run's own work: a command, or the way to what is next."""

    what: Literal["command", "next"]


class Begin(msgspec.Struct, frozen=True):
    """Begin a task that needs no room: the wait for the agent's limit, the agent's turn, or the
    look at what is to be stopped and does not run."""

    task: Literal["parked", "turn", "stop"]


class Deliver(msgspec.Struct, frozen=True):
    """Hand a person's answer to the agent that waits for it."""

    question: Question


class HandOver(msgspec.Struct, frozen=True):
    """Hand a person's words to the agent at work."""

    steer: PendingSteer


class GoOn(msgspec.Struct, frozen=True):
    """Do what is next, once there is room for it and the session is free."""

    work: Work


class Rest(msgspec.Struct, frozen=True):
    """Leave room to others: nothing is to be done."""


Due = Cancel | Begin | Deliver | HandOver | GoOn | Rest


def due(
    state: RunState, running: AbstractSet[str], *, closing: bool, leaving: bool
) -> tuple[Due, ...]:
    """Return what is to be begun or ended now, in order.

    Args:
        state: the run as it is.
        running: the names of its tasks that are under way.
        closing: the daemon stops. What is to be stopped is stopped all the same.
        leaving: the run is left as it is, for the next daemon.
    """
    if state.exit is not None:  # git may take its time, or never answer
        return Cancel("command"), Cancel("next")
    stopped = (Cancel("command"),) if state.stopping else ()
    if leaving or (closing and not state.stopping):
        return stopped
    parked = (Begin("parked"),) if state.parked_until is not None else ()
    return *stopped, *parked, *_work(state, running)


def _work(state: RunState, running: AbstractSet[str]) -> tuple[Due, ...]:
    if state.turn is not None:
        if "turn" not in running:
            return (Begin("turn"),)
        steers = (s for s in state.steers if s.turn_id is not None and not s.queued)
        return *map(Deliver, state.undelivered_answers), *map(HandOver, steers)
    if state.stop is not None:
        return () if "command" in running else (Begin("stop"),)
    if running - {"parked"}:
        return ()
    if state.ready and state.next is not None:
        return (GoOn(_way(state.next.kind)),)
    return (Rest(),)


def _way(kind: MoveKind) -> Work:
    match kind:
        case "worktree":
            return "worktree"
        case "check" | "run" | "hook":
            return "command"
        case "enter" | "turn" | "command" | "look" | "gate":
            return "proceed"
        case _:
            assert_never(kind)
