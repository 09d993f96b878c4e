"""Claude's content blocks, as the stream and the transcript hold them, made canonical."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from podiumd.formats.json_fields import mapping, string
from podiumd.formats.message import (
    Block,
    Image,
    Other,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    bounded,
    image_of_base64,
    plain,
    tool_result,
)

KIND_CHARACTERS: Final = 100
"""Characters of the name of a kind of block."""

VIEW_FIELDS: Final = ("stdout", "stderr", "content")
"""Where the agent's own view of a tool's result keeps its words."""


def blocks_of(content: object) -> tuple[Block, ...]:
    """Return the canonical blocks of a message's ``content`` (a string, or a list of blocks).

    Anything of the wrong shape is left out; a kind that is unknown is named.
    """
    if isinstance(content, str):
        return (Text(content),)
    if not isinstance(content, list):
        return ()
    found = (_block(block) for block in content if isinstance(block, dict))
    return tuple(block for block in found if block is not None)


def blocks_of_record(raw: dict[str, Any]) -> tuple[Block, ...]:
    """Return the canonical blocks of a session file's record of type user or assistant.

    A tool's result that holds no words for the model is taken from the agent's own view of it,
    ``toolUseResult``.
    """
    blocks = blocks_of(mapping(raw, "message").get("content"))
    match blocks:
        case (ToolResult(text="") as result,):
            words = _viewed(raw.get("toolUseResult"))
            return (tool_result(result.tool_use_id, words, is_error=result.is_error),)
        case _:
            return blocks


def words_of_view(view: object) -> str:
    """Return what the agent's own view of a tool's result says, as JSON where that is no words."""
    if isinstance(view, dict) and not any(name in view for name in VIEW_FIELDS):
        return msgspec.json.encode(view).decode()
    return _viewed(view)


def _viewed(view: object) -> str:
    if not isinstance(view, dict):
        return _plain(view)
    parts = (_plain(view.get(name)) for name in VIEW_FIELDS)
    return "\n".join(part for part in parts if part)


def _block(block: dict[str, Any]) -> Block | None:
    match block.get("type"):
        case "text":
            return Text(string(block, "text"))
        case "thinking" | "redacted_thinking":
            # The model's thought may be withheld: then only its signature stands here.
            return Thinking(string(block, "thinking"))
        case "tool_use":
            arguments = bounded(mapping(block, "input"))
            return ToolUse(string(block, "id"), string(block, "name"), arguments)
        case "tool_result":
            words = _plain(block.get("content"))
            failed = block.get("is_error") is True
            return tool_result(string(block, "tool_use_id"), words, is_error=failed)
        case "image":
            return _image(block)
        case str(kind) if kind:
            return Other(kind[:KIND_CHARACTERS])
        case _:
            return None


def _image(block: dict[str, Any]) -> Image:
    source = mapping(block, "source")
    media_type = string(source, "media_type", "unknown")
    return image_of_base64(media_type, len(string(source, "data")))


def _plain(content: object) -> str:
    """Return the words of a tool's result: a string or blocks, pictures among them."""
    return "\n".join(plain(blocks_of(content)))
