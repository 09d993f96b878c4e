"""The canonical message: what every agent's conversation looks like to clients.

Readers of each agent's own format produce these; nothing else in Podium knows those formats.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

RESULT_LIMIT: Final = 32_768
"""Characters of a tool's result that are kept; the agent's own record has the rest."""

PARAGRAPH: Final = "\n\n"
"""Separator of the text blocks of a message."""
DEPTH_LIMIT: Final = 100
"""Levels of a tool's input that are kept: a reader must be able to write it as JSON again."""


class Text(msgspec.Struct, frozen=True, tag="text", tag_field="kind"):
    """Words, as Markdown."""

    text: str


class Thinking(msgspec.Struct, frozen=True, tag="thinking", tag_field="kind"):
    """The model's reasoning, as far as the agent shows it: it may be empty."""

    text: str


class ToolUse(msgspec.Struct, frozen=True, tag="tool_use", tag_field="kind"):
    """A call of a tool; ``id`` ties its result to it."""

    id: str
    name: str
    input: dict[str, Any]


class ToolResult(msgspec.Struct, frozen=True, tag="tool_result", tag_field="kind"):
    """The result of a tool. ``left_out`` counts the characters cut from the end of ``text``."""

    tool_use_id: str
    text: str
    is_error: bool = False
    left_out: int = 0


class Image(msgspec.Struct, frozen=True, tag="image", tag_field="kind"):
    """A picture: what it is and its size, not its bytes."""

    media_type: str
    size: int


class Other(msgspec.Struct, frozen=True, tag="other", tag_field="kind"):
    """A block of an unknown kind, by the name that the agent gives it."""

    type: str


Role = Literal["user", "assistant"]
Block = Text | Thinking | ToolUse | ToolResult | Image | Other


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a conversation.

    ``uuid`` is the record's own identity; ``text`` joins the text blocks; ``timestamp`` is as the
    agent wrote it (RFC 3339), or empty: order never comes from it.
    """

    uuid: str
    role: Role
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


def bounded(value: dict[str, Any], depth: int = DEPTH_LIMIT) -> dict[str, Any]:
    """Return a tool's input with what is nested deeper than ``depth`` levels left out."""
    return {key: _bounded(item, depth - 1) for key, item in value.items()}


def _bounded(value: Any, depth: int) -> Any:
    if not isinstance(value, (dict, list)):
        return value
    if depth == 0:
        return "[nested too deeply, left out]"
    return (
        bounded(value, depth)
        if isinstance(value, dict)
        else [_bounded(v, depth - 1) for v in value]
    )


def image_of_base64(media_type: str, length: int) -> Image:
    """Return a picture that is ``length`` characters long in base64."""
    return Image(media_type, length * 3 // 4)


def plain(blocks: tuple[Block, ...]) -> list[str]:
    """Return the words of a tool's result, block by block; a picture is named in their place."""
    words = []
    for block in blocks:
        if isinstance(block, Text):
            words.append(block.text)
        elif isinstance(block, Image):
            words.append(f"[image, {block.media_type}, {block.size} bytes]")
    return words


def text_of(blocks: tuple[Block, ...]) -> str:
    """Return the words of a message: its text blocks, a blank line between them."""
    return PARAGRAPH.join(block.text for block in blocks if isinstance(block, Text))
