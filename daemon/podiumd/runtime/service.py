"""The service: what every edge (RPC, gateway) may ask of the running daemon, thin over its parts.

Refusals are ``podiumd.runtime.errors.PodiumError``.
"""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
from typing import assert_never

import msgspec
import trio
from msgspec.structs import replace

from podiumd.core.run import commands as c
from podiumd.core.run.history import HistoryPlace
from podiumd.core.run.state import RunState
from podiumd.runtime.api import OpenQuestion, SendPrompt, StartRun, Told
from podiumd.runtime.context import Context
from podiumd.runtime.errors import (
    AlreadyEnded,
    Busy,
    InvalidParameter,
    NotFound,
    OrchestrationDisabled,
    Overloaded,
    PodiumError,
    full_disk_refused,
)
from podiumd.runtime.events.access import EventAccess
from podiumd.runtime.events.feeds import GlobalFeed, RunFeed
from podiumd.runtime.events.history import read_history
from podiumd.runtime.fact_reader import summary, whole, whole_of
from podiumd.runtime.idempotency import Tokens
from podiumd.runtime.intake.prompt import Prompting, Sent, ended_turn, steer
from podiumd.runtime.intake.start_run import Starter
from podiumd.runtime.locks.session_locks import SessionLocks
from podiumd.runtime.maintenance.storage import Storage
from podiumd.runtime.maintenance.worktree_care import WorktreeCare
from podiumd.runtime.open_questions import find_question, open_questions
from podiumd.runtime.public_sessions import ChangedSessions, PublicSessions
from podiumd.runtime.recipes.analysis import RecipeTools
from podiumd.runtime.recipes.catalogue import Catalogue
from podiumd.runtime.recipes.queries import Recipes
from podiumd.runtime.run.actor import RunActor
from podiumd.runtime.run.leftovers import tidy_after_commands
from podiumd.runtime.run.queueing import AGAIN_MS
from podiumd.runtime.run.registry import Runs
from podiumd.runtime.sessions.listing import SessionList, all_locks
from podiumd.runtime.sessions.resolve import Sessions
from podiumd.runtime.titles import Titles
from podiumd.runtime.worktrees.diff import run_diff
from podiumd.sessions.log.open_log import MessageFeed
from podiumd.sessions.transcripts import Transcripts
from podiumd.store.errors import StoreError
from podiumd.wire import views
from podiumd.wire.daemon import Activity, Configured, Orchestration
from podiumd.wire.event import Event
from podiumd.wire.questions import Question
from podiumd.wire.runs import Diff, Run, RunHistory, Steered, Turn, WholeRun
from podiumd.wire.sessions import Lock, MessagesPage, Session, SessionsPage, Went

BEGIN_SECONDS = 1.0
"""How long a start waits for the run's first fact, so that its answer says more than "queued"."""

MOST_LISTED = 50
"""Prompts that have not ended which the status lists, the oldest; all are counted."""

ANSWER_BYTES = 64 * 1024
"""Bytes of an answer and its note: both go to the agent in one line, once for each of its
questions."""

COMPACT = "/compact"
"""Prompt that the agent takes as the order to sum its session up."""

_ORCHESTRATION = "orchestration.enabled"


