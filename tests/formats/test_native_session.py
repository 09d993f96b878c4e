"""The native agent's session files as summaries, entries and messages."""

from __future__ import annotations

import json
from typing import Any

from podiumd.formats.message import Block, Message, Text, ToolResult, ToolUse
from podiumd.formats.native_session import NativeSession
from podiumd.formats.session import (
    Cursor,
    Summary,
    identity_of,
    identity_of_line,
    uuid_of,
)

FORMAT = NativeSession()
UUID = "11111111-1111-4111-8111-111111111111"
AT = "2026-11-22T09:00:00.000Z"


def row(type: str, **fields: Any) -> bytes:
    return json.dumps({"type": type, "uuid": UUID, "timestamp": AT, **fields}).encode()


def message(line: bytes) -> Message:
    found = FORMAT.message(line)
    assert found is not None
    return found


def blocks(line: bytes) -> tuple[Block, ...]:
    return message(line).blocks


def folded(*lines: bytes) -> Summary:
    summary = Summary()
    FORMAT.fold(summary, b"".join(line + b"\n" for line in lines))
    return summary


PROMPT = row("prompt", text="Fix the\n test", cwd="/home/dev/app")
REPLY = row(
    "reply",
    text='Let me look.\n```json\n{"action": "read_file", "path": "a.py"}\n```',
    said="Let me look.",
    actions=[{"id": "t/1/0", "name": "read_file", "args": {"path": "a.py"}}],
)
RESULTS = row(
    "results",
    text="all that the model was told",
    results=[
        {"id": "t/1/0", "action": "read_file", "success": True, "message": "", "output": "1: x"},
        {"id": "t/1/1", "action": "patch", "success": False, "message": "refused", "output": ""},
    ],
)
NOTICE = row("notice", text="Committed 1234567: AI: modified a.py")


def test_a_conversation_is_summed_up() -> None:
    session = row("session", cwd="/home/dev/app")
    assert folded(session, PROMPT, REPLY, RESULTS, NOTICE, b"torn {") == Summary(
        cwd="/home/dev/app",
        prompt="Fix the test",
        preview="Committed 1234567: AI: modified a.py",
        first_at=AT,
        last_at=AT,
        messages=4,
        lines=6,
        bad_lines=1,
    )


def test_the_preview_is_the_last_that_has_words_and_results_have_none() -> None:
    assert folded(PROMPT, REPLY, RESULTS).preview == "Let me look."
    assert folded(PROMPT, RESULTS).preview == "Fix the test"
    assert folded(RESULTS).preview == ""


def test_words_and_actions_of_a_reply_stand_apart() -> None:
    assert blocks(REPLY) == (
        Text("Let me look."),
        ToolUse("t/1/0", "read_file", {"path": "a.py"}),
    )
    assert (message(REPLY).role, message(REPLY).text) == ("assistant", "Let me look.")


def test_results_are_tied_to_their_actions_and_say_what_failed() -> None:
    assert blocks(RESULTS) == (
        ToolResult("t/1/0", "1: x"),
        ToolResult("t/1/1", "refused", is_error=True),
    )
    assert (message(RESULTS).role, message(RESULTS).text) == ("user", "")


def test_a_prompt_is_a_persons_and_a_notice_is_not() -> None:
    assert (message(PROMPT).role, blocks(PROMPT)) == ("user", (Text("Fix the\n test"),))
    assert message(NOTICE).role == "assistant"
    assert message(NOTICE).timestamp == AT


def test_what_begins_a_file_is_no_message() -> None:
    assert FORMAT.message(row("session", cwd="/x")) is None
    assert FORMAT.entries(Cursor(), row("session") + b"\n") == []


def test_a_row_is_known_by_its_uuid_however_often_it_is_written() -> None:
    first, second = FORMAT.entries(Cursor(), PROMPT + b"\n" + PROMPT + b"\n", 100)
    assert first.identity == second.identity == identity_of(UUID)
    assert (first.offset, second.offset) == (100, 101 + len(PROMPT))
    assert message(PROMPT).uuid == UUID


def test_a_row_without_a_uuid_is_known_by_its_bytes() -> None:
    line = json.dumps({"type": "prompt", "text": "x"}).encode()
    (entry,) = FORMAT.entries(Cursor(), line + b"\n")
    assert entry.identity == identity_of_line(line)
    assert message(line).uuid == uuid_of(entry.identity)
