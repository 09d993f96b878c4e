"""Runs as the daemon tells them: events in the public shape."""

from __future__ import annotations

from typing import Any

from tests.client import whole
from tests.client.fake_daemon import QUESTION_ID, RUN_ID, SESSION_ID, FakeDaemon

Json = Any

TURN_ID = "7u2n0000-0000-4000-8000-000000000004"
FIRST_PROMPT = "Fix  the\nthing " + "and more " * 20
RECIPE = {
    "id": "fix-it",
    "label": "Fix it",
    "description": "Fix one thing",
    "source": "builtin",
    "first_prompt": FIRST_PROMPT[:120],
    "trusted": True,
}
APPROVAL = {
    "question_id": QUESTION_ID,
    "run_id": RUN_ID,
    "session_id": SESSION_ID,
    "kind": "approval",
    "text": "May the agent use Bash? make test",
    "choices": [{"id": "allow", "label": "Allow once"}, {"id": "deny", "label": "Deny"}],
    "free_text": False,
    "detail": '{"command": "make test"}',
    "tool": "Bash",
    "input": {"command": "make \\\n  test\x1b[2J\n", "timeout": 9},
    "opened_at": "2026-05-01T10:00:00.000Z",
    "answer": None,
    "by": None,
    "closed": None,
}
CALL = ("$ make \\", "    test\\x1b[2J", "timeout: 9")
"""What ``APPROVAL`` shows of its call."""
EXITS = {
    "completed": ("completed", "changes-committed", "Task implementation committed successfully"),
    "needs-user": ("completed", "clarification-needed", "Needs clarification before continuing"),
    "blocked": ("completed", "implementation-blocked", "Implementation blocked - cannot proceed"),
    "cancelled": ("completed", "user-requested", "Recipe stopped on request"),
    "guardrail": ("guardrail", "max-total-steps", "Recipe stopped: reached maximum step limit"),
    "checks-failed": ("error", "checks-failed", "Recipe failed: checks failed"),
    "error": ("error", "error", "Recipe failed: agent invocation error"),
}
QUESTION = {
    "question_id": QUESTION_ID,
    "run_id": RUN_ID,
    "session_id": SESSION_ID,
    "kind": "gate",
    "text": "Commit?",
    "choices": [{"id": "yes", "label": "Yes, commit"}, {"id": "no", "label": "No"}],
    "detail": "two files changed",
    "opened_at": "2026-05-01T10:00:00.000Z",
    "answer": None,
    "by": None,
    "closed": None,
}


def ended_run(kind: str = "completed", **more: Any) -> Json:
    category, reason, message = EXITS[kind]
    run = {
        "run_id": RUN_ID,
        "kind": "recipe",
        "recipe": "fix-it",
        "session_id": SESSION_ID,
        "working_directory": "/home/ada/pots and pans",
        "agent": "claude",
        "params": {"issue": "it's 7"},
        "limits": {"max_total_steps": 7},
        "status": "ended",
        "step": "fix",
        "step_count": 2,
        "visits": {"fix": 2},
        "history": [
            {
                "step": "fix",
                "visit": 1,
                "outcome": "complete",
                "description": None,
                "source": "text",
                "attempts": 1,
                "at": "2026-05-01T10:01:00.000Z",
            }
        ],
        "questions": [],
        "turns": 2,
        "cost_usd": 1.25,
        "started_at": "2026-05-01T10:00:00.000Z",
        "ended_at": "2026-05-01T10:01:05.000Z",
        "exit": {
            "reason": reason,
            "category": category,
            "class": kind,
            "message": message,
            "detail": None,
        },
        **more,
    }
    return whole.answer("runs.get", run)


def event(seq: int | None, kind: str, /, **data: Any) -> Json:
    told: Json = {
        "type": kind,
        "at": f"2026-05-01T10:00:{(seq or 0):02}.000Z",
        "run_id": RUN_ID,
        "session_id": SESSION_ID,
        "data": data,
    }
    return whole.event(told if seq is None else {"seq": seq, "pos": seq + 100, **told})


def started(seq: int = 1, **more: Any) -> Json:
    data = {
        "run_id": RUN_ID,
        "kind": "recipe",
        "session_id": SESSION_ID,
        "working_directory": "/home/ada/pots",
        "agent": "claude",
        "limits": {"max_total_steps": 7, "max_retries": 3},
        "recipe": "fix-it",
        "label": "Fix it",
        "first_prompt": FIRST_PROMPT,
        **more,
    }
    return event(seq, "run.started", **data)


def entered(seq: int, step: str = "fix", visit: int = 1) -> Json:
    return event(seq, "step.entered", step=step, visit=visit, step_count=visit, session_id="s")


def said(words: str, uuid: str = "m1", kind: str = "text", at: int | None = None) -> Json:
    """Without ``at`` it follows on what was said before."""
    place = {} if at is None else {"part": "", "at": at}
    return event(None, "turn.output", turn_id=TURN_ID, uuid=uuid, kind=kind, delta=words, **place)


def turn_intended(seq: int, visit: int = 1, prompt: str = "Fix it.") -> Json:
    return event(
        seq,
        "turn.intended",
        turn_id=TURN_ID,
        purpose="step",
        session_id="s",
        agent="claude",
        prompt=prompt,
        step="fix",
        visit=visit,
    )


def turn_ended(seq: int, words: str = "", **report: Any) -> Json:
    return event(
        seq,
        "turn.ended",
        turn_id=TURN_ID,
        text=words,
        seconds=62.0,
        cost_usd=0.5,
        report={"kind": "done", **report},
    )


def ended(seq: int, kind: str = "completed", **more: Any) -> Json:
    return event(seq, "run.ended", run=ended_run(kind, **more))


def recipe_daemon(daemon: FakeDaemon, *events: Json) -> FakeDaemon:
    """Make the fake one that starts the recipe ``fix-it`` and tells these events."""
    daemon.answers["runs.start"] = {"run_id": RUN_ID, "status": "running"}
    daemon.events = list(events)
    return daemon
