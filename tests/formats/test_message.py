"""Canonical messages, and Claude's content blocks made canonical."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.formats.claude_content import blocks_of
from podiumd.formats.message import (
    Block,
    Image,
    Message,
    Other,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    text_of,
    tool_result,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def test_a_long_tool_result_is_cut_and_says_so() -> None:
    cut = tool_result("t", "abcdef", is_error=False, limit=4)
    assert cut == ToolResult("t", "abcd\n[2 more characters left out]", False, 2)
    assert tool_result("t", "abcd", is_error=True, limit=4) == ToolResult("t", "abcd", True, 0)


def test_the_text_of_a_message_is_its_text_blocks_alone() -> None:
    assert text_of((Text("a"), Thinking("no"), Text("b"))) == "a\n\nb"


def test_blocks_name_their_kind_on_the_wire() -> None:
    blocks: tuple[Block, ...] = (Text("a"), Image("image/png", 3))
    message = Message(uuid="u", role="user", text="a", timestamp="", blocks=blocks)
    wire = msgspec.to_builtins(message)
    assert [block["kind"] for block in wire["blocks"]] == ["text", "image"]
    assert msgspec.convert(wire, Message) == message


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        ("hi", (Text("hi"),)),
        (None, ()),
        ([{"type": "thinking", "thinking": "hm"}], (Thinking("hm"),)),
        (
            [{"type": "tool_use", "id": "t", "name": "N", "input": {"a": 1}}],
            (ToolUse("t", "N", {"a": 1}),),
        ),
        ([{"type": "tool_use", "id": 1, "input": []}], (ToolUse("", "", {}),)),
        ([{"type": "tool_result", "tool_use_id": "t", "content": "ok"}], (ToolResult("t", "ok"),)),
        ([{"type": "tool_result", "is_error": True}], (ToolResult("", "", True),)),
        (
            [{"type": "image", "source": {"media_type": "image/png", "data": "AAAA"}}],
            (Image("image/png", 3),),
        ),
        ([{"type": "image"}], (Image("unknown", 0),)),
        (
            [{"type": "server_tool_use"}, "stray", {"type": "text", "text": "x"}],
            (Other("server_tool_use"), Text("x")),
        ),
    ],
)
def test_every_kind_of_content_is_read(content: object, blocks: tuple[Block, ...]) -> None:
    assert blocks_of(content) == blocks


def test_a_tool_result_of_blocks_keeps_words_and_names_pictures() -> None:
    inner = [
        {"type": "text", "text": "a"},
        {"type": "image", "source": {"media_type": "image/png", "data": "AAAA"}},
        {"type": "thinking", "thinking": "never here"},
    ]
    result = blocks_of([{"type": "tool_result", "tool_use_id": "t", "content": inner}])
    assert result == (ToolResult("t", "a\n[image, image/png, 3 bytes]"),)


@given(
    JSON
    | st.lists(
        st.dictionaries(
            st.sampled_from(["type", "text", "content", "source"]),
            JSON | st.sampled_from(["text", "image", "tool_result"]),
        )
    )
)
def test_no_content_makes_the_reader_raise(content: object) -> None:
    assert isinstance(blocks_of(content), tuple)
