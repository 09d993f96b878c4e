"""Public shapes as the service gives them, and how to read what goes to a phone."""

from __future__ import annotations

import json
from typing import Any

from podiumd.core.recipe.exits import Exit
from podiumd.gateway.phone.feed.history import Message, Session
from podiumd.projects.records import CommandRecord
from podiumd.projects.resources import Resource
from podiumd.wire.recipes import RecipeRow
from podiumd.wire.sessions import Session as Row
from tests.phone.decoders.recorder import RECORDER

Json = dict[str, Any]

SESSION = "8c1f2d3e-0000-4000-8000-000000000001"
UUID = "0ba82fac-b61d-4d50-88f2-0cd344afe70f"


def read(frame: bytes | None) -> Json:
    """What a phone reads."""
    assert frame is not None
    RECORDER.saw(frame)
    value = json.loads(frame)
    assert isinstance(value, dict)
    return value


def a_session(**changes: Any) -> Row:
    """A public session."""
    row = {
        "session_id": SESSION,
        "agent": "claude",
        "name": "Mend the gate",
        "working_directory": "/home/ada/gate",
        "created": "2026-01-02T03:00:00.000Z",
        "last_modified": "2026-01-02T03:04:05.000Z",
        "message_count": 2,
        "preview": "Done.",
        "holder": None,
        "active_recipe": None,
        "gone": False,
        "size": 100,
        "subagents": 0,
        "tool_results": 0,
    }
    return Row(**{**row, **changes})


def a_recipe(**changes: Any) -> RecipeRow:
    """A recipe as it is listed."""
    row = {
        "id": "r",
        "label": "R",
        "description": "d",
        "first_prompt": "",
        "source": "user",
        "path": "/recipes/r.toml",
        "shadows": (),
        "trusted": True,
        "changed": False,
        "ok": True,
    }
    return RecipeRow(**{**row, **changes})


def a_standing(**changes: Any) -> Json:
    """What ``recipe_started`` is given of a run."""
    standing = {
        "session_id": SESSION,
        "recipe_id": "implement-and-review",
        "step": "code-review",
        "step_count": 2,
        "max_total_steps": 12,
        "label": "Review & Co",
        "first_prompt": "Do it.",
    }
    return {**standing, **changes}


def an_exit(**changes: Any) -> Exit:
    """A public exit."""
    end = {
        "reason": "changes-committed",
        "category": "completed",
        "class_": "completed",
        "message": "Task implementation committed successfully",
        "detail": None,
    }
    return Exit(**{**end, **changes})


def a_question(**changes: Any) -> Json:
    """A public question."""
    question = {
        "question_id": "q-1",
        "run_id": "r-1",
        "session_id": SESSION,
        "kind": "approval",
        "text": "May Bash run?",
        "choices": [{"id": "allow", "label": "Allow"}, {"id": "deny", "label": "Deny"}],
        "free_text": False,
        "detail": "make test",
        "tool": "Bash",
        "input": {"command": "make test"},
        "opened_at": "2026-01-02T03:04:05.000Z",
        "answer": None,
        "note": None,
        "by": None,
        "closed": None,
    }
    return {**question, **changes}


def a_command(**changes: Any) -> CommandRecord:
    """A row of the commands that were run."""
    row = {
        "command_session_id": f"cmd-{UUID}",
        "command_id": "build",
        "shell_command": "make build",
        "working_directory": "/home/ada/gate",
        "timestamp": "2026-01-02T03:04:05Z",
        "exit_code": 0,
        "duration_ms": 1200,
        "output_preview": "built",
    }
    return CommandRecord(**{**row, **changes})


def a_file(**changes: Any) -> Resource:
    """A file that was uploaded."""
    file = {
        "filename": "plan.pdf",
        "path": "/home/ada/gate/.untethered/resources/plan.pdf",
        "relative_path": ".untethered/resources/plan.pdf",
        "size": 7,
        "timestamp": "2026-01-02T03:04:05.678Z",
    }
    return Resource(**{**file, **changes})


def a_log(last_seq: int, **changes: Any) -> Session:
    """A session with this many messages."""
    session = Session(SESSION, "claude", last_seq, "log-1")
    return session._replace(**changes)


def a_message(seq: int, text: str = "Hello", **changes: Any) -> Message:
    """A message for a phone."""
    values = {
        "seq": seq,
        "uuid": f"0ba82fac-b61d-4d50-88f2-{seq:012d}",
        "role": "assistant",
        "text": text,
        "timestamp": "2026-01-02T03:04:05.678Z",
    }
    return Message(**{**values, **changes})


def messages(first: int, last: int, text: str = "Hello") -> list[Message]:
    """Messages that follow one another."""
    return [a_message(seq, text) for seq in range(first, last + 1)]