class Service:
    """The functions that the edges call."""

    def __init__(
        self,
        context: Context,
        session_locks: SessionLocks,
        runs: Runs,
        catalogue: Catalogue,
        transcripts: Transcripts,
        *,
        default_agent: str,
        orchestration_enabled: bool,
    ) -> None:
        self._context = context
        self._session_locks = session_locks
        self._runs = runs
        self.recipes = Recipes(context, catalogue, lambda: self._enabled)
        self.recipe_tools = RecipeTools(context, catalogue, default_agent)
        self._enabled = orchestration_enabled
        self._tokens = Tokens(context)
        known = PublicSessions(transcripts, context.store, context.family)
        self._sessions = sessions = Sessions(context, known)
        self._session_list = SessionList(context, known, sessions, runs)
        self._starter = Starter(context, session_locks, catalogue, sessions, default_agent)
        self._events = EventAccess(context, runs)
        self.worktrees = WorktreeCare(context, session_locks, runs)
        self.storage = Storage(context, known, runs)
        self._titles = Titles(context, runs, transcripts.changed)
        self._prompting = Prompting(context, session_locks, runs, sessions, default_agent)

    # -- the daemon --------------------------------------------------------------------------

    async def status(self) -> Activity:
        live = [actor for actor in self._runs.live if actor.state.exit is None]
        waiting = [actor.state for actor in live if actor.state.waits_for_words]
        recipes = [actor.state for actor in live if actor.state.start.kind == "recipe"]
        prompts = [actor.state for actor in live if actor.state.start.kind == "prompt"]
        prompts.sort(key=lambda state: (state.started_at, state.start.run_id))
        return Activity(
            sessions=await self._session_list.count(),
            runs_active=len(recipes),
            runs_paused=sum(state.paused for state in recipes),
            prompts_active=len(prompts),
            prompts_waiting=sum(not state.begun for state in prompts),
            prompts=tuple(map(views.prompt_view, prompts[:MOST_LISTED])),
            questions_open=sum(len(actor.state.open_questions) for actor in live),
            talks_waiting=tuple(views.waiting_conversation_view(state) for state in waiting),
            orchestration=Orchestration(enabled=self._enabled),
            taken_up=self._runs.taken_up,
        )

    async def restore(self) -> None:
        """Read what outlives a restart, then take up every open run."""
        await tidy_after_commands(self._context)
        stored = await self._context.store.setting(_ORCHESTRATION)
        if stored is not None:
            self._enabled = bool(msgspec.json.decode(stored))
        await self._runs.recover()
        with suppress(StoreError):
            await self.worktrees.recover()
        with suppress(StoreError):  # a full disk is no reason not to start
            await self._end_recipes_if_off()

    async def configure(self, orchestration_enabled: bool | None) -> Configured:
        if orchestration_enabled is not None:
            value = msgspec.json.encode(orchestration_enabled)
            await self._context.store.set_setting(_ORCHESTRATION, value)
            self._enabled = orchestration_enabled
        await self._end_recipes_if_off()
        return Configured(orchestration=Orchestration(enabled=self._enabled))

    async def _end_recipes_if_off(self) -> None:
        for actor in self._runs.live if not self._enabled else ():
            if actor.state.start.kind == "recipe":
                with suppress(AlreadyEnded):
                    await self._submit(
                        actor, c.Cancel(**actor.stamp(), reason="orchestration-disabled")
                    )

    async def stop_turns(self) -> None:
        """Interrupt every running turn and wait until its agent is gone (``podium down``)."""
        await self._runs.stop_turns()

    # -- runs --------------------------------------------------------------------------------

    async def start_run(self, request: StartRun) -> Run:
        if not self._enabled:
            raise OrchestrationDisabled
        async with self._tokens.using("runs.start", request.client_token, request) as used:
            if used.run_id is not None:
                return await self.get_run(used.run_id)
            if request.session_id is not None:
                session_id = await self._sessions.resolve(request.session_id)
                request = replace(request, session_id=session_id)
            with full_disk_refused():
                start = await self._runs.when_free(lambda: self._starter.prepare(request))
            try:
                actor = await self._runs.start(start, used.token)
            except BaseException:
                self._session_locks.release(start.run_id)
                raise
        in_line = self._context.agent_limiter.in_line
        with trio.move_on_after(BEGIN_SECONDS):
            await actor.until(lambda state: state.begun or in_line(actor.run_id))
        return views.run_view(actor.state)

    async def get_run(self, run_id: str, *, settled: bool = False) -> Run:
        """Return the run. Raises ``NotFound``.

        ``settled``: with all that has been sent of it, even if the disk is slow.
        """
        run_id = await self._runs.resolve(run_id)
        actor = self._runs.get(run_id)
        if actor is not None:
            return views.run_view(await actor.settled() if settled else actor.state)
        row = await self._context.store.run(run_id)
        found = await summary(self._context.store, row) if row is not None else None
        if found is None:
            raise NotFound("run", run_id)
        return found

    async def standing_run(self, run_id: str) -> tuple[Run, int]:
        """Return the run with all that its events have reported, and the number of the last of
        them.

        An event up to that number is older. Raises ``NotFound``.
        """
        actor = self._runs.get(await self._runs.resolve(run_id))
        if actor is None:  # it is over: nothing newer comes
            return await self.get_run(run_id), sys.maxsize
        state = await actor.settled()
        return views.run_view(state), actor.last_seq

    async def whole_run(self, run_id: str) -> WholeRun:
        """Return the run with what grows with its steps, its history and its sessions.

        Raises ``NotFound``.
        """
        run_id = await self._runs.resolve(run_id)
        store, actor = self._context.store, self._runs.get(run_id)
        if actor is not None:
            return await whole_of(store, actor.state)
        row = await store.run(run_id)
        found = await whole(store, row) if row is not None else None
        if found is None:
            raise NotFound("run", run_id)
        return found

    async def run_history(self, run_id: str, after: HistoryPlace | None) -> RunHistory:
        """Return a page of what a run did, visit by visit. Raises ``NotFound``."""
        run_id = await self._runs.resolve(run_id)
        now = self._context.clock.now()
        return await read_history(self._context.store, run_id, after, now)

    async def run_diff(self, run_id: str, patch: bool) -> Diff:
        """Return what a run has changed since it began; with ``patch`` line by line."""
        return await run_diff(await self._runs.state(run_id), patch)

    async def list_runs(
        self, active: bool | None, limit: int, before: str | None = None
    ) -> list[Run]:
        return await self._runs.listed(active, limit, before)

    async def run_events(self, run_id: str, after_seq: int, limit: int) -> tuple[list[Event], int]:
        """Return a page of stored events and the next ``after_seq``."""
        return await self._events.page(run_id, after_seq, limit)

    async def run_told(self, run_id: str, after_seq: int, limit: int) -> Told:
        """Return a page of a run's events, with the ``turn.output`` in between, as far as they are
        kept; the number of the last of them comes third."""
        return await self._events.told(run_id, after_seq, limit)

    def follow_run(
        self, run_id: str, after_seq: int, told: int | None = None
    ) -> AbstractAsyncContextManager[RunFeed]:
        """Follow every event of a run after ``after_seq``, stored ones first, then live, without
        hole or repeat; ``turn.output`` after number ``told``, or from now on. Entering raises
        ``NotFound``."""
        return self._events.run(run_id, after_seq, told)

    async def run_gone(self, run_id: str) -> None:
        """Return once the run is over and holds nothing any more."""
        actor = self._runs.get(run_id)
        if actor is not None:
            await actor.done.wait()

    async def pause(self, run_id: str) -> Run:
        actor = await self._live(run_id)
        return views.run_view(await self._submit(actor, c.Pause(**actor.stamp())))

    async def resume(self, run_id: str) -> Run:
        actor = await self._live(run_id)
        return views.run_view(await self._submit(actor, c.Resume(**actor.stamp())))

    async def rename(self, run_id: str, title: str) -> Run:
        """Call a run by a title, also one that is over. See ``Titles.give``."""
        return await self._titles.give(run_id, title)

    async def cancel(self, run_id: str) -> Run:
        actor = await self._live(run_id)
        await self._submit(actor, c.Cancel(**actor.stamp()))
        await actor.done.wait()
        return views.run_view(actor.state)

    async def interrupt(self, run_id: str) -> Run:
        actor = await self._live(run_id)
        await self._submit(actor, c.Interrupt(**actor.stamp()))
        return views.run_view(await actor.stopped())

    async def steer(self, run_id: str, text: str, seconds: float | None = None) -> Steered:
        """Hand words to a run.

        Where the agent has not confirmed them within ``seconds``, they are queued too: they are
        stored.
        """
        actor = await self._live(run_id)
        try:
            state = await steer(actor, text, seconds=seconds)
        except c.CommandRefused as refused:
            raise _refusal(refused) from refused
        return Steered(state="too_late" if state == "too_late" else "queued")

    # -- questions ---------------------------------------------------------------------------

    async def questions(self) -> list[Question]:
        return [
            views.question_view(actor.state, question)
            for actor in self._runs.live
            for question in actor.state.open_questions
        ]

    def open_questions(self) -> list[OpenQuestion]:
        """Return what is asked just now, with its risks; the oldest first."""
        return open_questions(self._runs.live)

    async def answer(self, question_id: str, answer: str, note: str | None, by: str) -> Question:
        if len((answer + (note or "")).encode("utf-8", "replace")) > ANSWER_BYTES:
            words = f"An answer and its note may be {ANSWER_BYTES} bytes long; attach a file."
            raise InvalidParameter("answer", words)
        actor, name = await find_question(self._context.store, self._runs.live, question_id)
        command = c.Answer(**actor.stamp(), question_id=name, answer=answer, note=note, by=by)
        state = await self._submit(actor, command)
        question = state.questions[name]
        if note and question.kind == "approval" and answer != "deny":
            with suppress(PodiumError):  # an approval takes no words: they go as a message
                await self.steer(actor.run_id, note)
        return views.question_view(state, question)

    # -- sessions ----------------------------------------------------------------------------

    async def prompt(self, request: SendPrompt) -> Went:
        """Send a prompt; returns where it went."""
        return (await self._send(request, wait=False)).went

    async def prompt_and_wait(self, request: SendPrompt) -> Went | Turn:
        """Send a prompt; returns its turn once that is over, or where it went if it has none of
        its own."""
        return await self._prompting.outcome(await self._send(request, wait=True))

    async def _send(self, request: SendPrompt, *, wait: bool) -> Sent:
        if request.session_id is not None:
            session_id = await self._sessions.resolve(request.session_id)
            request = replace(request, session_id=session_id)
        async with self._tokens.using("sessions.prompt", request.client_token, request) as used:
            if used.run_id is not None and used.token is not None:
                sent = await self._prompting.sent_before(
                    used.run_id, request.session_id or "", used.token, wait=wait
                )
            else:
                try:
                    with full_disk_refused():
                        sent = await self._prompting.send(request, used.token)
                except c.CommandRefused as refused:
                    raise _refusal(refused) from refused
        return sent

    async def ended_turn(self, run_id: str, words: str | None = None) -> Turn:
        """Return the turn of a plain prompt, once it is over; of a run with conversations the one
        that had these ``words`` (their uuid). Raises ``NotFound``."""
        if words is not None:
            return await self._prompting.answered(run_id, words)
        actor = self._runs.get(run_id)
        if actor is None:
            return await self._prompting.past(run_id)
        return await ended_turn(actor)

    async def sessions_list(
        self, working_directory: str | None, limit: int, before: str | None
    ) -> SessionsPage:
        return await self._session_list.page(working_directory, limit, before)

    def sessions_changed(self) -> AbstractContextManager[ChangedSessions]:
        """Listen to which sessions change from now on."""
        return self._session_list.listen()

    async def sessions_get(self, session_id: str) -> Session:
        return await self._session_list.get(session_id)

    async def knows_session(self, session_id: str) -> bool:
        """Return whether a run or an agent has a session of this whole id, or is about to."""
        try:
            await self._sessions.find(session_id)
        except NotFound:
            return False
        except Busy:
            return True
        return True

    async def sessions_messages(
        self, session_id: str, after_seq: int | None, limit: int
    ) -> MessagesPage:
        return await self._session_list.messages(session_id, after_seq, limit)

    def follow_session(
        self, session_id: str, after_seq: int | None, limit: int
    ) -> AbstractAsyncContextManager[MessageFeed]:
        """Return a page of messages, and follow every message after it. Entering raises
        ``NotFound``."""
        return self._session_list.follow(session_id, after_seq, limit)

    async def sessions_forget(self, session_id: str) -> None:
        await self._session_list.forget(session_id)

    async def sessions_compact(self, session_id: str) -> None:
        session = await self._sessions.find(await self._sessions.resolve(session_id))
        agent = self._context.agents.get(session.agent)
        if agent is not None and agent.driver.capabilities.compacts:
            return
        turn = await self.prompt_and_wait(SendPrompt(text=COMPACT, session_id=session_id))
        if not isinstance(turn, Turn):
            return
        failed = turn.exit is not None and turn.exit.category == "error"
        if failed or turn.text:  # summing up has no words of its own
            why = turn.text or (turn.exit.message if turn.exit is not None else None)
            raise PodiumError(f"The session was not summed up: {why}")

    async def interrupt_session(self, session_id: str) -> None:
        session_id = await self._sessions.resolve(session_id)
        user = self._session_locks.user(session_id)
        if user is not None and self._runs.get(user) is not None:
            await self.interrupt(user)

    async def locks(self) -> list[Lock]:
        return await all_locks(self._context)

    # -- events ------------------------------------------------------------------------------

    def subscribe(
        self, types: frozenset[str] | None, after: int | None
    ) -> AbstractAsyncContextManager[GlobalFeed]:
        """Follow every event of the daemon after global position ``after`` (``None``: from now)."""
        return self._events.all(types, after)

    async def ended_recipes(self, after: int, until: int, limit: int) -> list[Event]:
        """Return the newest ``run.ended`` events of recipes with ``after < pos <= until``, the
        oldest of them first."""
        return await self._events.ended_recipes(after, until, limit)

    # -- helpers -----------------------------------------------------------------------------

    async def _live(self, run_id: str) -> RunActor:
        run_id = await self._runs.resolve(run_id)
        actor = self._runs.get(run_id)
        if actor is None:
            run = await self.get_run(run_id)
            reason = run.exit.reason if run.exit is not None else None
            raise AlreadyEnded(f"The run has ended: {reason}.", id=run_id, by=reason)
        return actor

    async def _submit(self, actor: RunActor, command: c.AnyCommand) -> RunState:
        try:
            return await actor.submit(command)
        except c.CommandRefused as refused:
            raise _refusal(refused) from refused


def _refusal(refused: c.CommandRefused) -> PodiumError:
    match refused.why:
        case c.WrongValue(parameter):
            return InvalidParameter(parameter, refused.message)
        case c.UnknownQuestion(question_id):
            return NotFound("question", question_id)
        case c.NoRoom():
            return Overloaded(refused.message, AGAIN_MS)
        case c.RunOver(id, by) | c.QuestionOver(id, by):
            return AlreadyEnded(refused.message, id=id, by=by)
        case _:
            assert_never(refused.why)
