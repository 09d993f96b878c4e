"""What a run did, step by step, made of its events: times, costs, outcomes, checks, questions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from podium import text
from podium.render import conversation_words
from podium.render.visits import Command, Note, Step, Still, Turn

Json = dict[str, Any]

RESTART = "@restart"
PROMPT = "prompt"
"""What stands for the step of a plain prompt, which has none."""

BEFORE = "start"
"""What stands for the step where a run ended before its first one."""

STALLED = "no progress"
"""The kind of note that a visit has which ended as an earlier one did."""

LOST = "lost"
"""How a turn ended whose end was never told."""


class History:
    """The steps of one run, told event by event. What comes before a step belongs to it."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.start: Json = {}
        self.undelivered: list[str] = []
        self._last_at = ""
        self._ended = False
        self._restarts = 0
        self._open: Step | None = None
        self._coming = Step(0, 0, BEFORE, 1, "", "")
        self._questions: dict[str, Json] = {}
        self._heard: dict[str, Note] = {}
        self._still: Still | None = None
        self._tellers: dict[str, Callable[[Json, str], object]] = {
            "run.started": self._run_started,
            "step.entered": self._step_entered,
            "turn.intended": self._turn_intended,
            "turn.ended": self._turn_ended,
            "action.ended": self._action_ended,
            "outcome.parsed": self._outcome_parsed,
            "outcome.invalid": self._outcome_invalid,
            "check.ended": self._check_ended,
            "command.intended": self._command_intended,
            "command.ended": self._command_ended,
            "question.opened": self._question_opened,
            "question.closed": self._question_closed,
            "steer.intended": self._steer_intended,
            "message.received": self._message_received,
            "tool.used": lambda data, at: self._told_of(
                at, "tool", conversation_words.tool_used(data)
            ),
            "hook.ended": lambda data, at: self._told_of(
                at, "hook", conversation_words.hook_ended(data)
            ),
            "aside.noted": lambda data, at: self._note(at, "aside", data.get("run_id")),
            "limit.hit": lambda data, at: self._note(
                at, "limit", f"{data.get('limit')} ({data.get('count')})"
            ),
            "edge.taken": self._edge_taken,
            "progress.stalled": self._stalled,
            "run.paused": lambda data, at: self._stand("paused", data.get("why"), at),
            "run.parked": lambda data, at: self._stand("parked", data.get("until"), at),
            "run.resumed": lambda data, at: self._go_on(at),
            "run.ended": self._run_ended,
        }

    def add(self, event: Json) -> None:
        """Take one stored event. A kind this client does not know changes nothing."""
        at = str(event.get("at") or self._last_at)
        teller = self._tellers.get(str(event.get("type")))
        if teller is not None:
            teller(event.get("data") or {}, at)
        self._last_at = at

    def until(self, now: float | None = None) -> float:
        """Up to when the run is told, in epoch seconds: its end, else ``now``."""
        if not self._ended and now is not None:
            return now
        return text.epoch(self._last_at) or 0.0

    @property
    def questions(self) -> list[Json]:
        """Every question of the run in order, with ``closed_at``."""
        return list(self._questions.values())

    def open_seconds(self, question_id: str, now: float | None = None) -> float | None:
        """How long a question was open, or is; ``None`` for one that was never opened."""
        question = self._questions.get(question_id)
        opened = text.epoch(question["opened_at"]) if question else None
        closed = text.epoch(question["closed_at"]) if question else None
        return None if opened is None else (closed or self.until(now)) - opened

    @property
    def now_in(self) -> Step:
        """The visit that the run is in, or the one to come."""
        return self._open or self._coming

    def _run_started(self, data: Json, at: str) -> None:
        self.start = data

    def _enter(self, step: str, visit: int, session: str, at: str) -> Step:
        entered, self._coming = self._coming, Step(0, 0, BEFORE, 1, "", "")
        entered.number, entered.restart = len(self.steps) + 1, self._restarts
        entered.step, entered.visit, entered.session_id = step, visit, session
        entered.began_at = at
        self.steps.append(entered)
        self._open = entered
        return entered

    def _step_entered(self, data: Json, at: str) -> None:
        session = str(data.get("session_id") or "")
        self._enter(str(data.get("step")), int(data.get("visit") or 1), session, at)

    def _turn_intended(self, data: Json, at: str) -> None:
        step = self._open
        if step is None:
            named = str(data.get("step") or PROMPT)
            step = self._enter(named, 1, str(data.get("session_id") or ""), at)
        self._lose(step, at)
        model = data.get("model")
        turn = Turn(
            turn_id=str(data.get("turn_id")),
            purpose=str(data.get("purpose") or "step"),
            attempt=int(data.get("attempt") or 1),
            agent=str(data.get("agent") or ""),
            model=None if model is None else str(model),
            prompt=str(data.get("prompt") or ""),
            began_at=at,
        )
        step.turns.append(turn)

    def _lose(self, step: Step, at: str) -> None:
        """Close a turn that was never told to be over."""
        for turn in step.turns:
            if turn.ended_at is None:
                turn.ended_at, turn.end = at, LOST

    def _turn_ended(self, data: Json, at: str) -> None:
        named = [one for one in self.now_in.turns if one.turn_id == data.get("turn_id")]
        for turn in named:
            report = data.get("report") or {}
            turn.ended_at, turn.end = at, str(report.get("kind") or "done")
            turn.detail = str(report.get("detail") or "")
            turn.text = str(data.get("text") or "")
            turn.seconds = float(data.get("seconds") or 0.0)
            turn.cost_usd = float(data.get("cost_usd") or 0.0)

    def _action_ended(self, data: Json, at: str) -> None:
        """What the native agent did; of Podium's own tools ``tool.used`` tells."""
        result = data.get("result") or {}
        if result.get("action") not in conversation_words.TOOLS:
            for turn in self.now_in.turns[-1:]:
                said = f"{result.get('action')}: {result.get('message') or ''}"
                turn.called(text.fold(said, conversation_words.BRIEF))

    def _outcome_parsed(self, data: Json, at: str) -> None:
        if data.get("source") == "text":
            for turn in self.now_in.turns[-1:]:
                turn.read = str(data.get("outcome"))
        self.now_in.repaired = bool(data.get("repaired"))
        self.now_in.source = str(data.get("source"))
        self.now_in.attempts = int(data.get("attempt") or 1)

    def _outcome_invalid(self, data: Json, at: str) -> None:
        self.now_in.attempts = int(data.get("attempt") or 1)
        for turn in self.now_in.turns[-1:]:
            turn.fault = {name: data.get(name) for name in ("error", "message", "excerpt")}

    def _check_ended(self, data: Json, at: str) -> None:
        began = _stamp(at, float(data.get("seconds") or 0.0))
        check = Command("check", _words(data), began)
        self.now_in.commands.append(check)
        _close(check, data, at)

    def _command_intended(self, data: Json, at: str) -> None:
        self.now_in.commands.append(Command("command", _words(data), at))

    def _command_ended(self, data: Json, at: str) -> None:
        running = [one for one in self.now_in.commands if one.ended_at is None]
        for command in running[-1:]:
            _close(command, data, at)

    def _question_opened(self, data: Json, at: str) -> None:
        question = {**data, "opened_at": at, "closed_at": None, "closed": None}
        self._questions[str(data.get("question_id"))] = question
        self.now_in.questions.append(question)

    def _question_closed(self, data: Json, at: str) -> None:
        question = self._questions.get(str(data.get("question_id")))
        if question is not None:
            question |= {name: data.get(name) for name in ("closed", "answer", "note", "by")}
            question["closed_at"] = at

    def _note(self, at: str, kind: str, words: object) -> Note:
        note = Note(at, kind, str(words))
        self.now_in.notes.append(note)
        return note

    def _message_received(self, data: Json, at: str) -> None:
        """A person's words; an answer stands with its question already."""
        if str(data.get("uuid")) not in self._questions:
            self._heard[str(data.get("uuid"))] = self._note(at, "message", data.get("text"))

    def _steer_intended(self, data: Json, at: str) -> None:
        """Words that go into a running turn; in a conversation they were told before."""
        note = self._heard.get(str(data.get("uuid")))
        if note is None:
            self._note(at, "steer", data.get("text"))
        else:
            note.kind = "steer"

    def _told_of(self, at: str, kind: str, told: conversation_words.Told | None) -> None:
        if told is not None:
            self._note(at, kind, told[0])

    def _stand(self, kind: str, why: object, at: str) -> None:
        self._go_on(at)
        self._still = Still(kind, str(why or ""), at)
        self.now_in.stills.append(self._still)

    def _go_on(self, at: str) -> None:
        if self._still is not None:
            self._still.ended_at, self._still = at, None

    def _edge_taken(self, data: Json, at: str) -> None:
        step = self.now_in
        if data.get("source") != step.source:
            step.repaired = False  # the agent's word was overruled
        step.outcome, step.source = str(data.get("outcome")), str(data.get("source"))
        step.attempts = int(data.get("attempts") or step.attempts)
        step.description, step.to = data.get("description"), data.get("to")
        step.exit, step.ended_at = data.get("exit"), at
        known = [one.step for one in self.steps if one.restart == self._restarts]
        step.returned = step.to in known
        self._restarts += step.to == RESTART
        self._open = None

    def _stalled(self, data: Json, at: str) -> None:
        """It is told once the visit is over, and belongs to it."""
        words = (
            f"it ended as visit {data.get('since')} did: the same findings, and the working tree "
            "is the same"
        )
        for step in self.steps[-1:]:
            step.notes.append(Note(at, STALLED, words))

    def _run_ended(self, data: Json, at: str) -> None:
        self._go_on(at)
        self._ended = True
        self.undelivered = [str(words) for words in data.get("undelivered") or []]
        if self._coming.questions or self._coming.notes or self._coming.stills:
            self._settle(at)
        if self._open is not None:
            self._lose(self._open, at)
            self._open.ended_at, self._open = at, None

    def _settle(self, at: str) -> None:
        """What was for a step that never came belongs to the last one there was."""
        left = self._coming
        last = self.steps[-1] if self.steps else self._enter(BEFORE, 1, "", at)
        if last is not left:
            last.questions += left.questions
            last.notes += left.notes
            last.stills += left.stills


