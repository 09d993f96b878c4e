"""The service API of the running daemon (``podiumd.runtime.api.Service``), thin over its parts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import trio

from podiumd.core import commands as c
from podiumd.core import outcome, views
from podiumd.core.recipe import OTHER
from podiumd.core.views import Json
from podiumd.runtime.actor import RunActor
from podiumd.runtime.api import SendPrompt, StartRun
from podiumd.runtime.bus import Output
from podiumd.runtime.catalogue import Catalogue
from podiumd.runtime.context import Context
from podiumd.runtime.desk import Desk
from podiumd.runtime.errors import (
    AlreadyEnded,
    InvalidParameter,
    NotFound,
    OrchestrationDisabled,
    PodiumError,
)
from podiumd.runtime.feeds import GlobalFeed, RunFeed, run_page, to_event
from podiumd.runtime.foreign import all_foreign
from podiumd.runtime.housekeeping import tidy
from podiumd.runtime.loading import summary
from podiumd.runtime.prompting import Prompting, ended_turn, steer, where_it_went
from podiumd.runtime.questions import find_question
from podiumd.runtime.runs import Runs
from podiumd.runtime.sessions import Sessions
from podiumd.runtime.starting import Starter, directory, recipe_entry
from podiumd.runtime.tokens import Tokens
from podiumd.store.errors import StoreError
from podiumd.store.records import StoredFact

BEGIN_SECONDS = 1.0
"""How long a start waits for the run's first fact, so that its answer says more than "queued"."""

ANSWER_BYTES = 64 * 1024
"""Of an answer and its note: both go to the agent in one line, once for each of its questions."""

PREVIEW_CHARACTERS = 120
_ORCHESTRATION = "orchestration.enabled"


