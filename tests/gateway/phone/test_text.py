"""A message as the one text that a phone shows."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.formats.message import Block, Image, Other, Text, Thinking, ToolResult, ToolUse
from podiumd.gateway.phone.feed import history, text
from tests.gateway.phone.samples import SESSION, UUID, a_log, read


def _row(*blocks: dict[str, Any], **changes: Any) -> dict[str, Any]:
    row = {
        "seq": 1,
        "uuid": UUID,
        "role": "assistant",
        "text": "",
        "timestamp": "2026-01-02T03:04:05.678Z",
        "blocks": list(blocks),
    }
    return {**row, **changes}


def _result(words: str, *, is_error: bool = False) -> str:
    return text.text_of((ToolResult("t-1", words, is_error),))


def test_text_stands_as_it_is_with_a_blank_line_between() -> None:
    """P-8.1"""
    assert text.text_of((Text(" **one**\n"), Text("two"))) == " **one**\n\n\ntwo"


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("Read", {"file_path": "/a b/c", "limit": 3}, "[Tool: Read file_path=/a b/c]"),
        ("Write", {"file_path": "/a", "content": "x"}, "[Tool: Write file_path=/a]"),
        ("Edit", {"file_path": "/a"}, "[Tool: Edit file_path=/a]"),
        ("Grep", {"pattern": "x+"}, "[Tool: Grep pattern=x+]"),
        ("Bash", {"command": "make test"}, "[Tool: Bash command=make test]"),
        ("Bash", {"command": "x" * 50}, f"[Tool: Bash command={'x' * 50}]"),
        ("Bash", {"command": "x" * 51}, f"[Tool: Bash command={'x' * 50}...]"),
        ("Glob", {"pattern": "*"}, "[Tool: Glob]"),
        ("Read", {}, "[Tool: Read]"),
        ("Bash", {"command": ["make"]}, "[Tool: Bash]"),
    ],
)
def test_a_call_of_a_tool(name: str, arguments: dict[str, Any], shown: str) -> None:
    """P-8.2"""
    assert text.text_of((ToolUse("t-1", name, arguments),)) == shown


def test_a_result_of_a_tool() -> None:
    """P-8.3"""
    assert _result("1 passed\n") == "[Tool Result]\n1 passed"
    assert _result("\n  indented") == "[Tool Result]\n  indented"
    assert _result("") == "[Tool Result]\n(no output)"
    assert _result("No such file", is_error=True) == "[Tool Result]\nError: No such file"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("\x1b[1;32mok\x1b[0m", "ok"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07", "link"),
        ("a\x00b\x08\x7f\x1b", "ab"),
        ("one\r\ntwo\tthree", "one\ntwo\tthree"),
        ("<tool_use_error>No file</tool_use_error>", "No file"),
        ("a<system-reminder>be\ngood</system-reminder>b<system-reminder>x</system-reminder>", "ab"),
        ("a<system-reminder>never closed", "a<system-reminder>never closed"),
        ("</system-reminder>", "</system-reminder>"),
    ],
)
def test_a_result_is_without_what_is_not_for_people(words: str, shown: str) -> None:
    """P-8.4"""
    assert _result(words) == f"[Tool Result]\n{shown}"


def test_a_thought() -> None:
    """P-8.5"""
    assert text.text_of((Thinking("Let me\n\n see"),)) == "[Thinking: Let me see]"
    assert text.text_of((Thinking("x" * 60),)) == f"[Thinking: {'x' * 50}...]"
    assert text.text_of((Thinking("a " * 600),)) == f"[Thinking: {'a ' * 25}...]"
    assert text.text_of((Thinking(" "),)) == "[Thinking]"


def test_a_block_of_a_kind_that_is_new() -> None:
    """P-8.10"""
    assert text.text_of((Other("hologram"), Text("See"))) == "[hologram]\n\nSee"


def test_a_picture() -> None:
    """P-8.6"""
    assert text.text_of((Text("See"), Image("image/png", 9))) == "See\n\n[image]"


def test_a_message_that_was_taken_out() -> None:
    """P-8.7"""
    gone = text.of_json(_row(role="user", gone=True, timestamp=""))

    assert (gone.text, gone.typed) == ("[No longer in the transcript]", False)


def test_a_message_without_text_is_still_one() -> None:
    """P-8.8"""
    empty = text.of_json(_row())
    shown = read(history.window(a_log(1), [empty], 102_400).frame)["messages"]

    assert [m["text"] for m in shown] == [""]
    assert text.of_json(_row(text="only here")).text == "only here"


@given(st.text(max_size=200))
def test_what_a_person_typed_stays_character_by_character(words: str) -> None:
    """P-8.9"""
    row = _row({"kind": "text", "text": words}, role="user", text=words)
    message = text.of_json(row)
    shown = read(history.delta(a_log(1), [message], 0, 102_400).frame)["messages"]

    assert message.typed
    assert shown[0]["text"] == words


def test_a_persons_own_words_are_told_from_what_tools_gave() -> None:
    result = {"kind": "tool_result", "tool_use_id": "t", "text": "x"}
    picture = {"kind": "image", "media_type": "image/png", "size": 3}

    assert not text.of_json(_row(result, role="user")).typed
    assert not text.of_json(_row({"kind": "text", "text": "x"})).typed
    assert text.of_json(_row(picture, role="user")).typed


def test_a_message_is_read_as_the_service_gives_it() -> None:
    row = _row({"kind": "text", "text": "Done."}, forks_from=0, text="Done.")
    raw = msgspec.Raw(json.dumps(row).encode())

    assert text.of_json(raw) == text.of_json(row)
    assert text.of_json(raw).uuid == UUID
    assert SESSION not in text.of_json(raw).text


_BLOCKS = st.lists(
    st.one_of(
        st.builds(Text, st.text()),
        st.builds(Thinking, st.text()),
        st.builds(ToolUse, st.text(), st.text(), st.dictionaries(st.text(), st.integers())),
        st.builds(ToolResult, st.text(), st.text("\x1b[]<>/\\; ab\x07m"), st.booleans()),
        st.builds(Image, st.text(), st.integers()),
    )
)


@given(_BLOCKS)
def test_every_block_is_shown_in_its_turn(blocks: list[Block]) -> None:
    alone = [text.text_of((block,)) for block in blocks]

    assert text.text_of(tuple(blocks), "") == "\n\n".join(alone)