def _words(data: Json) -> list[str]:
    return [str(word) for word in data.get("run") or []]


def _close(command: Command, data: Json, at: str) -> None:
    command.ended_at, command.passed = at, bool(data.get("passed"))
    command.exit_status = data.get("exit_status")
    command.seconds = float(data.get("seconds") or 0.0)
    command.tail, command.log = str(data.get("tail") or ""), str(data.get("log") or "")


def _stamp(at: str, earlier: float) -> str:
    """The time so many seconds before ``at``."""
    then = text.epoch(at)
    if then is None:
        return at
    whole, thousandths = divmod(round((then - earlier) * 1000), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{thousandths:03}Z"


def told(events: Iterable[Json]) -> History:
    """The history that these events amount to."""
    history = History()
    for event in events:
        history.add(event)
    return history


def as_json(history: History, now: float | None = None) -> list[Json]:
    """The steps as plain data, with their sums; times RFC 3339, durations seconds, US dollars."""
    until = history.until(now)
    return [
        {
            **asdict(step),
            "work_seconds": round(step.work_seconds, 3),
            "waited_seconds": round(step.waited_seconds(until), 3),
            "still_seconds": round(step.still_seconds(until), 3),
            "cost_usd": round(step.cost_usd, 6),
        }
        for step in history.steps
    ]
