"""Sessions as the daemon tells them: rows and messages in the public shape."""

from __future__ import annotations

from typing import Any

from tests.client.fake_daemon import RUN_ID, SESSION_ID

Json = Any

HELD_BY_RUN = {"kind": "run", "id": RUN_ID, "since": "2026-05-01T10:00:00.000Z"}
RECIPE = {
    "run_id": RUN_ID,
    "recipe_id": "fix-it",
    "current_step": "review",
    "step_count": 4,
    "max_total_steps": 12,
}


def row(session_id: str = SESSION_ID, **more: Any) -> Json:
    """A session as ``sessions.list`` and ``sessions.get`` tell it."""
    return {
        "session_id": session_id,
        "agent": "claude",
        "name": "Fix the pots",
        "working_directory": "/home/ada/pots",
        "last_modified": "2026-05-01T10:00:00.000Z",
        "message_count": 7,
        "preview": "Done.",
        "holder": None,
        "active_recipe": None,
        "gone": False,
        **more,
    }


def message(seq: int, *blocks: Json | str, role: str = "assistant", **more: Any) -> Json:
    """A message; a block given as words is text."""
    given = [block if isinstance(block, dict) else text(block) for block in blocks]
    return {
        "seq": seq,
        "uuid": f"{seq:08}-0000-4000-8000-000000000000",
        "role": role,
        "text": "\n\n".join(block["text"] for block in given if block["kind"] == "text"),
        "timestamp": f"2026-05-01T10:00:{seq % 60:02}.000Z",
        "blocks": given,
        **more,
    }


def gone(seq: int) -> Json:
    """A message whose line is no longer in the transcript."""
    return message(seq, timestamp="", gone=True)


def text(words: str) -> Json:
    return {"kind": "text", "text": words}


def thinking(words: str) -> Json:
    return {"kind": "thinking", "text": words}


def tool(name: str, **given: Any) -> Json:
    return {"kind": "tool_use", "id": "t1", "name": name, "input": given}


def result(words: str, **more: Any) -> Json:
    return {"kind": "tool_result", "tool_use_id": "t1", "text": words, **more}


def image(size: int) -> Json:
    return {"kind": "image", "media_type": "image/png", "size": size}
