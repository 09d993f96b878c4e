"""Gemini CLI's session files as summaries, entries and messages: what no recording shows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podiumd.formats.gemini_session import GeminiSession, session_in
from podiumd.formats.message import Text, Thinking, ToolUse
from podiumd.formats.session import Cursor, Summary
from tests.formats import fixtures
from tests.formats.reading import encoded, entries, folded, messages

FORMAT = GeminiSession()


def user(text: str, id: str = "u", **more: Any) -> dict[str, Any]:
    return {"id": id, "type": "user", "content": [{"text": text}], **more}


def answer(text: str, id: str = "g", *calls: object) -> dict[str, Any]:
    return {"id": id, "type": "gemini", "content": text, "toolCalls": list(calls)}


def call(id: str, **args: Any) -> dict[str, Any]:
    return {"id": id, "name": "run", "args": args, "timestamp": "2026-11-28T08:00:00.000Z"}


def test_calls_that_are_written_again_with_every_further_one_are_each_one_message() -> None:
    records = [answer("", "g", *(call(str(n)) for n in range(count))) for count in range(1, 5)]
    found = messages(FORMAT, encoded(*records))
    assert [one.blocks for one in found] == [(ToolUse(str(n), "run", {}),) for n in range(4)]
    assert folded(FORMAT, encoded(*records)).messages == 4
    assert found[0].timestamp == "2026-11-28T08:00:00.000Z"


def test_words_that_are_written_again_with_calls_stand_once() -> None:
    first, again = answer("I look."), answer("I look.", "g", call("1", a="I look."))
    one, two = messages(FORMAT, encoded(first, again))
    assert (one.blocks, two.blocks) == (
        (Text("I look."),),
        (ToolUse("1", "run", {"a": "I look."}),),
    )
    alone = messages(FORMAT, encoded(again))
    assert [each.uuid for each in alone] == [one.uuid, two.uuid]


def test_two_calls_that_read_the_same_have_places_of_their_own() -> None:
    data = encoded(answer("", "g", call("1"), call("1"), "none", {"id": "x"}))
    found = FORMAT.entries(Cursor(), data, 100)
    assert [entry.offset - 100 for entry in found] == [
        data.index(b'{"id": "1"'),
        data.rindex(b'{"id": "1"'),
    ]
    assert len(entries(FORMAT, data)) == 1


@pytest.mark.parametrize(
    "record",
    [
        user("<session_context>\nThis is the Gemini CLI."),
        user(" <hook_context>x"),
        {"id": "u", "type": "user"},
        answer(""),
        answer("", "g", "none", {"id": "x"}, {"name": "run"}),
        {"id": "i", "type": "info", "content": "An update is there."},
        {"sessionId": "s", "projectHash": "p"},
        {"$set": {"messages": [user("Hi")], "lastUpdated": ""}},
        {"id": "x", "name": ""},
    ],
)
def test_what_the_program_writes_for_itself_is_no_message(record: dict[str, Any]) -> None:
    assert FORMAT.message(json.dumps(record).encode()) is None
    assert folded(FORMAT, encoded(record)) == Summary(lines=1)


def test_the_title_is_the_programs_and_the_directory_stands_beside() -> None:
    summary = folded(FORMAT, encoded(user("Hi"), {"$set": {"summary": "Greets"}}))
    assert (summary.name, summary.cwd) == ("Greets", "")
    FORMAT.describe(summary, b"/home/dev/app\n")
    FORMAT.describe(summary, b"")
    assert summary.cwd == "/home/dev/app"


def test_what_was_typed_is_shown_and_not_what_the_model_was_given() -> None:
    (found,) = messages(FORMAT, encoded(user("@a.py and all of it", displayContent="@a.py")))
    assert found.text == "@a.py"


def test_thoughts_have_a_subject() -> None:
    thoughts = [{"subject": "A file", "description": "is wanted."}, {"subject": "Only"}]
    (found,) = messages(FORMAT, encoded({**answer("Yes."), "thoughts": thoughts}))
    assert found.blocks == (Thinking("A file\nis wanted."), Thinking("Only"), Text("Yes."))


def test_a_prompt_after_a_rewind_is_a_fork() -> None:
    response = {"functionResponse": {"id": "1", "response": {"output": "x"}}}
    result = {"id": "r", "type": "user", "content": [response]}
    again = [user("Two", "v"), user("Three", "w")]
    records = [user("One"), answer("1"), {"$rewindTo": "u"}, result, *again]
    found = FORMAT.entries(Cursor(), encoded(*records))
    assert [entry.parent for entry in found] == [None, None, None, "", None]
    cursor = Cursor()
    FORMAT.entries(cursor, encoded(*records[:3]))
    assert [one.parent for one in FORMAT.entries(cursor, encoded(*again))] == ["", None]


def test_a_file_is_a_sessions_once_a_message_is_in_it() -> None:
    (path, *empty) = fixtures.of("gemini", "tools")
    data = path.read_bytes()
    assert session_in(data).startswith("34575043-")
    assert session_in(data[: data.index(b'\n{"id":"') + 8]).startswith("34575043-")
    assert session_in(data[: data.index(b'\n{"id":"') + 7]) == ""
    assert [session_in(one.read_bytes()) for one in empty] == ["", ""]


@pytest.mark.parametrize(
    "head", [b"", b"no line", b'[]\n{"id":"a"}', b'{"sessionId":5}\n{"id":"a"}', b'\n{"id":"a"}']
)
def test_a_file_that_says_not_whose_it_is_is_no_sessions(head: bytes) -> None:
    assert session_in(head) == ""
