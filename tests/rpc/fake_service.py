"""A small service in memory: enough of a daemon for the edge to talk to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import trio

from podiumd.core.run import facts as f
from podiumd.core.run.history import HistoryPlace
from podiumd.core.voice.grammar import Asked
from podiumd.runtime.api import OpenQuestion, SendPrompt, StartRun, Subscription, Told
from podiumd.runtime.errors import AlreadyEnded, Busy, InvalidParameter, NotFound
from podiumd.wire.daemon import Activity, Orchestration
from podiumd.wire.event import Event
from podiumd.wire.sessions import LockHolder
from tests.plain import some

Json = Any
"""What a fake answers: the edge passes it on as it is."""


class Feed:
    """A subscription over a list of events that grows."""

    about = ""
    answer: Json

    def __init__(self, service: FakeService, start: int, wanted: Callable[[Event], bool]) -> None:
        self.start = start
        self._service = service
        self._wanted = wanted

    async def __aiter__(self) -> AsyncIterator[Event]:
        position = 0
        while True:
            if self._service.feed_fault is not None:
                raise self._service.feed_fault
            while position < len(self._service.events):
                event = self._service.events[position]
                position += 1
                if self._wanted(event):
                    yield event
                    if event.type == "run.ended":
                        return
            if self._service.closed:
                return
            await self._service.grown.park()


class FakeWorktrees:
    """Worktrees of no run at all."""

    def __init__(self, calls: list[tuple[str, Any]]) -> None:
        self._calls = calls

    async def list(self) -> Sequence[Json]:
        self._calls.append(("worktrees", None))
        return []

    async def merge(self, run_id: str) -> Json:
        self._calls.append(("merge", run_id))
        return {"merged": True}

    async def remove(self, run_id: str, *, force: bool) -> Json:
        self._calls.append(("remove", (run_id, force)))
        return {"lost": None}


class FakeStorage:
    """STATE with nothing in it."""

    def __init__(self, calls: list[tuple[str, Any]]) -> None:
        self._calls = calls

    async def usage(self) -> Json:
        self._calls.append(("usage", None))
        return {"state": "/state", "parts": [], "unused": 0}

    async def prune(
        self, what: Sequence[str] = (), *, dry_run: bool = False, vacuum: bool = False
    ) -> Json:
        self._calls.append(("prune", (list(what), dry_run, vacuum)))
        return {"dry_run": dry_run, "parts": [], "vacuumed": None}


class FakeRecipes:
    """Recipes of which a test says what there are."""

    def __init__(self, service: FakeService) -> None:
        self._service = service

    async def list(self, working_directory: str | None) -> list[Json]:
        self._service.note("recipes_list", working_directory)
        return self._service.result  # type: ignore[no-any-return]

    async def get(self, recipe_id: str, working_directory: str | None) -> Json:
        self._service.note("recipes_get", recipe_id)
        return {"id": recipe_id}

    async def outcome(
        self, recipe_id: str, step: str, text: str, working_directory: str | None
    ) -> Json:
        self._service.note("recipes_outcome", text)
        return {"ok": True}

    async def check(
        self,
        path: str | None,
        text: str | None,
        recipe_id: str | None,
        working_directory: str | None,
    ) -> Json:
        self._service.note("recipes_check", (path, text, recipe_id, working_directory))
        return {"ok": True}

    async def simulate(
        self, recipe_id: str, outcomes: Sequence[str], working_directory: str | None
    ) -> Json:
        self._service.note("recipes_simulate", (recipe_id, outcomes, working_directory))
        return {"trace": []}

    async def paths(self, recipe_id: str, working_directory: str | None) -> Json:
        self._service.note("recipes_paths", (recipe_id, working_directory))
        return {"paths": []}

    async def graph(self, recipe_id: str, format: str, working_directory: str | None) -> Json:
        self._service.note("recipes_graph", (recipe_id, format, working_directory))
        return {"text": format}

    async def rehearse(
        self, recipe_id: str, step: str, replies: Sequence[str], working_directory: str | None
    ) -> Json:
        self._service.note("recipes_rehearse", (recipe_id, step, replies, working_directory))
        return {"replies": []}

    async def trust(self, working_directory: str, digests: Mapping[str, str] | None) -> Json:
        self._service.note("recipes_trust", (working_directory, digests))
        return self._service.result


class FakeService:
    """Runs are named; every command is written down in ``calls``."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.worktrees = FakeWorktrees(self.calls)
        self.storage = FakeStorage(self.calls)
        self.recipes = self.recipe_tools = FakeRecipes(self)
        self.runs: dict[str, Json] = {"run-1": {"run_id": "run-1", "status": "running"}}
        self.events: list[Event] = []
        self.grown = trio.lowlevel.ParkingLot()
        self.gate = trio.Event()
        self.result: Any = []
        self.failure: BaseException | None = None
        self.open_feeds = 0
        self.closed = False
        self.feed_failure: Exception | None = None
        self.feed_fault: Exception | None = None

    def publish(self, kind: type[f.AnyFact], **fields: Any) -> Event:
        number = len(self.events) + 1
        fact = some(kind, **fields)
        event = Event(fact, at="", run_id="run-1", session_id="s", seq=number, pos=number)
        self.events.append(event)
        self.grown.unpark_all()
        return event

    def close(self) -> None:
        """Have every feed end once it has told everything, as a daemon that stops."""
        self.closed = True
        self.grown.unpark_all()

    def break_feeds(self, fault: Exception | None) -> None:
        """Have every open feed raise, or, without a fault, give what is no JSON."""
        self.feed_fault = fault
        if fault is None:
            self.publish(f.StepEntered, step=object())
        self.grown.unpark_all()

    def note(self, name: str, detail: Any = None) -> None:
        self.calls.append((name, detail))
        if self.failure is not None:
            raise self.failure

    def _run(self, name: str, run_id: str) -> Json:
        self.note(name, run_id)
        if run_id not in self.runs:
            raise NotFound("run", run_id)
        return self.runs[run_id]

    async def status(self) -> Json:
        return Activity(
            sessions=0,
            runs_active=len(self.runs),
            runs_paused=0,
            prompts_active=0,
            prompts_waiting=0,
            prompts=(),
            questions_open=0,
            talks_waiting=(),
            orchestration=Orchestration(enabled=True),
            taken_up=0,
        )

    async def configure(self, orchestration_enabled: bool | None) -> Json:
        self.note("configure", orchestration_enabled)
        return {"orchestration": {"enabled": orchestration_enabled is not False}}

    async def start_run(self, request: StartRun) -> Json:
        self.note("start_run", request)
        return {"run_id": "run-2"}

    async def get_run(self, run_id: str, *, settled: bool = False) -> Json:
        return self._run("get_run", run_id)

    async def whole_run(self, run_id: str) -> Json:
        return self._run("whole_run", run_id)

    async def run_history(self, run_id: str, after: HistoryPlace | None) -> Json:
        self.note("run_history", (run_id, after))
        return self.result

    async def run_diff(self, run_id: str, patch: bool) -> Json:
        return self._run("run_diff", run_id)

    async def list_runs(
        self, active: bool | None, limit: int, before: str | None = None
    ) -> list[Json]:
        self.note("list_runs", (active, limit, before))
        return list(self.runs.values())[:limit]

    async def run_events(self, run_id: str, after_seq: int, limit: int) -> tuple[list[Event], int]:
        self._run("run_events", run_id)
        page = [event for event in self.events if event.seq > after_seq][:limit]
        return page, page[-1].seq if page else after_seq

    async def run_told(self, run_id: str, after_seq: int, limit: int) -> Told:
        return (*await self.run_events(run_id, after_seq, limit), 0)

    def follow_run(
        self, run_id: str, after_seq: int, told: int | None = None
    ) -> AbstractAsyncContextManager[Subscription]:
        return self._feed(after_seq, lambda event: (event.seq or 2**60) > after_seq)

    @asynccontextmanager
    async def _feed(self, start: int, wanted: Callable[[Event], bool]) -> AsyncIterator[Feed]:
        if self.feed_failure is not None:
            raise self.feed_failure
        self.open_feeds += 1
        try:
            yield Feed(self, start, wanted)
        finally:
            self.open_feeds -= 1

    async def pause(self, run_id: str) -> Json:
        return self._run("pause", run_id)

    async def resume(self, run_id: str) -> Json:
        return self._run("resume", run_id)

    async def rename(self, run_id: str, title: str) -> Json:
        self.note("rename", (run_id, title))
        return {"run_id": run_id, "name": title}

    async def cancel(self, run_id: str) -> Json:
        run = self._run("cancel", run_id)
        await self.gate.wait()
        return run

    async def interrupt(self, run_id: str) -> Json:
        return self._run("interrupt", run_id)

    async def steer(self, run_id: str, text: str) -> Json:
        self._run("steer", run_id)
        return {"state": "queued"}

    def open_questions(self) -> list[OpenQuestion]:
        choices = (("yes", "Yes"), ("no", "No"))
        asked = Asked(question_id="q", kind="gate", text="Go on?", choices=choices)
        return [OpenQuestion(asked, ("s", "s"))]

    async def questions(self) -> list[Json]:
        self.note("questions")
        return []

    async def answer(self, question_id: str, answer: str, note: str | None, by: str) -> Json:
        self.note("answer", (question_id, answer, note, by))
        if question_id == "answered":
            raise AlreadyEnded("It was answered before.", id=question_id, by="phone")
        if answer not in ("yes", "no"):
            raise InvalidParameter("answer", "The answer is 'yes' or 'no'.")
        return {"question_id": question_id, "answer": answer}

    async def prompt(self, request: SendPrompt) -> Json:
        self.note("prompt", request)
        if request.session_id == "held":
            holder = LockHolder(kind="run", id="run-1", since="2026-01-01T00:00:00.000Z")
            raise Busy("The session is in use.", holder, session_id="held")
        return {"session_id": "s-1", "turn_id": "t-1", "run_id": "run-3"}

    async def prompt_and_wait(self, request: SendPrompt) -> Json:
        await self.gate.wait()
        return await self.prompt(request)

    async def interrupt_session(self, session_id: str) -> None:
        self.note("interrupt_session", session_id)

    async def sessions_list(
        self, working_directory: str | None, limit: int, before: str | None
    ) -> Json:
        self.note("sessions_list", (working_directory, limit, before))
        return {"sessions": [], "total": 0}

    async def sessions_get(self, session_id: str) -> Json:
        self.note("sessions_get", session_id)
        return {"session_id": session_id}

    async def sessions_messages(self, session_id: str, after_seq: int | None, limit: int) -> Json:
        self.note("sessions_messages", (session_id, after_seq, limit))
        return {"messages": [], "next_seq": after_seq or 0}

    @asynccontextmanager
    async def follow_session(
        self, session_id: str, after_seq: int | None, limit: int
    ) -> AsyncIterator[Feed]:
        self.note("follow_session", (session_id, after_seq, limit))
        start = after_seq or 0
        async with self._feed(start, lambda event: event.seq > start) as feed:
            feed.about = session_id
            feed.answer = {"messages": [], "next_seq": start}
            yield feed

    async def sessions_forget(self, session_id: str) -> None:
        self.note("sessions_forget", session_id)

    async def sessions_compact(self, session_id: str) -> None:
        self.note("sessions_compact", session_id)
        await self.gate.wait()

    async def locks(self) -> list[Json]:
        self.note("locks")
        return []

    def subscribe(
        self, types: frozenset[str] | None, after: int | None
    ) -> AbstractAsyncContextManager[Subscription]:
        start = len(self.events) if after is None else after
        return self._feed(
            start,
            lambda event: event.pos > start and (types is None or event.type in types),
        )

    async def stop_turns(self) -> None:
        self.note("stop_turns")
