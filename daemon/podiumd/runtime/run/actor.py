"""The actor of a run: decides, stores, and does what is next, one thing at a time.

``submit`` is the only way to change a run: decide, append durably, fold, and wake all waiters.
``drive`` looks at the state after each change and starts what it calls for. Work that it starts
ends in a command again. Both go on after a full disk: the command fails, the run stays as it was.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple, Protocol, TypedDict

import msgspec
import trio

from podiumd.core.decide.workflow import decide
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.fold import evolve
from podiumd.core.run.state import RunState
from podiumd.runtime.context import Context
from podiumd.runtime.locks.session_locks import SessionLocks
from podiumd.runtime.run import fact_log, snapshots
from podiumd.runtime.run_rows import row_of
from podiumd.runtime.worktrees.tree import look_in_time
from podiumd.store.errors import StoreError
from podiumd.store.records import NewFact
from podiumd.tools.failpoints import failpoint
from podiumd.tools.files.disk import is_full

RETRY_SECONDS = 2.0
"""How long the daemon waits before it stores again what a full disk refused."""

_AFTER: dict[str, str] = {
    "action.ended": "action.after-ended",
    "action.intended": "action.after-intended",
    "claim.made": "claim.after-made",
    "reply.received": "reply.after-received",
    "run.started": "run.after-started",
    "tool.used": "tool.after-recorded",
    "turn.intended": "turn.after-intended",
    "turn.started": "turn.after-started",
    "turn.ended": "turn.after-ended",
    "message.received": "say.after-stored",
    "outcome.parsed": "outcome.after-parsed",
    "question.opened": "gate.after-opened",
    "question.closed": "question.after-closed",
    "edge.taken": "edge.after-taken",
    "stop.intended": "cancel.after-intended",
    "run.ended": "run.after-ended",
}


class DueWork(Protocol):
    """The work for a run beside its actor: started here, reported back as commands."""

    @property
    def idle(self) -> bool:
        """Return whether no work of the run is going on."""
        ...

    def start_due(self, nursery: trio.Nursery) -> None:
        """Start what the state calls for and is not under way."""
        ...


class Stamp(TypedDict):
    """The time of a command."""

    at: str
    mono: float


class NextStep(NamedTuple):
    """Decision to take at once after another command, in the same transaction; ``seen`` is of a run
    in that session."""

    session_id: str
    seen: c.Proceed


class RunActor:
    """A run that has not ended, or has just ended.

    ``last_seq`` is the number of the last event that this daemon has stored of it, 0 if there is
    none. ``closing``: the daemon stops, nothing new is begun. ``leaving``: and what goes on is let
    go, its end is for the next daemon to find.
    """

    def __init__(
        self, context: Context, session_locks: SessionLocks, state: RunState, last_seq: int = 0
    ) -> None:
        self.context = context
        self.session_locks = session_locks
        self.state = state
        self.last_seq = last_seq
        self.done = trio.Event()
        self.closing = False
        self.leaving = False
        self._lock = trio.Lock()
        self._changed = trio.Event()

    @property
    def run_id(self) -> str:
        return self.state.start.run_id

    @property
    def to_stop(self) -> bool:
        """Return whether no work may begin any more, or running work is to be stopped."""
        return self.state.exit is not None or self.state.stopping

    def poke(self) -> None:
        """Look again: something outside the run has changed."""
        self._changed.set()
        self._changed = trio.Event()

    async def changed(self) -> None:
        """Wait for the next change of the run or of what it waits for."""
        await self._changed.wait()

    async def until(self, condition: Callable[[RunState], bool]) -> RunState:
        """Wait until the state fulfils a condition."""
        while not condition(self.state):
            await self._changed.wait()
        return self.state

    async def settled(self) -> RunState:
        """Return the state that includes all that was sent of the run.

        Events are handed out, and can be read from the store, a moment before they count.
        """
        async with self._lock:
            return self.state

    async def submit(
        self,
        command: c.AnyCommand,
        *,
        mark: tuple[str, bytes] | None = None,
        token: tuple[str, str, str] | None = None,
        following: NextStep | None = None,
        as_of: int | None = None,
    ) -> RunState:
        """Decide and store, with what is ``following``; returns the state after it.

        Nothing is decided where the run has gone on since event ``as_of``: what was seen then,
        and whose turn it was in the session, may have changed. It is looked at anew.

        Raises:
            CommandRefused: the command does not fit.
            StoreError: nothing was stored, the run is as before.
        """
        async with self._lock:
            if as_of not in (None, self.last_seq):
                return self.state
            facts = decide(self.state, command)
            found = self.state.found
            if (
                facts
                and isinstance(facts[-1], f.RunEnded)
                and found is not None
                and found.repository
            ):
                # Decided once more it comes to the same, and has with it what the run leaves.
                awaited = facts[-1].exit.class_ == "cancelled"
                look = await look_in_time(self.state, awaited=awaited)
                command = msgspec.structs.replace(command, parting=look)
                facts = decide(self.state, command)
            if facts and following is not None:
                facts += self._after(facts, command.at, following)
            if facts:
                self.state, self.last_seq = await store_facts(
                    self.context, self.state, facts, command.at, mark=mark, token=token
                )
                self.poke()
                snapshot = snapshots.after(self.state, facts, command.at)
                if snapshot is not None:
                    self.context.bus.publish_transient(self.run_id, snapshot)
            return self.state

    def _after(self, facts: list[f.AnyFact], at: str, following: NextStep) -> list[f.AnyFact]:
        """Return the facts that follow where the run goes on as was seen.

        An end is decided by itself, with a look at what the run leaves.
        """
        after = folded(self.state, facts, at)
        if after.session_id != following.session_id:
            return []
        more = decide(after, following.seen)
        return [] if any(isinstance(one, f.RunEnded) for one in more) else more

    async def report(
        self,
        command: c.AnyCommand,
        *,
        mark: tuple[str, bytes] | None = None,
        following: NextStep | None = None,
        as_of: int | None = None,
    ) -> RunState:
        """Submit what has happened; it cannot be refused, so a full disk is waited out."""
        while True:
            try:
                return await self.submit(command, mark=mark, following=following, as_of=as_of)
            except StoreError as error:
                self.context.log("Store failed", "error", run_id=self.run_id, error=str(error))
                await trio.sleep(RETRY_SECONDS)

    async def wait_for_room(self, error: OSError) -> None:
        """Wait a moment, or until the run changes, before what a full disk refused is tried again.

        Raises ``error`` itself where it says anything else.
        """
        if not is_full(error):
            raise error
        self.context.log("Disk full", "error", run_id=self.run_id, error=str(error))
        with trio.move_on_after(RETRY_SECONDS):
            await self.changed()

    def stamp(self) -> Stamp:
        """Return the present, for a command."""
        return {"at": self.context.clock.now(), "mono": self.context.clock.mono()}

    async def fault(self, where: str, trace: str) -> None:
        """End the run after a failure of the daemon; the log has the whole story."""
        log_id = uuid.uuid4().hex[:12]
        self.context.log(
            "Run fault", "error", run_id=self.run_id, effect=where, log_id=log_id, trace=trace
        )
        await self.report(c.ReportFault(**self.stamp(), detail=f"log entry {log_id}"))

    async def stopped(self) -> RunState:
        """Wait until no turn of the run is going on, and no command that is to be stopped; of a
        run that has ended, that all is free."""
        await self.until(
            lambda state: state.exit is not None or (state.turn is None and not state.stopping)
        )
        if self.state.exit is not None:
            await self.done.wait()
        return self.state

    async def interrupt(self) -> None:
        """Interrupt the run and wait until what it had going on is gone."""
        with suppress(c.CommandRefused):  # it has just ended
            await self.report(c.Interrupt(**self.stamp()))
        await self.stopped()

    async def drive(self, effects: DueWork) -> None:
        """Do what the state calls for until the run has ended and nothing of it lives."""
        async with trio.open_nursery() as nursery:
            while not (self.state.exit is not None and effects.idle):
                waiting = self._changed
                effects.start_due(nursery)
                await waiting.wait()
        self.end()

    def end(self) -> None:
        """Give back all that the run has, and wake all that wait for its end."""
        self.context.agent_limiter.release(self.run_id)
        self.session_locks.release(self.run_id)
        self.done.set()
        self.poke()


def folded(state: RunState, facts: Iterable[f.AnyFact], at: str) -> RunState:
    """Return the state as it will be once these facts are stored."""
    for fact in facts:
        state = evolve(state, fact, at)
    return state


async def store_facts(
    context: Context,
    state: RunState | None,
    facts: list[f.AnyFact],
    at: str,
    *,
    mark: tuple[str, bytes] | None = None,
    token: tuple[str, str, str] | None = None,
) -> tuple[RunState, int]:
    """Store the facts of one decision in one transaction and fold them; returns the number of the
    last event too.

    Cancellation waits for the disk: what is decided is stored, or not, but never half known.
    """
    begins, sessions = state is None, []
    for fact in facts:
        state = evolve(state, fact, at)
        sessions.append(state.session_id)
    assert state is not None
    new = [
        NewFact(f.type_of(fact), f.VERSION, at, session, f.encode(fact))
        for fact, session in zip(facts, sessions, strict=True)
    ]
    if state.exit is not None:
        failpoint("run.before-ended")
    with trio.CancelScope(shield=True):
        row = row_of(state)
        stored = await context.store.append(row, new, token=token, mark=mark, begins=begins)
    context.names.learn(state)
    for fact in facts:
        fact_log.write(context.log, state, fact)
        if (name := _AFTER.get(f.type_of(fact))) is not None:
            failpoint(name)
    return state, stored[-1].seq
