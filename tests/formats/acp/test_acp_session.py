"""Podium's own records of sessions as summaries, entries and messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podiumd.formats.acp.session import AcpSession
from podiumd.formats.message import Block, Text, Thinking, ToolResult, ToolUse
from podiumd.formats.session import Cursor, Summary

FORMAT = AcpSession()
UUID = "11111111-1111-4111-8111-111111111111"


def row(type: str, **fields: Any) -> bytes:
    about = {"type": type, "uuid": UUID, "turn": "t", "timestamp": "2026-11-22T09:00:00.000Z"}
    return json.dumps({**about, **fields}).encode()


ROWS = [
    row("notice", text="Only what Podium ran."),
    row("prompt", text="Look around", cwd="/w"),
    row("thinking", text="Hm."),
    row("reply", text="I look."),
    row("tool", id="c", name="Bash", input={"command": "ls"}),
    row("result", id="c", text="none", failed=True),
]


@pytest.mark.parametrize(
    ("line", "role", "block"),
    [
        (ROWS[0], "assistant", Text("Only what Podium ran.")),
        (ROWS[1], "user", Text("Look around")),
        (ROWS[2], "assistant", Thinking("Hm.")),
        (ROWS[3], "assistant", Text("I look.")),
        (ROWS[4], "assistant", ToolUse("c", "Bash", {"command": "ls"})),
        (ROWS[5], "user", ToolResult("c", "none", is_error=True)),
        (row("tool", id="c", name="Bash", input=3), "assistant", ToolUse("c", "Bash", {})),
    ],
)
def test_each_row_is_a_message_of_one_block(line: bytes, role: str, block: Block) -> None:
    message = FORMAT.message(line)
    assert message is not None
    assert (message.uuid, message.role, message.blocks) == (UUID, role, (block,))


def test_a_session_is_called_by_its_first_prompt_and_shown_by_its_last_words() -> None:
    summary = Summary()
    FORMAT.fold(summary, b"\n".join(ROWS) + b"\n")
    assert (summary.name, summary.preview) == ("Look around", "I look.")
    assert (summary.cwd, summary.messages, summary.lines) == ("/w", 6, 6)


def test_a_row_of_tomorrow_is_no_message() -> None:
    line = row("of-tomorrow")
    assert FORMAT.message(line) is None and FORMAT.entries(Cursor(), line + b"\n") == []
