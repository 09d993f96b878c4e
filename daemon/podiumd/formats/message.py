"""The canonical message: what every agent's conversation looks like to clients.

Readers of each agent's own format produce these; nothing else in Podium knows those formats.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

RESULT_LIMIT: Final = 32_768
"""Characters of a tool's result that are kept; the agent's own record has the rest."""


class Text(msgspec.Struct, frozen=True, tag="text", tag_field="kind"):
    """Words, as Markdown."""

    text: str


class Thinking(msgspec.Struct, frozen=True, tag="thinking", tag_field="kind"):
    """The model's reasoning, as far as the agent shows it."""

    text: str


class ToolUse(msgspec.Struct, frozen=True, tag="tool_use", tag_field="kind"):
    """A call of a tool; ``id`` ties its result to it."""

    id: str
    name: str
    input: dict[str, Any]


class ToolResult(msgspec.Struct, frozen=True, tag="tool_result", tag_field="kind"):
    """What a tool gave back. ``left_out`` counts the characters cut from the end of ``text``."""

    tool_use_id: str
    text: str
    is_error: bool = False
    left_out: int = 0


class Image(msgspec.Struct, frozen=True, tag="image", tag_field="kind"):
    """A picture: what it is and its size, not its bytes."""

    media_type: str
    size: int


Block = Text | Thinking | ToolUse | ToolResult | Image


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a conversation.

    ``uuid`` is the record's own identity; ``text`` joins the text blocks; ``timestamp`` is as the
    agent wrote it (RFC 3339), or empty: order never comes from it.
    """

    uuid: str
    role: Literal["user", "assistant"]
    text: str
    timestamp: str
    blocks: tuple[Block, ...]


def tool_result(
    tool_use_id: str, text: str, *, is_error: bool, limit: int = RESULT_LIMIT
) -> ToolResult:
    """Return a tool's result, cut to ``limit`` characters with a notice that says so."""
    left_out = max(0, len(text) - limit)
    if left_out:
        text = f"{text[:limit]}\n[{left_out} more characters left out]"
    return ToolResult(tool_use_id, text, is_error, left_out)


def text_of(blocks: tuple[Block, ...]) -> str:
    """Return the words of a message: its text blocks, a blank line between them."""
    return "\n\n".join(block.text for block in blocks if isinstance(block, Text))
