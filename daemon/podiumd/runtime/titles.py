"""Titles of runs, given to those at work and to those that are over."""

from __future__ import annotations

from collections.abc import Callable

import trio

from podiumd.core.decide.workflow import decide
from podiumd.core.run import commands as c
from podiumd.core.run.state import RunState
from podiumd.runtime.context import Context
from podiumd.runtime.errors import NotFound, Refused
from podiumd.runtime.fact_reader import load
from podiumd.runtime.run.actor import store_facts
from podiumd.runtime.run.registry import Runs
from podiumd.store.errors import RunForgotten
from podiumd.wire import views
from podiumd.wire.runs import Run

UNREADABLE = "A part of this run's log cannot be read, so it keeps its name."
"""Refusal of a title where the state could not be folded: its row, which may be whole, would be
written over with less."""


class Titles:
    """Gives titles, one at a time: a run that is over has no actor to decide for it."""

    def __init__(self, context: Context, runs: Runs, changed: Callable[..., None]) -> None:
        self._context = context
        self._runs = runs
        self._changed = changed
        self._lock = trio.Lock()

    async def give(self, run_id: str, title: str) -> Run:
        """Call a run by a title; an empty one: by its recipe and task.

        Raises ``NotFound``, ``Refused`` where the run is over and cannot be read.
        """
        async with self._lock:
            run_id = await self._runs.resolve(run_id)
            actor = self._runs.get(run_id)
            if actor is not None:
                state = await actor.submit(c.Rename(**actor.stamp(), title=title))
            else:
                state = await self._rename_ended(run_id, title)
        self._changed(*state.sessions)
        return views.run_view(state)

    async def _rename_ended(self, run_id: str, title: str) -> RunState:
        loaded = await load(self._context.store, run_id)
        if loaded is None or loaded.damaged or loaded.state.exit is None:
            raise Refused(UNREADABLE)
        clock = self._context.clock
        command = c.Rename(at=clock.now(), mono=clock.mono(), title=title)
        facts = decide(loaded.state, command)
        if not facts:
            return loaded.state
        try:
            state, _ = await store_facts(self._context, loaded.state, facts, command.at)
        except RunForgotten as error:
            raise NotFound("run", run_id) from error
        return state
