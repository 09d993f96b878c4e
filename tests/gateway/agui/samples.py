"""Runs, questions and events as the daemon tells them, for the tests of AG-UI."""

from __future__ import annotations

from typing import Any

from podiumd.core.run import facts as f
from podiumd.wire.events import TurnOutput
from podiumd.wire.questions import Question
from podiumd.wire.runs import Run
from tests.plain import made, plain, some

Json = dict[str, Any]

SESSION = "5f1c8a52-0000-4000-8000-000000000001"
RUN = "9b2f1c4d-0000-4000-8000-000000000002"


def run(**fields: Any) -> Run:
    """A run that waits for a person's words, in its phase ``goal``."""
    known = {
        "run_id": RUN,
        "kind": "recipe",
        "recipe": "design",
        "name": "design: a shop",
        "session_id": SESSION,
        "main_session_id": SESSION,
        "working_directory": "/home/ada/shop",
        "agent": "claude",
        "params": {},
        "status": "waiting",
        "paused": False,
        "step": "goal",
        "step_count": 1,
        "visits": {"goal": 1},
        "ctx": {"goal": "a shop"},
        "questions": [],
        "turns": 1,
        "cost_usd": 0.0,
        "seconds": 1.0,
        "restarts": 0,
        "started_at": "2026-01-02T03:04:05.000Z",
        "exit": None,
    }
    unknown = ("model", "limits", "stop", "base", "left", "parked_until", "worktree", "ended_at")
    return made(Run, dict.fromkeys(unknown) | known | plain(fields))


def ended(category: str, class_: str, reason: str = "done", detail: str = "") -> Run:
    """A run that is over."""
    end = {"reason": reason, "category": category, "class": class_, "message": f"It was {reason}"}
    return run(status="ended", exit=end | ({"detail": detail} if detail else {}))


def question(question_id: str = "q-1", **fields: Any) -> Question:
    """A question with two choices."""
    known = {
        "question_id": question_id,
        "run_id": RUN,
        "run_name": "design: a shop",
        "session_id": SESSION,
        "kind": "ask",
        "text": "Which one?",
        "choices": [{"id": "a", "label": "Alpha"}, {"id": "b", "label": "Beta"}],
        "free_text": False,
        "multi": False,
        "columns": [],
        "detail": "",
        "opened_at": "2026-01-02T03:04:05.000Z",
        "paused": False,
    }
    unknown = ("tool", "input", "answer", "note", "by", "closed")
    return made(Question, dict.fromkeys(unknown) | known | fields)


def output(kind: str, delta: str, uuid: str = "m-1") -> TurnOutput:
    """Something that an agent says or does while it works."""
    return some(TurnOutput, turn_id="t-1", uuid=uuid, kind=kind, delta=delta)


def intended(turn_id: str = "t-1", **fields: Any) -> f.TurnIntended:
    return some(f.TurnIntended, turn_id=turn_id, **fields)


def turn_ended(text: str, turn_id: str = "t-1") -> f.TurnEnded:
    return some(f.TurnEnded, turn_id=turn_id, text=text)


def used(call_id: str = "c-1", tool: str = "save", **args: Any) -> f.ToolUsed:
    return f.ToolUsed(
        turn_id="t-1", call_id=call_id, tool=tool, args=args, success=True, message="Saved."
    )
