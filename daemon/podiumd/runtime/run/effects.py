"""Do what a run is to have going on outside of itself: one task each.

The state says what is due (``core.decide.due``; ``start_due`` is called after every change); a task
acts and comes back with a command. A task that fails ends its run as ``internal-error``, never the
daemon.
"""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from functools import partial
from typing import assert_never

import msgspec
import trio

from podiumd.core.decide.due import Begin, Cancel, Deliver, Due, GoOn, HandOver, Rest, Work, due
from podiumd.core.run import commands as c
from podiumd.core.run.state import RunState
from podiumd.drivers.base import TurnStatus
from podiumd.runtime.run.actor import RunActor
from podiumd.runtime.run.command_runner import end_leftovers, run_next
from podiumd.runtime.run.observe import preconditions, turn_after
from podiumd.runtime.run.spools import Spools
from podiumd.runtime.run.turn_task import TurnTask
from podiumd.runtime.worktrees.unfinished import marker_of
from podiumd.tools.failpoints import failpoint
from podiumd.tools.git import queries as git
from podiumd.tools.git.worktree_remains import clear
from podiumd.tools.process.processes import sweep

CLOCK_SECONDS = 60.0
"""Longest time in seconds to rely on a timer for a time of day: the machine may sleep meanwhile,
and its clock may be set."""


