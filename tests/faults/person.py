"""The person of a trial: starts the run, follows it over the daemon's deaths, answers, steers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import trio

from tests.e2e.machine import GitRepo
from tests.e2e.rpc_client import Json, Refused, connected
from tests.faults.lives import Lives
from tests.faults.scenario import RECIPE, STEER_GATE, STEER_WORDS, Scenario

GONE = (OSError, trio.BrokenResourceError, trio.ClosedResourceError)
_ANSWERED_MEANWHILE = -32004


class Person:
    """``events`` are the run's durable events as they came; ``surprises`` what nobody should have
    been asked."""

    def __init__(self, lives: Lives, repo: GitRepo, scenario: Scenario) -> None:
        self.events: list[Json] = []
        self.surprises: list[str] = []
        self.run_id = ""
        self.ended = trio.Event()
        self.saw_the_end = False
        """The life that told of the run's end is the one in which it came."""
        self._lives = lives
        self._repo = repo
        self._scenario = scenario
        self._spoken = False
        self._news = trio.Event()
        self._threads = trio.CapacityLimiter(2)

    async def see_to_it(self) -> None:
        """See the run through to its end."""
        while not self.ended.is_set():
            await self._unless_it_dies(self._follow)
        # A daemon that dies at the very end may tell of it first; one that answers lives on.
        await self._unless_it_dies(partial(self._lives.rpc, "daemon.ping"))

    async def _unless_it_dies(self, act: Callable[[], Awaitable[object]]) -> None:
        """Do this with a life that answers, or until it is over."""
        life = await self._lives.answering()
        try:
            await act()
        except* GONE:
            await self._lives.over(life)

    async def next_turn(self) -> None:
        """Wait until another agent is told of, or until the run's end."""
        turns = len(self._of("turn.started"))
        while len(self._of("turn.started")) == turns and not self.ended.is_set():
            await self._news.wait()

    @property
    def turn_id(self) -> str:
        """The turn that was intended last."""
        turn_id: str = self._of("turn.intended")[-1]["turn_id"]
        return turn_id

    def _of(self, kind: str) -> list[Json]:
        return [event["data"] for event in self.events if event["type"] == kind]

    async def _follow(self) -> None:
        # The same token is the same run: it is unknown whether an earlier start was stored.
        run = await self._lives.rpc(
            "runs.start",
            recipe=RECIPE,
            working_directory=str(self._repo.path),
            worktree=self._scenario.worktree,
            client_token="the-campaign",
        )
        self.run_id = run["run_id"]
        async with connected(self._lives.machine.socket) as connection:
            after = self.events[-1]["seq"] if self.events else 0
            asked = {"run_id": self.run_id, "after_seq": after, "follow": True}
            answer = await connection.call("runs.events", asked)
            for event in answer["events"]:
                self._take(event)
            self.saw_the_end = not self.ended.is_set()
            async with trio.open_nursery() as nursery:
                talks = self._scenario.steered or self._scenario.cancels
                if talks and not self._scenario.says_when_asked:
                    nursery.start_soon(self._speak_up)
                await self._answer_what_is_open()
                while not self.ended.is_set():
                    self._take(await connection.notification())
                    await self._answer_what_is_open()
                nursery.cancel_scope.cancel()

    def _take(self, event: Json) -> None:
        if "seq" not in event:
            return
        self.events.append(event)
        if event["type"] == "turn.ended" or (
            event["type"] == "effect.ended" and event["data"]["effect"].startswith("steer:")
        ):
            self._lives.machine.model.release(STEER_GATE)
        if event["type"] == "run.ended":
            self.ended.set()
        self._news.set()
        self._news = trio.Event()

    async def _answer_what_is_open(self) -> None:
        closed = {data["question_id"] for data in self._of("question.closed")}
        for question in self._of("question.opened"):
            if question["question_id"] not in closed:
                if self._scenario.says_when_asked:
                    await self._say_once()
                await self._answer(question)

    async def _answer(self, question: Json) -> None:
        answer = self._scenario.answer(question)
        if question["kind"] == "recover" and question["step"] == "commit":
            # What a careful person does: looks whether it is done.
            answer = "continue" if self.commits else "retry"
        if answer is None:
            self.surprises.append(
                f"nobody should have been asked: {question['text']} {question['detail']}"
            )
            answer = "stop"
        try:
            await self._lives.rpc(
                "questions.answer", question_id=question["question_id"], answer=answer
            )
        except Refused as refused:
            if refused.code != _ANSWERED_MEANWHILE:
                raise

    @property
    def commits(self) -> int:
        """How many commits the irreversible step has made, on any branch."""
        subjects = self._repo.git("log", "--all", "--format=%s").splitlines()
        return subjects.count(self._scenario.subject)

    async def _speak_up(self) -> None:
        """Say the word (or cancel) while the model is in the middle of its first answer."""
        model = self._lives.machine.model

        def wait() -> None:
            model.wait_holding(STEER_GATE)

        await trio.to_thread.run_sync(wait, abandon_on_cancel=True, limiter=self._threads)
        if self._of("turn.ended"):
            return
        await self._say_once()
        if self._scenario.cancels:
            model.release(STEER_GATE)

    async def _say_once(self) -> None:
        done = "stop.intended" if self._scenario.cancels else "steer.intended"
        said = any(one["text"] == STEER_WORDS for one in self._of("message.received"))
        if not (self._spoken or said or self._of(done)):
            await self._call_out()
            self._spoken = True  # where it dies before, the next life's events tell

    async def _call_out(self) -> None:
        wish: dict[str, Any] = {"run_id": self.run_id}
        try:
            if self._scenario.cancels:
                await self._lives.rpc("runs.cancel", **wish)
            else:
                await self._lives.rpc("runs.steer", text=STEER_WORDS, **wish)
        except Refused as refused:
            if refused.code != _ANSWERED_MEANWHILE:
                raise
