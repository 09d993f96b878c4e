"""The runs of this daemon that are alive: started, recovered, left, found by id."""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import trio
from msgspec import UNSET
from msgspec.structs import replace

from podiumd.core.decide.workflow import decide
from podiumd.core.run import commands as c
from podiumd.core.run.state import RunState
from podiumd.runtime.context import Context
from podiumd.runtime.errors import Busy, NotFound
from podiumd.runtime.fact_reader import load, summary, turn_ids
from podiumd.runtime.locks.lockfile import LeaseError
from podiumd.runtime.locks.session_locks import SessionLocks
from podiumd.runtime.run import recovery
from podiumd.runtime.run.actor import RunActor, store_facts
from podiumd.runtime.run.effects import Effects
from podiumd.runtime.run.leftovers import end_unfollowed
from podiumd.runtime.run.naming import hold_name
from podiumd.runtime.run.observe import TREE_SECONDS, tree_of
from podiumd.runtime.run.queueing import Queue
from podiumd.runtime.worktrees.unfinished import clear_after, clear_earlier
from podiumd.tools.files.disk import is_full
from podiumd.tools.git import queries as git
from podiumd.tools.git.honest_index import looked_before
from podiumd.wire.runs import Run

LEAVE_SECONDS = 5.0

_Got = TypeVar("_Got")


