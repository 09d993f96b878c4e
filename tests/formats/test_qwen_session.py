"""Qwen Code's session files as summaries, entries and messages: what no recording shows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podiumd.formats.message import Block, Image, Other, Text, Thinking, ToolResult, ToolUse
from podiumd.formats.qwen_session import QwenSession
from podiumd.formats.session import Cursor, Entry, Summary, identity_of
from tests.formats.reading import encoded, folded

FORMAT = QwenSession()


def row(type: str, uuid: str = "", parent: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": type, "uuid": uuid, "parentUuid": parent, **more}


def user(text: str, uuid: str = "", parent: str | None = None, **more: Any) -> dict[str, Any]:
    return row("user", uuid, parent, message={"parts": [{"text": text}]}, **more)


def blocks(parts: object) -> tuple[Block, ...]:
    found = FORMAT.message(json.dumps(row("assistant", message={"parts": parts})).encode())
    assert found is not None
    return found.blocks


def placed(*records: object) -> list[Entry]:
    return FORMAT.entries(Cursor(), encoded(*records))


@pytest.mark.parametrize(
    "record",
    [
        row("system", subtype="ui_telemetry"),
        user("<task-notification>", subtype="notification"),
        user("a sub-agent is told", isSidechain=True),
        row("odd"),
    ],
)
def test_what_the_program_writes_for_itself_is_no_message(record: dict[str, Any]) -> None:
    assert FORMAT.message(json.dumps(record).encode()) is None
    assert folded(FORMAT, encoded(record)) == Summary(lines=1)


def test_a_title_of_a_person_counts_for_more_than_one_that_the_model_made() -> None:
    def titled(title: str, source: str) -> dict[str, Any]:
        given = {"customTitle": title, "titleSource": source}
        return row("system", subtype="custom_title", systemPayload=given)

    made, given = titled("Made", "auto"), titled("Given", "manual")
    assert folded(FORMAT, encoded(made)).name == "Made"
    assert folded(FORMAT, encoded(given, made)).name == "Given"
    assert folded(FORMAT, encoded(user("Hi", systemPayload={"customTitle": "No"}))).name == "Hi"


def test_the_prompt_is_what_was_typed_and_no_result() -> None:
    result = row("tool_result", message={"parts": [{"text": "42"}]})
    typed = user("Hi, and what a hook added", systemPayload={"displayText": "Hi"})
    assert folded(FORMAT, encoded(result)).prompt == ""
    assert folded(FORMAT, encoded(result, typed)).prompt == "Hi"


def test_parts_of_every_kind_are_blocks() -> None:
    call = {"id": "c", "name": "run", "args": {"a": 1}}
    image = {"mimeType": "image/png", "data": "AAAA"}
    parts = [
        {"text": "said"},
        {"text": "thought", "thought": True},
        {"functionCall": call},
        {"inlineData": image},
        {"fileData": {"fileUri": "x"}},
        "bare",
        "",
        {},
        5,
    ]
    assert blocks(parts) == (
        Text("said"),
        Thinking("thought"),
        ToolUse("c", "run", {"a": 1}),
        Image("image/png", 3),
        Other("fileData"),
        Text("bare"),
        Other(""),
    )
    assert blocks({"text": "one"}) == (Text("one"),)
    assert blocks(None) == ()


@pytest.mark.parametrize(
    ("response", "text", "failed"),
    [
        ({"output": "done"}, "done", False),
        ({"error": "no"}, "no", True),
        ({"error": {"code": 3}}, '{"error":{"code":3}}', True),
        ({"found": [1]}, '{"found":[1]}', False),
        ({}, "", False),
        (None, "", False),
    ],
)
def test_a_result_is_its_output_or_what_there_is(response: Any, text: str, failed: bool) -> None:
    part = {"functionResponse": {"id": "c", "name": "run", "response": response}}
    assert blocks([part]) == (ToolResult("c", text, failed),)


def test_a_prompt_after_a_rewind_is_a_fork_from_where_it_goes_back_to() -> None:
    first, answer = user("One", "u1"), row("assistant", "a1", "u1")
    second, back = user("Two", "u2", "a1"), row("system", "r", "a1", subtype="rewind")
    third = user("Another two", "u3", "r")
    found = placed(first, answer, second, back, third)
    assert [entry.parent for entry in found] == [None, None, None, "r"]
    cursor = Cursor()
    FORMAT.entries(cursor, encoded(first, answer, second, back))
    assert cursor.take_links() == identity_of("r") + identity_of("a1")
    assert [one.parent for one in FORMAT.entries(cursor, encoded(third))] == ["r"]


def test_what_the_program_notes_between_two_messages_makes_no_fork() -> None:
    note, nameless = row("system", "s", "a1"), row("system")
    records = [
        user("One", "u1"),
        row("assistant", "a1", "u1"),
        note,
        nameless,
        user("Two", "", "s"),
    ]
    assert [entry.parent for entry in placed(*records)] == [None, None, None]


def test_a_record_that_says_not_what_it_follows_forks_from_nothing() -> None:
    silent = {"type": "user", "uuid": "u2", "message": {"parts": []}}
    noted = {"type": "system", "uuid": "s"}
    found = placed(user("One", "u1"), noted, silent, user("Three", "u3", "s"))
    assert [entry.parent for entry in found] == [None, None, "s"]
    assert placed(user("One", "u1"), user("Anew", "u2"))[1].parent == ""