class Effects:
    """Run the tasks of one run. ``settled``: what recovery found of the turn that was pending."""

    def __init__(self, actor: RunActor, settled: TurnStatus | None = None) -> None:
        self._actor = actor
        self._settled = settled
        self._running: set[str] = set()
        self._command_scope: trio.CancelScope | None = None
        self._next_scope: trio.CancelScope | None = None
        self.turn: TurnTask | None = None
        self._spools = Spools(actor.context)

    @property
    def idle(self) -> bool:
        """Return whether nothing of the run is going on."""
        return not self._running

    def start_due(self, nursery: trio.Nursery) -> None:
        """Start what the state calls for and is not under way."""
        actor = self._actor
        effects = due(actor.state, self._running, closing=actor.closing, leaving=actor.leaving)
        for effect in effects:
            self._carry_out(nursery, effect)

    def _carry_out(self, nursery: trio.Nursery, effect: Due) -> None:
        actor = self._actor
        match effect:
            case Cancel(what):
                scope = self._command_scope if what == "command" else self._next_scope
                if scope is not None:
                    scope.cancel()
            case Begin("parked"):
                self._start(nursery, "parked", self._wait_for_reset)
            case Begin("stop"):
                self._start(nursery, "stop", self._stand_still)
            case Begin():
                self._start_turn(nursery)
            case Deliver(question):
                if self.turn is not None and self.turn.open_to(question.request_id):
                    name = f"answer:{question.question_id}"
                    self._start(nursery, name, self.turn.deliver(question))
            case HandOver(steer):
                if self.turn is not None and self.turn.live:
                    self._start(nursery, f"steer:{steer.uuid}", self.turn.hand_over(steer))
            case GoOn(work):
                if self._may_go_on(actor.state):
                    self._start_next(nursery, work)
            case Rest():
                actor.context.agent_limiter.release(actor.run_id)
                actor.session_locks.leave_lines(actor.run_id)
            case _:
                assert_never(effect)

    def _may_go_on(self, state: RunState) -> bool:
        actor, agent_limiter = self._actor, self._actor.context.agent_limiter
        if actor.session_locks.user(state.session_id) not in (None, actor.run_id):
            # An aside goes first, or this is a prompt in the queue; the desk calls.
            agent_limiter.release(actor.run_id)
            actor.session_locks.wait_in_line(state.session_id, actor.run_id, actor.poke)
            return False
        waited = agent_limiter.in_line(actor.run_id)
        if agent_limiter.try_acquire(actor.run_id, actor.poke):
            return True
        if not waited:
            actor.poke()  # the client that started the run wants to know that it is in the queue
        return False

    def _start_turn(self, nursery: trio.Nursery) -> None:
        self._actor.context.agent_limiter.try_acquire(
            self._actor.run_id, self._actor.poke, force=True
        )
        self.turn = TurnTask(self._actor, self._settled)
        self._settled = None
        self._start(nursery, "turn", self._run_turn)

    async def _run_turn(self) -> None:
        assert self.turn is not None
        intent = self.turn.intent
        try:
            await self.turn.run()
        except Exception:
            # After any failure no agent works on for a run that ends by it.
            with trio.CancelScope(shield=True):  # bounded: a sweep takes at most 8 s
                await sweep(intent.turn_id)
            raise
        finally:
            self.turn = None
        active = self._actor.state.turn
        if active is None or active.intent.turn_id != intent.turn_id:  # else it was left
            await self._spools.ended(self._actor.state, intent)

    def _start_next(self, nursery: trio.Nursery, work: Work) -> None:
        match work:
            case "worktree":
                self._start(nursery, "worktree", partial(self._until_over, self._make_worktree))
            case "command":
                self._start(nursery, "command", self._command)
            case "proceed":
                self._start(nursery, "proceed", partial(self._until_over, self._proceed))
            case _:
                assert_never(work)

    def _start(self, nursery: trio.Nursery, name: str, task: Callable[[], Awaitable[None]]) -> None:
        if name not in self._running:
            self._running.add(name)
            nursery.start_soon(self._guarded, name, task)

    async def _guarded(self, name: str, task: Callable[[], Awaitable[None]]) -> None:
        try:
            await task()
        except Exception:  # noqa: BLE001 - the edge of a run: its fault must not reach others
            await self._actor.fault(name, traceback.format_exc())
        # Not where all is being torn down: what was going on must not be begun once more.
        self._running.discard(name)
        self._actor.poke()

    async def _until_over(self, task: Callable[[], Awaitable[None]]) -> None:
        with trio.CancelScope() as scope:
            self._next_scope = scope
            try:
                await task()
            finally:
                self._next_scope = None

    async def _proceed(self) -> None:
        actor = self._actor
        begun = actor.last_seq
        seen = await preconditions(actor)
        if not actor.state.ready:  # it has changed since this was called for
            return
        if seen is None:  # another was quicker: it is in line for its session, without a slot
            actor.context.agent_limiter.release(actor.run_id)
            await actor.changed()
            return
        if actor.state.next is not None and actor.state.next.kind == "look":
            failpoint("claim.after-look")
        following = await turn_after(actor, seen)
        # Facts are in the order of their times.
        seen = msgspec.structs.replace(seen, **actor.stamp())
        await actor.report(seen, following=following, as_of=begun)

    async def _command(self) -> None:
        actor = self._actor
        with trio.CancelScope() as scope:
            self._command_scope = scope
            try:
                if actor.state.at_work and actor.state.stop is None:
                    await run_next(actor)
            finally:
                self._command_scope = None
        if scope.cancelled_caught:
            await self._tell_stopped()

    async def _stand_still(self) -> None:
        """Report a command or check as stopped that does not run: the daemon was started anew
        meanwhile, or the run is in line."""
        await end_leftovers(self._actor)
        await self._tell_stopped()

    async def _tell_stopped(self) -> None:
        await self._actor.report(c.ReportWorkStopped(**self._actor.stamp()))

    async def _make_worktree(self) -> None:
        actor, plan = self._actor, self._actor.state.start.worktree
        if plan is None or not actor.state.ready:
            return
        failpoint("worktree.before-make")
        marker = marker_of(actor.run_id)
        await sweep(marker)  # the git of a daemon that was killed may be at it still
        try:
            kept = await clear(plan.repository, plan.directory, plan.branch)
            if kept:
                raise git.GitError(f"'{plan.directory}' was left half made, and {kept}")
            await git.add_worktree(plan.repository, plan.directory, plan.branch, marker=marker)
            state, detail = "made", plan.directory
        except (git.GitError, OSError) as error:
            state, detail = "failed", str(error)
        failpoint("worktree.after-make")
        await actor.report(
            c.ReportEffectEnd(**actor.stamp(), effect="worktree", state=state, detail=detail)
        )

    async def _wait_for_reset(self) -> None:
        """Sleep until the agent's usage limit is over, or the run goes on for another reason."""
        actor, until = self._actor, self._actor.state.parked_until
        while until is not None and actor.state.parked_until == until:
            seconds = actor.context.clock.seconds_until(until)
            if seconds <= 0:
                await actor.report(c.ReportLimitReset(**actor.stamp()))
                return
            with trio.move_on_after(min(seconds, CLOCK_SECONDS)):
                await actor.changed()