class Runs:
    """The actors, each a task in ``nursery`` that ends with its run."""

    def __init__(
        self, context: Context, session_locks: SessionLocks, nursery: trio.Nursery
    ) -> None:
        self._context = context
        self._session_locks = session_locks
        self._nursery = nursery
        self._actors: dict[str, RunActor] = {}
        self._effects: dict[str, Effects] = {}
        self._late: set[str] = set()
        self._faulty: dict[str, str] = {}  # what went wrong as each was taken up
        self._closing = False
        self.taken_up = 0
        self.queue = Queue(
            context, session_locks, lambda: (one.state for one in self._actors.values())
        )

    @property
    def live(self) -> list[RunActor]:
        return list(self._actors.values())

    def in_use(self) -> tuple[list[str], list[str]]:
        """List the turns and the runs that are open."""
        states = [actor.state for actor in self._actors.values()]
        turns = [state.turn.intent.turn_id for state in states if state.turn is not None]
        return turns, [state.start.run_id for state in states]

    def kind_of(self, run_id: str) -> str | None:
        """``recipe`` or ``prompt``, of a run that is alive."""
        actor = self._actors.get(run_id)
        return None if actor is None else actor.state.start.kind

    def get(self, run_id: str) -> RunActor | None:
        """Return the actor of a run that is alive."""
        return self._actors.get(run_id)

    async def let_end(self, run_id: str) -> bool:
        """Wait until a run that has ended is gone, with all that it held.

        Returns false at once for one that goes on. Its end is sent a moment before: a client that
        then asks for the same is not refused.
        """
        actor = self._actors.get(run_id)
        if actor is not None and (await actor.settled()).exit is None:
            return False
        while actor is not None and self._actors.get(run_id) is actor:
            await actor.changed()
        return True

    async def when_free(self, take: Callable[[], Awaitable[_Got]]) -> _Got:
        """Take what a run may hold, once more after each that has ended and still held it.

        Raises ``Busy``: one that goes on has it, or none of ours.
        """
        while True:
            await trio.lowlevel.checkpoint()
            try:
                return await take()
            except Busy as error:
                refused = error
            actor = self._actors.get(refused.holder.id or "")
            if actor is None or (await actor.settled()).exit is None:
                raise refused
            while not actor.done.is_set() and self._actors.get(actor.run_id) is actor:
                await actor.changed()

    async def resolve(self, run_id: str) -> str:
        """Resolve an id or a unique beginning of one to the full id.

        Raises:
            NotFound: none, or more than one.
        """
        if run_id in self._actors:
            return run_id
        if not run_id:
            raise NotFound("run", run_id)
        rows = await self._context.store.runs_with_prefix(run_id, 2)
        exact = [row.run_id for row in rows if row.run_id == run_id]
        if exact or len(rows) == 1:
            return exact[0] if exact else rows[0].run_id
        if rows:
            words = f"More than one run's id begins with '{run_id}'; give more of it."
            raise NotFound("run", run_id, words)
        raise NotFound("run", run_id)

    async def listed(self, active: bool | None, limit: int, before: str | None) -> list[Run]:
        """List the public runs of recipes, newest first, those that began before one.

        Raises:
            NotFound: there is no run ``before``.
        """
        store = self._context.store
        before = None if before is None else await self.resolve(before)
        rows = await store.runs(active=active, limit=limit, kind="recipe", before=before)
        found = [await summary(store, row) for row in rows]
        return [replace(run, ctx=UNSET) for run in found if run is not None]

    async def state(self, run_id: str) -> RunState:
        """Return the state of a run, alive or over. Raises ``NotFound``."""
        run_id = await self.resolve(run_id)
        actor = self._actors.get(run_id)
        loaded = None if actor is not None else await load(self._context.store, run_id)
        if actor is None and loaded is None:
            raise NotFound("run", run_id)
        return actor.state if actor is not None else loaded.state  # type: ignore[union-attr]

    async def start(self, command: c.Start, token: tuple[str, str, str] | None = None) -> RunActor:
        """Store a new run and set it going. Raises ``Overloaded`` where too many wait already."""
        with self.queue.place(command.run_id):
            facts = decide(None, command)
            state, last_seq = await store_facts(self._context, None, facts, command.at, token=token)
            return self._launch(state, "", last_seq)

    async def recover(self) -> None:
        """Take up every run that has not ended. Returns when each has its sessions again; what
        became of their turns is found out in their own tasks."""
        found = []
        for row in reversed(await self._context.store.open_runs()):
            loaded = await load(self._context.store, row.run_id)
            if loaded is None:
                self._context.log("Run unreadable", "error", run_id=row.run_id)
            elif loaded.state.exit is None:
                found.append(loaded)
        turns = [loaded.state.turn for loaded in found]
        known = {turn.intent.turn_id for turn in turns if turn is not None}
        await end_unfollowed(self._context, known)  # before leases that they hold are asked for
        # The older come first in every queue, and an aside borrows from its run again. Nothing
        # goes on before each has its own: a prompt in the queue would take what a run still needs.
        found.sort(key=lambda loaded: loaded.state.start.aside_of is not None)
        await self._say_looked(loaded.state for loaded in found)
        for loaded in found:
            await self._restore(loaded.state)
        in_use = {loaded.state.start.run_id for loaded in found}
        self._nursery.start_soon(clear_earlier, self._context, in_use)
        actors = [self._launch(one.state, one.damaged, recovered=True) for one in found]
        # A run at work already keeps its slot, however quick another is now.
        actors.sort(key=lambda actor: actor.state.turn is None)
        for actor in actors:
            if actor.state.turn is not None or actor.state.ready:
                force = actor.state.turn is not None
                self._context.agent_limiter.try_acquire(actor.run_id, actor.poke, force=force)

    async def _say_looked(self, states: Iterable[RunState]) -> None:
        """Count the tree of each run of an earlier daemon as looked at from its beginning.

        So changes that forged times would hide since are found all the same. All at once: one that
        hangs holds no other.
        """
        with trio.move_on_after(TREE_SECONDS):
            async with trio.open_nursery() as nursery:
                for state in states:
                    nursery.start_soon(self._looked, state)

    async def _looked(self, state: RunState) -> None:
        try:
            began = datetime.fromisoformat(state.started_at).timestamp()
            await looked_before(state.start.working_directory, int(began * 1e9))
        except Exception:  # noqa: BLE001 - the edge of a run
            self._faulty[state.start.run_id] = traceback.format_exc()

    async def _restore(self, state: RunState) -> None:
        """Take up what a run holds. What goes wrong with that is this run's fault alone: it gets it
        in its own task, and the daemon starts."""
        try:
            self._context.names.adopt(state)
            await self._take_back(state)
        except Exception as error:  # noqa: BLE001 - the edge of a run
            if isinstance(error, OSError) and is_full(error):
                self._late.add(state.start.run_id)
            else:
                self._faulty[state.start.run_id] = traceback.format_exc()

    async def _take_back(self, state: RunState) -> None:
        """Take the leases of a run again; one that a living agent holds is adopted.

        A lock file that cannot be used is this run's trouble alone: before anything of it goes on
        the lease is asked for again, and a person is notified. Raises ``OSError`` where the disk is
        full.
        """
        try:
            await self._take_leases(state)
        except LeaseError as error:
            run_id = state.start.run_id
            self._context.log("Lease not taken back", "error", run_id=run_id, reason=str(error))

    async def _take_leases(self, state: RunState) -> None:
        start, turn = state.start, state.turn
        session_id = turn.intent.session_id if turn is not None else state.session_id
        turn_id = turn.intent.turn_id if turn is not None else None
        lent = start.aside_of is not None and self._session_locks.lend(session_id, start.run_id)
        if not lent and self._session_locks.owner(session_id) is None:
            self._session_locks.reacquire_session(session_id, start.run_id, start.kind, turn_id)
        elif not lent and self._session_locks.owner(session_id) != start.run_id:
            self._session_locks.wait_in_line(session_id, start.run_id, lambda: None)
        if state.main_session != session_id:
            self._session_locks.acquire_session(state.main_session, start.run_id, start.kind)
        # A daemon that died as it had stored the agent's id of a session has not locked that.
        for held in {session_id, state.main_session}:
            if self._session_locks.user(held) == start.run_id:
                own_id = state.agent_sessions.get(held)
                hold_name(self._context, self._session_locks, held, own_id)
        if start.kind == "recipe":
            # A tree that git cannot name, or that another has taken, is dealt with before anything
            # of the run goes on: it is tried again then.
            with suppress(git.GitError):
                self._session_locks.reacquire_tree(await tree_of(start), start.run_id)

    async def _take_back_late(self, actor: RunActor) -> None:
        """Take the leases that a full disk refused at the start, before anything goes on."""
        while actor.run_id in self._late and not actor.to_stop:
            try:
                await self._take_back(actor.state)
                self._late.remove(actor.run_id)
            except OSError as error:
                await actor.wait_for_room(error)
        self._late.discard(actor.run_id)

    def _launch(
        self, state: RunState, damaged: str, last_seq: int = 0, *, recovered: bool = False
    ) -> RunActor:
        actor = RunActor(self._context, self._session_locks, state, last_seq)
        actor.closing = self._closing
        self._actors[actor.run_id] = actor
        self._nursery.start_soon(self._live, actor, damaged, recovered)
        return actor

    async def _live(self, actor: RunActor, damaged: str, recovered: bool) -> None:
        try:
            settled = None
            if actor.run_id in self._faulty:
                return await self._end_faulty(actor, self._faulty.pop(actor.run_id))
            if recovered:
                await self._take_back_late(actor)
                settled = await recovery.settle(actor, self._count_taken_up, damaged)
                await recovery.ask_about_damage(actor, damaged)
                await recovery.ask_about_command(actor)
            effects = self._effects[actor.run_id] = Effects(actor, settled)
            await actor.drive(effects)
            await self._remove_files(actor)
            if actor.state.exit is not None and actor.state.start.worktree is not None:
                await clear_after(self._context, actor.run_id, actor.state.start.worktree)
        except Exception:  # noqa: BLE001 - the edge of a run: its fault must not reach others
            await self._end_faulty(actor, traceback.format_exc())
        finally:
            self._effects.pop(actor.run_id, None)
            self._actors.pop(actor.run_id, None)
            actor.poke()

    async def _end_faulty(self, actor: RunActor, trace: str) -> None:
        try:
            await actor.fault("run", trace)
        except Exception:  # noqa: BLE001 - not even its end can be stored: the next start sees to it
            self._context.log(
                "Run lost", "error", run_id=actor.run_id, trace=traceback.format_exc()
            )
        actor.end()

    def _count_taken_up(self) -> None:
        self.taken_up += 1

    async def _remove_files(self, actor: RunActor) -> None:
        """Remove the spools of a run that is over; after an error they stay for inspection."""
        ending = actor.state.exit
        if ending is None or ending.category == "error":
            return
        ids = await turn_ids(self._context.store, actor.run_id)
        directories = [self._context.turn_directory(turn_id) for turn_id in ids]
        await trio.to_thread.run_sync(_remove, directories)

    def close(self) -> None:
        """Begin nothing new; what is started from now on is for the next daemon to begin."""
        self._closing = True
        for actor in self.live:
            actor.closing = True

    async def stop_turns(self) -> None:
        """Interrupt every run that is at work, and return when what it had going on is gone.

        Recipes are paused by that, prompts ended. What is in the queue stays there. How long to
        wait is the caller's.
        """
        self.close()
        async with trio.open_nursery() as nursery:
            for actor in self.live:
                if actor.state.turn is not None or actor.state.status == "running":
                    nursery.start_soon(actor.interrupt)

    async def leave(self) -> None:
        """Let go of agents that can work on without the daemon, which stops; nothing is begun."""
        self.close()
        with trio.move_on_after(LEAVE_SECONDS, shield=True):
            async with trio.open_nursery() as nursery:
                for actor in self.live:
                    actor.leaving = True
                    effects = self._effects.get(actor.run_id)
                    if effects is not None and effects.turn is not None:
                        nursery.start_soon(effects.turn.leave)
        self._session_locks.forget()


def _remove(directories: Iterable[Path]) -> None:
    for directory in directories:
        trio.from_thread.check_cancelled()
        shutil.rmtree(directory, ignore_errors=True)
