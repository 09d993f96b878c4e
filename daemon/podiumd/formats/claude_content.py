"""Claude's content blocks, as the stream and the transcript hold them, made canonical."""

from __future__ import annotations

from typing import Any

from podiumd.formats.claude_json import mapping, string
from podiumd.formats.message import Block, Image, Text, Thinking, ToolUse, tool_result


def blocks_of(content: object) -> tuple[Block, ...]:
    """Return the canonical blocks of a message's ``content`` (a string, or a list of blocks).

    Kinds that are unknown, and anything of the wrong shape, are left out.
    """
    if isinstance(content, str):
        return (Text(content),)
    if not isinstance(content, list):
        return ()
    found = (_block(block) for block in content if isinstance(block, dict))
    return tuple(block for block in found if block is not None)


def _block(block: dict[str, Any]) -> Block | None:
    match block.get("type"):
        case "text":
            return Text(string(block, "text"))
        case "thinking":
            return Thinking(string(block, "thinking"))
        case "tool_use":
            return ToolUse(string(block, "id"), string(block, "name"), mapping(block, "input"))
        case "tool_result":
            words = _plain(block.get("content"))
            failed = block.get("is_error") is True
            return tool_result(string(block, "tool_use_id"), words, is_error=failed)
        case "image":
            return _image(block)
        case _:
            return None


def _image(block: dict[str, Any]) -> Image:
    source = mapping(block, "source")
    base64_length = len(string(source, "data"))
    return Image(string(source, "media_type", "unknown"), base64_length * 3 // 4)


def _plain(content: object) -> str:
    """The words of a tool's result: it may be a string or blocks, pictures among them."""
    parts = []
    for block in blocks_of(content):
        if isinstance(block, Text):
            parts.append(block.text)
        elif isinstance(block, Image):
            parts.append(f"[image, {block.media_type}, {block.size} bytes]")
    return "\n".join(parts)
