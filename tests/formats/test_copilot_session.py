"""Copilot's session files as summaries, entries and messages: what no recording shows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podiumd.formats.copilot_session import CopilotSession
from podiumd.formats.message import Block, Image, Other, Text, ToolResult, ToolUse
from podiumd.formats.session import Cursor, Summary
from tests.formats.reading import encoded, folded, messages

FORMAT = CopilotSession()


def event(type: str, **data: Any) -> dict[str, Any]:
    return {"type": type, "data": data}


def user(text: str, **more: Any) -> dict[str, Any]:
    return event("user.message", content=text, **more)


def blocks(record: dict[str, Any]) -> tuple[Block, ...]:
    (found,) = messages(FORMAT, encoded(record))
    return found.blocks


@pytest.mark.parametrize(
    "record",
    [
        user("a skill's words", source="skill-pdf"),
        user("of a sub-agent", source="agent-1"),
        {**user("to a sub-agent"), "agentId": "a"},
        event("assistant.message", content="of a sub-agent", parentToolCallId="c"),
        event("assistant.message", content="", toolRequests=[]),
        event("system.message", content="You are"),
        event("session.compaction_complete", summaryContent="all so far"),
        {"type": "abort"},
    ],
)
def test_what_the_program_writes_for_itself_is_no_message(record: dict[str, Any]) -> None:
    assert FORMAT.message(json.dumps(record).encode()) is None
    assert folded(FORMAT, encoded(record)) == Summary(lines=1)


@pytest.mark.parametrize("source", ["", "user", "command-review"])
def test_what_a_person_sent_is_a_prompt(source: str) -> None:
    assert folded(FORMAT, encoded(user("Hi", source=source))).prompt == "Hi"


def test_what_is_attached_is_named() -> None:
    image = {"type": "file", "mimeType": "image/png", "byteLength": 70}
    odd = {"type": "file", "mimeType": "image/png", "byteLength": -1}
    assert blocks(user("Look", attachments=[image, odd, {"type": "directory"}])) == (
        Text("Look"),
        Image("image/png", 70),
        Image("image/png", 0),
        Other("directory"),
    )


def test_arguments_that_are_no_object_are_given_as_words() -> None:
    calls = [{"toolCallId": "c", "name": "run", "arguments": "ls"}]
    record = event("assistant.message", toolRequests=calls)
    assert blocks(record) == (ToolUse("c", "run", {"arguments": "ls"}),)


@pytest.mark.parametrize(
    ("data", "text", "failed"),
    [
        ({"success": True, "result": {"content": "42"}}, "42", False),
        (
            {"success": True, "result": {"content": "42"}, "shellExecution": {"exitCode": 0}},
            "42",
            False,
        ),
        (
            {"success": True, "result": {"content": "42"}, "shellExecution": {"exitCode": 3}},
            "42",
            True,
        ),
        ({"success": False, "error": {"message": "no"}}, "no", True),
        ({}, "", True),
    ],
)
def test_every_end_of_a_tool_is_a_result(data: dict[str, Any], text: str, failed: bool) -> None:
    record = event("tool.execution_complete", toolCallId="c", **data)
    assert blocks(record) == (ToolResult("c", text, failed),)
    assert folded(FORMAT, encoded(record)).prompt == ""


def test_a_prompt_after_words_that_were_taken_back_is_a_fork() -> None:
    for taken in ("session.snapshot_rewind", "session.context_cleared"):
        found = FORMAT.entries(Cursor(), encoded(user("One"), event(taken), user("Two"), user("3")))
        assert [entry.parent for entry in found] == [None, "", None]


def test_the_directory_is_the_first_that_is_named_and_the_title_the_last() -> None:
    records = [
        event("session.start", context={"cwd": "/a"}),
        event("session.resume", context={"cwd": "/b"}),
        event("session.title_changed", title="One"),
        event("session.title_changed", title="Two"),
        event("session.info", title="Three"),
    ]
    assert folded(FORMAT, encoded(*records)).cwd == "/a"
    assert folded(FORMAT, encoded(*records)).name == "Two"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("name: A session", "A session"),
        ('name: "A: \\"session\\""', 'A: "session"'),
        ("name: 'A: person''s'", "A: person's"),
        ('name: "torn', "Hi"),
        ("name: |-", "Hi"),
        ("name:", "Hi"),
    ],
)
def test_a_name_that_a_person_gave_stands_beside(line: str, name: str) -> None:
    summary = folded(FORMAT, encoded(user("Hi")))
    FORMAT.describe(summary, f"id: 1\n{line}\nuser_named: false\n".encode())
    assert summary.name == "Hi"
    FORMAT.describe(summary, f"id: 1\n{line}\nuser_named: true\n".encode())
    assert summary.name == name
