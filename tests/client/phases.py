"""A guided design as the daemon tells it: events, snapshots and questions of a conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.client import stories
from tests.client.fake_daemon import QUESTION_ID, RUN_ID, SESSION_ID, FakeDaemon
from tests.client.stories import event

Json = Any

GOAL, DESIGN = "goal-understanding", "blueprint-design"
SAID = "5a1d0000-0000-4000-8000-000000000007"

ASK: Json = {
    **stories.QUESTION,
    "kind": "ask",
    "text": "Who is it for?",
    "choices": [{"id": "nurses", "label": "Nurses"}, {"id": "kin", "label": "Relatives"}],
    "detail": "Nurses: on the ward\nRelatives: at home",
    "free_text": True,
    "multi": False,
    "columns": [],
    "tool": None,
}
SEVERAL = {**ASK, "multi": True}
TABLE = {
    **ASK,
    "choices": [],
    "detail": "",
    "free_text": False,
    "columns": [
        {"name": "room", "type": "text", "required": True, "options": []},
        {"name": "beds", "type": "number", "required": False, "options": []},
        {"name": "ward", "type": "enum", "required": False, "options": ["north", "south"]},
    ],
}


def run(status: str = "waiting", *questions: Json, step: str = GOAL) -> Json:
    """The run as ``runs.get`` tells it while it goes on."""
    going = stories.ended_run(recipe="guided-design", status=status, step=step)
    return going | {"questions": list(questions), "exit": None, "ended_at": None}


def snapshot(status: str = "waiting", *questions: Json, step: str = GOAL) -> Json:
    shown = run(status, *questions, step=step)
    question = questions[0] if questions else None
    data = {"phase": step, "ctx": {}, "question": question, "run": shown}
    return event(None, "snapshot", run_id=RUN_ID, session_id=SESSION_ID, **data)


def used(seq: int, tool: str, **args: Any) -> Json:
    return _used(seq, tool, args, True, "Done.")


def refused(seq: int, tool: str, why: str, **args: Any) -> Json:
    return _used(seq, tool, args, False, why)


def _used(seq: int, tool: str, args: Json, success: bool, message: str) -> Json:
    data = {"turn_id": stories.TURN_ID, "call_id": f"c{seq}", "tool": tool, "args": args}
    return event(seq, "tool.used", **data, success=success, message=message)


def message(seq: int, text: str, uuid: str = SAID, by: str = "person") -> Json:
    return event(seq, "message.received", uuid=uuid, text=text, by=by)


def intended(seq: int, purpose: str = "say", **more: Any) -> Json:
    return event(seq, "turn.intended", turn_id=stories.TURN_ID, purpose=purpose, attempt=1, **more)


def opened(seq: int, question: Json) -> Json:
    return event(seq, "question.opened", **question)


def closed(seq: int, answer: str = "nurses", by: str = "phone") -> Json:
    told = {"question_id": QUESTION_ID, "closed": "answered", "answer": answer, "by": by}
    return event(seq, "question.closed", **told)


def ended(seq: int) -> Json:
    over = stories.ended_run(recipe="guided-design", main_session_id=SESSION_ID)
    over["exit"] |= {"reason": "conversation-complete", "message": "Conversation complete"}
    return event(seq, "run.ended", run=over)


class Design:
    """Makes a fake daemon one that has a conversation in phases, which stands where it is told."""

    def __init__(self, daemon: FakeDaemon, *events: Json) -> None:
        self._daemon = daemon
        self._then: Callable[[], None] = lambda: None
        started = {"run_id": RUN_ID, "session_id": SESSION_ID, "status": "running"}
        daemon.answers["runs.start"] = started
        daemon.answers["sessions.prompt"] = self._prompted
        daemon.answers["questions.answer"] = self._answered
        first = stories.started(recipe="guided-design", label="Guided Design")
        daemon.events = [first, stories.entered(2, GOAL), *events]
        daemon.greeting = self._greeting
        self.stands(run())

    def stands(self, run: Json) -> None:
        """What ``runs.get`` and ``questions.list`` tell from here on."""
        self._daemon.answers["runs.get"] = run
        self._daemon.answers["questions.list"] = run["questions"]

    def then(self, run: Json, *events: Json) -> None:
        """What the next message or answer leads to."""

        def happen() -> None:
            self.stands(run)
            self._daemon.publish(*events)

        self._then = happen

    def _greeting(self) -> Json:
        now = self._daemon.answers["runs.get"]
        return snapshot(now["status"], *now["questions"], step=now["step"])

    def _prompted(self, params: Json) -> Json:
        self._then()
        told = {"run_id": RUN_ID, "session_id": SESSION_ID, "turn_id": stories.TURN_ID}
        return {**told, "delivery": "phase", "uuid": SAID}

    def _answered(self, params: Json) -> Json:
        self._then()
        return ASK | {"answer": params["answer"]}

    @property
    def said(self) -> list[str]:
        """What was said to the phase, in order."""
        return [sent["text"] for sent in self._daemon.params_of("sessions.prompt")]

    @property
    def answers(self) -> list[str]:
        """What was answered, in order."""
        return [sent["answer"] for sent in self._daemon.params_of("questions.answer")]
