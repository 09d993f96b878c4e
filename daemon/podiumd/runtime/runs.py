"""The runs of this daemon that are alive: started, recovered, left, found by id."""

from __future__ import annotations

import shutil

import trio

from podiumd.core import commands as c
from podiumd.core.state import RunState
from podiumd.core.workflow import decide
from podiumd.runtime import recovery
from podiumd.runtime.actor import RunActor, store_facts
from podiumd.runtime.context import Context
from podiumd.runtime.desk import Desk
from podiumd.runtime.effects import Effects
from podiumd.runtime.errors import NotFound
from podiumd.tools import git

LEAVE_SECONDS = 5.0


class Runs:
    """The actors, each a task in ``nursery`` that ends with its run."""

    def __init__(self, context: Context, desk: Desk, nursery: trio.Nursery) -> None:
        self._context = context
        self._desk = desk
        self._nursery = nursery
        self._actors: dict[str, RunActor] = {}
        self._effects: dict[str, Effects] = {}
        self.taken_up = 0

    @property
    def live(self) -> list[RunActor]:
        return list(self._actors.values())

    def get(self, run_id: str) -> RunActor | None:
        """The actor of a run that is alive."""
        return self._actors.get(run_id)

    async def resolve(self, run_id: str) -> str:
        """The full id for an id or a unique beginning of one.

        Raises:
            NotFound: none, or more than one.
        """
        if run_id in self._actors:
            return run_id
        rows = await self._context.store.runs_with_prefix(run_id, 2)
        exact = [row.run_id for row in rows if row.run_id == run_id]
        if exact or len(rows) == 1:
            return exact[0] if exact else rows[0].run_id
        raise NotFound("run", run_id)

    async def start(self, command: c.Start, token: tuple[str, str, str] | None = None) -> RunActor:
        """Store a new run and set it going."""
        facts = decide(None, command)
        state = await store_facts(self._context, None, facts, command.at, token=token)
        return self._launch(state, "")

    async def recover(self) -> None:
        """Take up every run that has not ended. Returns when each has its sessions again; what
        became of their turns is found out in their own tasks."""
        found = []
        for row in await self._context.store.open_runs():
            loaded = await recovery.load(self._context.store, row.run_id)
            if loaded is None:
                self._context.log("Run unreadable", "error", run_id=row.run_id)
            elif loaded.state.exit is None:
                found.append(loaded)
        # An aside borrows from its run again, so that run comes first.
        found.sort(key=lambda loaded: loaded.state.start.aside_of is not None)
        for loaded in found:
            await self._take_back(loaded.state)
            self._launch(loaded.state, loaded.damaged, recovered=True)

    async def _take_back(self, state: RunState) -> None:
        """Take the leases of a run again; one that a living agent holds is adopted."""
        start, turn = state.start, state.turn
        session_id = turn.intent.session_id if turn is not None else state.session_id
        turn_id = turn.intent.turn_id if turn is not None else None
        lent = start.aside_of is not None and self._desk.lend(session_id, start.run_id)
        if not lent and (turn is not None or state.begun):
            self._desk.take_back(session_id, start.run_id, start.kind, turn_id)
        if state.main_session != session_id:
            self._desk.take_session(state.main_session, start.run_id, start.kind)
        if start.kind == "recipe":
            where = start.working_directory
            try:
                tree = await git.top_level(where)
            except git.GitError:  # the directory has gone meanwhile
                tree = None
            self._desk.take_tree(tree or where, start.run_id)

    def _launch(self, state: RunState, damaged: str, *, recovered: bool = False) -> RunActor:
        actor = RunActor(self._context, self._desk, state)
        self._actors[actor.run_id] = actor
        self._nursery.start_soon(self._live, actor, damaged, recovered)
        return actor

    async def _live(self, actor: RunActor, damaged: str, recovered: bool) -> None:
        try:
            settled = None
            if recovered:
                settled = await recovery.settle(actor, self._count_taken_up)
                await recovery.ask_about_damage(actor, damaged)
            effects = self._effects[actor.run_id] = Effects(actor, settled)
            await actor.drive(effects)
            await trio.to_thread.run_sync(self._remove_files, actor)
        finally:
            self._effects.pop(actor.run_id, None)
            self._actors.pop(actor.run_id, None)

    def _count_taken_up(self) -> None:
        self.taken_up += 1

    def _remove_files(self, actor: RunActor) -> None:
        """The spools of a run that is over; after an error they stay, for whoever looks into it."""
        ending = actor.state.exit
        if ending is None or ending.category == "error":
            return
        for turn_id in actor.turn_ids:
            shutil.rmtree(self._context.turn_directory(turn_id), ignore_errors=True)

    async def leave(self) -> None:
        """The daemon stops: agents that can work on without it are let go, nothing is begun."""
        with trio.move_on_after(LEAVE_SECONDS, shield=True):
            async with trio.open_nursery() as nursery:
                for actor in self.live:
                    actor.leaving = True
                    effects = self._effects.get(actor.run_id)
                    if effects is not None and effects.turn is not None:
                        nursery.start_soon(effects.turn.leave)
        self._desk.forget()
