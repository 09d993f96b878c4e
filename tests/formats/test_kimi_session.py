"""Kimi Code's session files as summaries, entries and messages: what no recording shows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podiumd.formats.kimi_session import KimiSession
from podiumd.formats.message import Block, Image, Text, Thinking, ToolResult, ToolUse
from podiumd.formats.session import Cursor, Summary, timestamp_of
from tests.formats.reading import encoded, folded, messages

FORMAT = KimiSession()


def message(role: str, *content: object, **more: Any) -> dict[str, Any]:
    return {
        "type": "context.append_message",
        "message": {"role": role, "content": list(content), **more},
    }


def user(text: str, **more: Any) -> dict[str, Any]:
    return message("user", {"type": "text", "text": text}, **more)


def event(type: str, **more: Any) -> dict[str, Any]:
    return {"type": "context.append_loop_event", "event": {"type": type, **more}}


def blocks(record: dict[str, Any]) -> tuple[Block, ...]:
    (found,) = messages(FORMAT, encoded(record))
    return found.blocks


@pytest.mark.parametrize(
    "record",
    [
        user("<system-reminder>", origin={"kind": "injection"}),
        user("run by the program", origin={"kind": "skill_activation", "trigger": "model"}),
        user("what it came to", origin={"kind": "shell_command", "phase": "output"}),
        message("tool", {"type": "text", "text": "42"}),
        {"type": "context.append_message"},
        {"type": "context.append_loop_event"},
        event("step.begin", uuid="s"),
        event("content.part", uuid="c"),
        event("content.part", uuid="c", part={"type": "text", "text": ""}),
        {"type": "agent.message.appended", "message": {"message": {"role": "assistant"}}},
        {"type": "context.apply_compaction", "summary": "all so far"},
    ],
)
def test_what_the_program_writes_for_itself_is_no_message(record: dict[str, Any]) -> None:
    assert FORMAT.message(json.dumps(record).encode()) is None
    assert folded(FORMAT, encoded(record)) == Summary(lines=1)


@pytest.mark.parametrize(
    "origin",
    [
        None,
        {},
        {"kind": "user"},
        {"kind": "skill_activation", "trigger": "user-slash"},
        {"kind": "plugin_command", "trigger": "user-slash"},
        {"kind": "shell_command", "phase": "input"},
    ],
)
def test_what_a_person_sent_is_a_prompt(origin: dict[str, Any] | None) -> None:
    assert folded(FORMAT, encoded(user("Hi", origin=origin))).prompt == "Hi"


def test_a_whole_message_of_the_model_has_its_calls() -> None:
    calls = [
        {"id": "c", "name": "Bash", "arguments": '{"a": 1}'},
        {"id": "d", "arguments": "{torn"},
    ]
    said = [{"type": "think", "think": "hm"}, {"type": "text", "text": "Yes."}, {"type": "odd"}]
    assert blocks(message("assistant", *said, toolCalls=calls)) == (
        Thinking("hm"),
        Text("Yes."),
        ToolUse("c", "Bash", {"a": 1}),
        ToolUse("d", "", {"arguments": "{torn"}),
    )


@pytest.mark.parametrize(
    ("url", "image"),
    [
        ("data:image/png;base64,AAAA", Image("image/png", 3)),
        ("https://example.com/a.png", Image("unknown", 0)),
    ],
)
def test_a_picture_is_told_by_its_kind_and_size(url: str, image: Image) -> None:
    assert blocks(message("user", {"type": "image_url", "imageUrl": {"url": url}})) == (image,)


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("42", "42"),
        ([{"type": "text", "text": "4"}, {"type": "text", "text": "2"}], "4\n2"),
        (5, ""),
    ],
)
def test_every_kind_of_output_is_a_tool_result(output: Any, text: str) -> None:
    result = {"output": output, "isError": True}
    record = event("tool.result", toolCallId="c", result=result)
    assert blocks(record) == (ToolResult("c", text, is_error=True),)
    assert folded(FORMAT, encoded(record)).prompt == ""


def test_a_message_without_an_id_has_one_of_its_line() -> None:
    first, second = messages(FORMAT, encoded(user("One"), user("Two")))
    assert first.uuid != second.uuid
    named, other = messages(FORMAT, encoded(user("One", id="msg_1"), user("Two", id="msg_2")))
    assert len(named.uuid) == len(other.uuid) == 36 and named.uuid != other.uuid


def test_a_prompt_after_words_that_were_taken_back_is_a_fork() -> None:
    result = event("tool.result", toolCallId="c", result={"output": "x"})
    for taken in ("context.undo", "context.clear"):
        records = [user("One"), {"type": taken, "count": 2}, result, user("Two"), user("Three")]
        found = FORMAT.entries(Cursor(), encoded(*records))
        assert [entry.parent for entry in found] == [None, None, "", None]


def test_times_are_counted_from_1970() -> None:
    record = {**user("Hi"), "time": 1_795_852_095_967}
    assert folded(FORMAT, encoded(record)).first_at == "2026-11-28T07:48:15.967Z"
    for odd in (1e300, "soon", None, 0):
        assert folded(FORMAT, encoded({**user("Hi"), "time": odd})).first_at == ""
    assert timestamp_of(float("nan")) == ""


@pytest.mark.parametrize(
    ("state", "name"),
    [
        ({"cwd": "/app", "title": "The last prompt", "titleKind": "replaceable"}, "Hi there"),
        ({"cwd": "/app", "title": "Made", "titleKind": "generated"}, "Made"),
        ({"cwd": "/app", "title": "Given", "isCustomTitle": True}, "Given"),
        ({"cwd": "/app", "title": "Given", "titleKind": "custom"}, "Given"),
        ({"cwd": "/app", "title": 5}, "Hi there"),
    ],
)
def test_directory_and_title_stand_beside(state: dict[str, Any], name: str) -> None:
    summary = folded(FORMAT, encoded(user("Hi there")))
    FORMAT.describe(summary, json.dumps(state).encode())
    assert (summary.name, summary.cwd) == (name, "/app")
    FORMAT.describe(summary, b"{torn")
    assert (summary.name, summary.cwd) == (name, "/app")
    FORMAT.describe(summary, json.dumps({"title": "Another", "titleKind": "generated"}).encode())
    assert summary.name == (name if name == "Given" else "Another")
