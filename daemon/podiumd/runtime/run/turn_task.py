"""The task of one turn: started or taken up, followed, stopped when it must be, reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, AsyncExitStack, suppress

import msgspec
import trio
from msgspec.structs import replace

from podiumd.core.analysis.check_agents import Described
from podiumd.core.decide.own_questions import answers_of
from podiumd.core.ids import derive
from podiumd.core.reply.report import CUT_OFF, TurnReport
from podiumd.core.run import commands as c
from podiumd.core.run.facts import TurnIntended, TurnStarted
from podiumd.core.run.state import ActiveTurn, PendingSteer, Question, RunState
from podiumd.drivers import base
from podiumd.drivers.base import Decision, Output
from podiumd.drivers.fifo import LineTooLong
from podiumd.runtime.agent_capabilities import remember
from podiumd.runtime.locks.lockfile import LeaseError
from podiumd.runtime.run.actor import RunActor
from podiumd.runtime.run.naming import hold_name, refusal
from podiumd.runtime.run.observe import round_mark, session_mark, tree_mark
from podiumd.runtime.run.pending_turn import lost_words, pending_turn, with_report
from podiumd.runtime.run.tool_calls import ToolCalls, end_leftovers
from podiumd.runtime.run.turn_request import served_tools, turn_request
from podiumd.store.errors import StoreError
from podiumd.tools.failpoints import failpoint
from podiumd.wire.event import Event
from podiumd.wire.events import TurnOutput


class Outputs:
    """Builder of the events of one turn.

    A daemon that takes a turn up reports the part that goes on from its beginning, so that counting
    begins anew with it: the same words have the same place.
    """

    def __init__(self, run_id: str, intent: TurnIntended) -> None:
        self._run_id = run_id
        self._intent = intent
        self._told: Counter[tuple[str, str]] = Counter()

    def event(self, output: Output, at: str) -> Event:
        """Build the event of an output. Its place is the characters of its kind before it."""
        counted = output.part, output.kind
        place = self._told[counted]
        self._told[counted] += len(output.delta)
        told = TurnOutput(
            turn_id=self._intent.turn_id,
            uuid=output.uuid,
            kind=output.kind,
            delta=output.delta,
            part=output.part,
            at=place,
        )
        return Event(told, at=at, run_id=self._run_id, session_id=self._intent.session_id)


DENIED = "The person you work for said no."


def decision_for(question: Question) -> Decision:
    """Build the decision for an answered approval, or an answered question of the agent's own."""
    note = question.note or ""
    if question.kind == "approval":
        if question.answer == "deny":
            return Decision(behavior="deny", message=note or DENIED, note=note)
        return Decision(behavior="allow", rule=question.allowed)
    if question.tool == "ExitPlanMode":
        if question.answer == "yes":
            return Decision(behavior="allow")
        said = note or (question.answer if question.answer != "no" else "")
        return Decision(behavior="deny", message=said or DENIED)
    asked = question.input or {}
    answers = answers_of(asked, question.answer or "", note)
    return Decision(behavior="allow", updated_input={**asked, "answers": answers})


def _waits(state: RunState, steer: str) -> bool:
    """Return whether an agent is still to say that it has a message, or that it is too late."""
    return any(one.uuid == steer and not one.queued and one.turn_id for one in state.steers)


WORDS_SECONDS = 2.0
"""Seconds that the words of a refusal may take to the agent before the refusal itself is sent."""

STOP_SECONDS = 2.0
"""Seconds that an agent may take to stop when asked, before it is ended."""

_TAKEN_UP = frozenset({"started", "completed"})