class DaemonService:
    """What the edges call."""

    def __init__(
        self,
        context: Context,
        desk: Desk,
        runs: Runs,
        catalogue: Catalogue,
        *,
        default_agent: str,
        orchestration_enabled: bool,
    ) -> None:
        self._context = context
        self._desk = desk
        self._runs = runs
        self._catalogue = catalogue
        self._enabled = orchestration_enabled
        self._tokens = Tokens(context)
        sessions = Sessions(context)
        self._starter = Starter(context, desk, catalogue, sessions, default_agent)
        self._prompting = Prompting(context, desk, runs, sessions, default_agent)

    # -- the daemon --------------------------------------------------------------------------

    def status(self) -> Json:
        live = [actor for actor in self._runs.live if actor.state.exit is None]
        return {
            "sessions": len({actor.state.session_id for actor in live}),
            "runs_active": sum(actor.state.start.kind == "recipe" for actor in live),
            "prompts_active": sum(actor.state.start.kind == "prompt" for actor in live),
            "questions_open": sum(len(actor.state.open_questions) for actor in live),
            "orchestration": {"enabled": self._enabled},
            "taken_up": self._runs.taken_up,
        }

    async def restore(self) -> None:
        """Read what outlives a restart, then take up every open run."""
        stored = await self._context.store.setting(_ORCHESTRATION)
        if stored is not None:
            self._enabled = bool(msgspec.json.decode(stored))
        await self._runs.recover()
        live = [actor.state for actor in self._runs.live]
        turns = [state.turn.intent.turn_id for state in live if state.turn is not None]
        await tidy(self._context, turns, [state.start.run_id for state in live])
        with suppress(StoreError):  # a full disk is no reason not to start
            await self._end_recipes_if_off()

    async def configure(self, orchestration_enabled: bool | None) -> Json:
        if orchestration_enabled is not None:
            value = msgspec.json.encode(orchestration_enabled)
            await self._context.store.set_setting(_ORCHESTRATION, value)
            self._enabled = orchestration_enabled
        await self._end_recipes_if_off()
        return {"orchestration": {"enabled": self._enabled}}

    async def _end_recipes_if_off(self) -> None:
        for actor in self._runs.live if not self._enabled else ():
            if actor.state.start.kind == "recipe":
                with suppress(AlreadyEnded):
                    await self._submit(actor, c.Cancel, reason="orchestration-disabled")

    async def stop_turns(self) -> None:
        await self._runs.stop_turns()

    # -- recipes -----------------------------------------------------------------------------

    async def recipes_list(self, working_directory: str | None) -> list[Json]:
        if not self._enabled:
            return []
        where = None if working_directory is None else directory(working_directory)
        entries = await trio.to_thread.run_sync(self._catalogue.list, where)
        return [
            {
                "id": entry.id,
                "label": entry.label,
                "description": entry.description,
                "source": entry.source,
                "first_prompt": _preview(entry.recipe.first_prompt if entry.recipe else ""),
                "trusted": entry.trusted,
                "shadows": list(entry.shadows),
                "ok": entry.recipe is not None,
            }
            for entry in entries
        ]

    async def recipes_get(self, recipe_id: str, working_directory: str | None) -> Json:
        entry = await recipe_entry(self._catalogue, recipe_id, working_directory)
        data: Json = msgspec.to_builtins(entry.recipe)
        return {**data, "source": entry.source, "trusted": entry.trusted}

    async def recipes_outcome(
        self, recipe_id: str, step: str, text: str, working_directory: str | None
    ) -> Json:
        entry = await recipe_entry(self._catalogue, recipe_id, working_directory)
        assert entry.recipe is not None
        found = entry.recipe.steps.get(step)
        if found is None:
            raise NotFound("step", step)
        result = outcome.from_text(text, [*found.outcomes, OTHER])
        if isinstance(result, outcome.OutcomeError):
            return {
                "ok": False,
                "error": result.error,
                "message": result.message,
                "excerpt": result.excerpt,
            }
        return {
            "ok": True,
            "outcome": result.outcome,
            "description": result.description,
            "source": result.source,
            "repaired": result.repaired,
        }

    # -- runs --------------------------------------------------------------------------------

    async def start_run(self, request: StartRun) -> Json:
        if not self._enabled:
            raise OrchestrationDisabled
        async with self._tokens.using("runs.start", request.client_token, request) as used:
            if used.run_id is not None:
                return await self.get_run(used.run_id)
            start = await self._starter.prepare(request)
            try:
                actor = await self._runs.start(start, used.token)
            except BaseException:
                self._desk.give_back(start.run_id)
                raise
        in_line = self._context.slots.in_line
        with trio.move_on_after(BEGIN_SECONDS):
            await actor.until(lambda state: state.begun or in_line(actor.run_id))
        return views.run_view(actor.state)

    async def get_run(self, run_id: str) -> Json:
        run_id = await self._runs.resolve(run_id)
        actor = self._runs.get(run_id)
        if actor is not None:
            return views.run_view(actor.state)
        row = await self._context.store.run(run_id)
        found = await summary(self._context.store, row) if row is not None else None
        if found is None:
            raise NotFound("run", run_id)
        return found

    async def list_runs(self, active: bool | None, limit: int) -> list[Json]:
        rows = await self._context.store.runs(active=active, limit=limit, kind="recipe")
        found = [await summary(self._context.store, row) for row in rows]
        return [run for run in found if run is not None]

    async def run_events(self, run_id: str, after_seq: int, limit: int) -> tuple[list[Json], int]:
        run_id = await self._runs.resolve(run_id)
        page = await run_page(self._context.store, run_id, after_seq, limit)
        events = [await to_event(self._context.store, stored) for stored in page]
        return events, page[-1].seq if page else after_seq

    @asynccontextmanager
    async def follow_run(self, run_id: str, after_seq: int) -> AsyncIterator[RunFeed]:
        run_id = await self._runs.resolve(run_id)
        with self._context.bus.follow(lambda item: item.run_id == run_id) as follower:
            yield RunFeed(self._context.store, follower, run_id, after_seq)

    async def pause(self, run_id: str) -> Json:
        return views.run_view(await self._submit(await self._live(run_id), c.Pause))

    async def resume(self, run_id: str) -> Json:
        return views.run_view(await self._submit(await self._live(run_id), c.Resume))

    async def cancel(self, run_id: str) -> Json:
        actor = await self._live(run_id)
        await self._submit(actor, c.Cancel)
        await actor.done.wait()
        return views.run_view(actor.state)

    async def interrupt(self, run_id: str) -> Json:
        actor = await self._live(run_id)
        await self._submit(actor, c.Interrupt)
        return views.run_view(await actor.agent_gone())

    async def steer(self, run_id: str, text: str) -> Json:
        actor = await self._live(run_id)
        try:
            return {"state": await steer(actor, text)}
        except c.CommandRefused as refused:
            raise _refusal(refused) from refused

    # -- questions ---------------------------------------------------------------------------

    async def questions(self) -> list[Json]:
        return [
            views.question_view(actor.state, question)
            for actor in self._runs.live
            for question in actor.state.open_questions
        ]

    async def answer(self, question_id: str, answer: str, note: str | None, by: str) -> Json:
        if len((answer + (note or "")).encode("utf-8", "replace")) > ANSWER_BYTES:
            words = f"An answer and its note may be {ANSWER_BYTES} bytes long; attach a file."
            raise InvalidParameter("answer", words)
        actor, name = await find_question(self._context.store, self._runs.live, question_id)
        state = await self._submit(
            actor, c.Answer, question_id=name, answer=answer, note=note, by=by
        )
        question = state.questions[name]
        if note and question.kind == "approval" and answer != "deny":
            with suppress(PodiumError):  # an approval takes no words: they go as a message
                await self.steer(actor.run_id, note)
        return views.question_view(state, question)

    # -- sessions ----------------------------------------------------------------------------

    async def prompt(self, request: SendPrompt) -> Json:
        async with self._tokens.using("sessions.prompt", request.client_token, request) as used:
            if used.run_id is not None:
                actor = self._runs.get(used.run_id)
                if actor is None:
                    return await self._prompting.past(used.run_id, wait=request.wait)
                went = where_it_went(actor.state)
            else:
                try:
                    went, actor = await self._prompting.send(request, used.token)
                except c.CommandRefused as refused:
                    raise _refusal(refused) from refused
        return await ended_turn(actor) if request.wait and actor is not None else went

    async def interrupt_session(self, session_id: str) -> None:
        user = self._desk.user(session_id)
        if user is not None and self._runs.get(user) is not None:
            await self.interrupt(user)

    async def locks(self) -> list[Json]:
        held = [
            {
                "session_id": holder.session_id,
                "working_directory": holder.working_directory,
                "holder": holder.public(),
            }
            for holder in await self._context.leases.all_held()
        ]
        leased = {row["session_id"] for row in held if row["session_id"] is not None}
        for agent in self._context.agents.values():
            if agent.config_directory is not None:
                held += [
                    {
                        "session_id": holder.session_id,
                        "working_directory": holder.working_directory,
                        "holder": holder.public(),
                    }
                    for holder in all_foreign(agent.config_directory)
                    if holder.session_id not in leased
                ]
        return [{key: value for key, value in row.items() if value is not None} for row in held]

    # -- events ------------------------------------------------------------------------------

    @asynccontextmanager
    async def subscribe(
        self, types: frozenset[str] | None, after: int | None
    ) -> AsyncIterator[GlobalFeed]:
        def wants(item: StoredFact | Output) -> bool:
            kind = item.type if isinstance(item, StoredFact) else "turn.output"
            return types is None or kind in types

        with self._context.bus.follow(wants) as follower:
            start = await self._context.store.last_pos() if after is None else after
            yield GlobalFeed(self._context.store, follower, types, start)

    # -- helpers -----------------------------------------------------------------------------

    async def _live(self, run_id: str) -> RunActor:
        run_id = await self._runs.resolve(run_id)
        actor = self._runs.get(run_id)
        if actor is None:
            run = await self.get_run(run_id)
            reason = (run.get("exit") or {}).get("reason")
            raise AlreadyEnded("The run has ended already.", id=run_id, by=reason)
        return actor

    async def _submit(self, actor: RunActor, kind: type[c.Command], **fields: Any) -> Any:
        at, mono = actor.stamp()
        try:
            return await actor.submit(kind(at=at, mono=mono, **fields))  # type: ignore[arg-type]
        except c.CommandRefused as refused:
            raise _refusal(refused) from refused


def _preview(text: str) -> str:
    return " ".join(text.split())[:PREVIEW_CHARACTERS]


def _refusal(refused: c.CommandRefused) -> PodiumError:
    if refused.kind == "invalid":
        return InvalidParameter(refused.data["parameter"], refused.message)
    if refused.kind == "unknown":
        return NotFound("question", refused.data["id"])
    return AlreadyEnded(refused.message, **refused.data)