class TurnTask:
    """The turn that the run's state says is active."""

    def __init__(self, actor: RunActor, settled: base.TurnStatus | None) -> None:
        assert actor.state.turn is not None
        self._actor = actor
        self._active: ActiveTurn = actor.state.turn
        self._settled = settled
        self._handle: base.Turn | None = None
        self._asked: set[str] = set()
        self._delivered: set[str] = set()
        self._overdue: str | None = None
        self._refused = ""
        self._began: float | None = None
        self._asked_before = 0.0  # in the daemon's earlier lives
        self._stopped = False
        self._outputs = Outputs(actor.run_id, self.intent)

    @property
    def intent(self) -> TurnIntended:
        return self._active.intent

    @property
    def live(self) -> bool:
        """Return whether the agent can be addressed."""
        return self._handle is not None

    def open_to(self, request_id: str | None) -> bool:
        """Return whether the agent of this turn has asked this question, as far as is known."""
        return self.live and request_id in self._asked

    async def leave(self) -> None:
        """Let the agent work on without the daemon, which stops."""
        if self._handle is not None:
            await self._handle.leave()

    async def run(self) -> None:
        """Run the turn to its end and report it; nothing is reported of a turn that was left."""
        settled = self._settled
        await end_leftovers(self._actor, self.intent)
        if settled is not None and settled.report is not None:
            if settled.agent_session_id is not None:
                await self._on_event(base.SessionNamed(settled.agent_session_id))
            await self._report(settled.report, settled.delivered_steers)
            return
        handle: base.Turn | None = None
        async with AsyncExitStack() as stack:
            try:
                handle = await self._enter(stack, settled)
            except LookupError:
                if settled is None:  # a fault of the driver's own
                    raise
                await self._settle_again()
                return
            if handle is not None:
                await self._attend(handle)
        if handle is None:
            await self._report(self._not_gone_on_with(), ())
        elif not self._actor.leaving:
            self._take_leases_back()
            await self._report(handle.report, tuple(self._delivered))

    def _not_gone_on_with(self) -> TurnReport:
        """Build the end of a turn that is stopped before it begins, or before it goes on."""
        actor = self._actor
        loop = actor.state.turn.loop if actor.state.turn is not None else self._active.loop
        return TurnReport(
            kind="interrupted",
            detail="stopped before it began" if loop.settings is None else "stopped on request",
            cost_usd=loop.cost_usd,
            files=loop.files,
            prompt_recorded=loop.settings is not None,
        )

    async def _attend(self, handle: base.Turn) -> None:
        self._handle = handle
        self._began = self._actor.context.clock.mono()
        self._asked_before = self._asked_seconds(self._actor.state, self._began)
        self._actor.poke()
        try:
            await self._follow(handle)
        finally:
            self._handle = None

    async def _settle_again(self) -> None:
        """Settle the turn again: the agent that was to be taken up has ended meanwhile."""
        driver = self._actor.context.agents[self.intent.agent].driver
        settled = await driver.inspect(pending_turn(self._actor, self._settled))
        self._take_leases_back()
        lease = self._actor.session_locks.lease(self.intent.session_id)
        if settled.state == "absent" and lease is not None and not lease.held:
            settled = replace(settled, state="broken", detail="somebody else has its session")
        self._settled = None if settled.state == "absent" else with_report(settled)
        await self.run()

    def _take_leases_back(self) -> None:
        """Take back the leases of session and tree: the agent that inherited them is gone."""
        session_locks = self._actor.session_locks
        for lease in (
            session_locks.lease(self.intent.session_id),
            session_locks.tree(self._actor.run_id),
        ):
            if lease is not None and lease.held:
                lease.heir_ended()
            elif lease is not None:  # taken up: the agent alone had it
                with suppress(LeaseError, OSError):  # before the next turn it is tried again
                    lease.reclaim()

    async def _enter(
        self, stack: AsyncExitStack, settled: base.TurnStatus | None
    ) -> base.Turn | None:
        """Start the turn, or take it up; ``None`` when it was stopped before it began.

        As long as the disk is too full to start it, it waits. Raises ``LookupError`` where what
        was to be taken up is gone.
        """
        actor = self._actor
        agent = actor.context.agents[self.intent.agent]
        if settled is not None and settled.state == "running":
            taken_up = agent.driver.reattach(pending_turn(actor, settled))
            return await stack.enter_async_context(taken_up)
        while not (actor.state.stopping or actor.state.exit is not None):
            try:
                request = turn_request(actor, agent, self._active)
                return await stack.enter_async_context(agent.driver.turn(request))
            except OSError as error:
                await actor.wait_for_room(error)
        return None

    async def _follow(self, handle: base.Turn) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._stop_in_time, handle, nursery.cancel_scope)
            calls = ToolCalls(self._actor, self.intent, handle)
            nursery.start_soon(self._serve, calls)
            try:
                with self._reachable(calls):
                    async for event in handle:
                        if isinstance(event, base.ToolCalled | base.HookRaised):
                            await calls.take(event)
                        elif not self._refused:
                            await self._on_event(event)
            except BaseException as error:
                # Cancelled, and not by us: the whole daemon goes, and the agent is let go, not
                # ended. Asked here, inside: a nursery raises groups. The nursery itself may be
                # cancelled by then, if its other task noticed it first.
                if not isinstance(error, Exception) and not self._stopped:
                    with trio.move_on_after(STOP_SECONDS, shield=True):
                        await handle.leave()
                raise
            nursery.cancel_scope.cancel()

    def _reachable(self, calls: ToolCalls) -> AbstractContextManager[None]:
        """Open the turn's tools to any holder of its token, from outside of the daemon."""
        context, intent = self._actor.context, self.intent
        served = served_tools(self._actor.state, intent)
        return context.tool_access.open(context.turn_directory(intent.turn_id), served, calls.use)

    async def _serve(self, calls: ToolCalls) -> None:
        try:
            await calls.serve()
        except Exception:
            self._stopped = True  # a fault of ours: the agent is ended, not let go
            raise

    async def _on_event(self, event: base.TurnEvent) -> None:
        actor, intent = self._actor, self.intent
        now = actor.stamp()
        if isinstance(event, base.Output):
            told = self._outputs.event(event, now["at"])
            actor.context.bus.publish_transient(actor.run_id, told, again=event.again)
        elif isinstance(event, base.Started):
            turn = actor.state.turn
            # One that was never begun is begun once more, by another process.
            if turn is not None and not _is_same(turn.started, event):
                started = c.ReportTurnStart(
                    **now,
                    turn_id=intent.turn_id,
                    pid=event.pid,
                    proc_start=event.proc_start,
                    group=event.group,
                )
                await actor.report(started)
        elif isinstance(event, base.SessionNamed):
            await self._on_name(event.agent_session_id)
        elif isinstance(event, base.AgentDescribed):
            await self._on_description(event.about)
        elif isinstance(event, base.ApprovalRequested):
            self._asked.add(event.request_id)
            asked = c.ReportApproval(
                **now,
                turn_id=intent.turn_id,
                request_id=event.request_id,
                tool=event.tool,
                input=event.input,
                tool_use_id=event.tool_use_id,
                description=event.description,
                asks_person=event.asks_person,
            )
            failpoint("turn.approval-raised")
            await actor.report(asked)
            actor.poke()
        elif isinstance(event, base.ApprovalWithdrawn):
            gone = c.ReportApprovalGone(**now, request_id=event.request_id)
            await actor.report(gone)
        elif isinstance(event, base.PromptState):
            await self._on_prompt_state(event)

    async def _on_name(self, name: str) -> None:
        actor, intent = self._actor, self.intent
        self._refused = await refusal(actor, intent, name)
        if self._refused:
            actor.poke()
            return
        failpoint("turn.session-named")
        named = c.ReportSessionName(
            **actor.stamp(),
            turn_id=intent.turn_id,
            agent_session_id=name,
            family=actor.context.family(intent.agent),
        )
        await actor.report(named)
        failpoint("turn.session-stored")
        hold_name(actor.context, actor.session_locks, intent.session_id, name)

    async def _on_description(self, about: Described) -> None:
        """Keep what the agent says of itself; it is advice, and no turn ends for want of it."""
        context, agent = self._actor.context, self.intent.agent
        try:
            await remember(context.store, agent, about)
        except StoreError as error:
            context.log("Agent's description not kept", "warning", agent=agent, reason=str(error))

    async def _on_prompt_state(self, event: base.PromptState) -> None:
        if not any(steer.uuid == event.uuid for steer in self._actor.state.steers):
            return
        if event.state in _TAKEN_UP:
            self._delivered.add(event.uuid)
            state = "delivered"
        elif event.state == "queued":
            state = "queued"
        else:
            state = "too_late"
        effect = f"steer:{event.uuid}"
        await self._actor.report(
            c.ReportEffectEnd(**self._actor.stamp(), effect=effect, state=state)
        )

    def deliver(self, question: Question) -> Callable[[], Awaitable[None]]:
        """Return the task that hands a person's answer to the agent; harmless to do again."""

        async def task() -> None:
            handle = self._handle
            if handle is None or question.request_id is None:
                return
            await self._words_first(question)
            if not await handle.answer(question.request_id, decision_for(question)):
                self._asked.discard(question.request_id)  # too late: kept, it may serve once more
                return
            name = f"answer:{question.question_id}"
            await self._actor.report(
                c.ReportEffectEnd(**self._actor.stamp(), effect=name, state="delivered")
            )

        return task

    async def _words_first(self, question: Question) -> None:
        """Have the words of a refusal sent as a message before it, where it has none itself.

        The agent goes on as soon as it has the answer: a message after that may be too late.
        """
        driver = self._actor.context.agents[self.intent.agent].driver
        refused = question.kind == "approval" and question.answer == "deny"
        if not (question.note and refused) or driver.capabilities.deny_words:
            return
        name = derive(self._actor.run_id, question.question_id, "note")
        with suppress(c.CommandRefused):  # too many wait already
            steer = c.Steer(**self._actor.stamp(), uuid=name, text=question.note)
            await self._actor.report(steer)
        with trio.move_on_after(WORDS_SECONDS):
            await self._actor.until(lambda state: not _waits(state, name))

    def hand_over(self, steer: PendingSteer) -> Callable[[], Awaitable[None]]:
        """Return the task that hands a steer to the agent; harmless to do again."""

        async def task() -> None:
            handle = self._handle
            try:
                taken = handle is not None and await handle.steer(steer.text, steer.uuid)
            except LineTooLong:  # escaped in JSON it is longer than it looked: the next prompt
                taken = False
            await self._actor.report(
                c.ReportEffectEnd(
                    **self._actor.stamp(),
                    effect=f"steer:{steer.uuid}",
                    state="queued" if taken else "too_late",
                )
            )

        return task

    async def _stop_in_time(self, handle: base.Turn, following: trio.CancelScope) -> None:
        """Interrupt the turn on request or over its time; then stop following.

        So leaving the driver's context ends what is left.
        """
        await self._until_stop()
        with trio.move_on_after(STOP_SECONDS):
            await handle.interrupt()
            await trio.sleep_forever()
        self._stopped = True
        following.cancel()

    async def _until_stop(self) -> None:
        actor = self._actor
        while True:
            state = actor.state
            if self._refused:
                return
            if state.exit is not None or (
                state.stop is not None and state.stop.how in ("interrupt", "cancel")
            ):
                return
            left = self._seconds_left(state)
            if left is not None and left <= 0:
                self._overdue = "the turn took longer than it may"
                return
            asking = state.turn is not None and state.turn.asking_since is not None
            with trio.move_on_after(float("inf") if left is None or asking else left):
                await actor.changed()

    def _seconds_left(self, state: RunState) -> float | None:
        """Active seconds left to the turn; the time of open questions does not count."""
        turn = state.turn
        # An agent without a process of its own is never seen to start.
        started = turn.started if turn is not None else None
        began = started.mono if started else self._began
        if turn is None or began is None:
            return None
        agent = self._actor.context.agents[self.intent.agent]
        limits = [self.intent.timeout_seconds or agent.turn_timeout_seconds]
        if self.intent.seconds_left is not None:
            limits.append(self.intent.seconds_left)
        now = self._actor.context.clock.mono()
        asked = self._asked_seconds(state, now) - (0.0 if started else self._asked_before)
        return min(limits) - (now - began - asked)

    @staticmethod
    def _asked_seconds(state: RunState, now: float) -> float:
        """Compute the seconds waited for answers; a clock may have begun anew meanwhile."""
        turn = state.turn
        if turn is None:
            return 0.0
        since = now if turn.asking_since is None else turn.asking_since
        return turn.asked_seconds + max(0.0, now - since)

    def _seconds_unwatched(self) -> float:
        """Return how long ago the agent last wrote.

        A turn that ended while no daemon looked is not charged for the daemon's absence.
        """
        directory = self._actor.context.turn_directory(self.intent.turn_id)
        try:
            last = max(path.stat().st_mtime for path in directory.iterdir())
        except (OSError, ValueError):
            return 0.0
        return max(0.0, self._actor.context.clock.wall().timestamp() - last)

    async def _report(self, report: TurnReport, delivered: tuple[str, ...]) -> None:
        if self._overdue is not None and report.kind == "interrupted":
            report = replace(report, kind="timeout", detail=self._overdue)
        if self._refused:
            report = replace(report, kind="failed", detail=self._refused)
        cut_off = report.kind in CUT_OFF
        look = tree_mark if cut_off else round_mark
        tree = await look(self._actor.state)
        lost = await lost_words(self._actor) if cut_off else {}
        failpoint("turn.before-ended")
        now = self._actor.stamp()
        for uuid, text in lost.items():
            again = c.ReportEffectEnd(**now, effect=f"steer:{uuid}", state="lost", detail=text)
            await self._actor.report(again)
        if self._settled is not None and self._settled.state != "running":
            now["mono"] -= self._seconds_unwatched()
        over = c.ReportTurnEnd(
            **now,
            turn_id=self.intent.turn_id,
            report=report,
            delivered=tuple(uuid for uuid in delivered if uuid not in lost),
            tree=tree,
        )
        agent = self._actor.context.agents.get(self.intent.agent)
        left = report.mark
        if left is None and agent is not None and report.prompt_recorded:
            left = session_mark(self._actor, agent)
        mark = None if left is None else (self.intent.session_id, msgspec.json.encode(left))
        await self._actor.report(over, mark=mark)


def _is_same(known: TurnStarted | None, event: base.Started) -> bool:
    """Return whether it is the process that is stored."""
    return known is not None and (known.pid, known.proc_start) == (event.pid, event.proc_start)
