"""Parts of a message as Google's API has them, which Gemini CLI and Qwen Code keep. Pure."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from podiumd.formats.json_fields import mapping, string
from podiumd.formats.message import (
    Block,
    Other,
    Text,
    Thinking,
    ToolUse,
    bounded,
    image_of_base64,
    tool_result,
)

_SAID: Final = ("output", "error")
_encode: Final = msgspec.json.Encoder().encode


def blocks_of_parts(parts: object) -> tuple[Block, ...]:
    """Return what parts hold: a text, a part, or a list of these."""
    if not isinstance(parts, list):
        parts = [parts]
    found = (_block(part) for part in parts)
    return tuple(block for block in found if block is not None)


def _block(part: object) -> Block | None:
    if isinstance(part, str):
        return Text(part) if part else None
    if not isinstance(part, dict):
        return None
    if call := mapping(part, "functionCall"):
        return call_of(call)
    if response := mapping(part, "functionResponse"):
        return _result(response)
    if data := mapping(part, "inlineData"):
        return image_of_base64(string(data, "mimeType"), len(string(data, "data")))
    text = part.get("text")
    if not isinstance(text, str):
        return Other(next(iter(part), ""))
    return Thinking(text) if part.get("thought") is True else Text(text)


def call_of(call: dict[str, Any]) -> ToolUse:
    """Return a call of a tool."""
    return ToolUse(string(call, "id"), string(call, "name"), bounded(mapping(call, "args")))


def _result(response: dict[str, Any]) -> Block:
    given = mapping(response, "response")
    texts = (given.get(name) for name in _SAID)
    text = next((text for text in texts if isinstance(text, str)), None)
    if text is None:
        text = _encode(bounded(given)).decode() if given else ""
    return tool_result(string(response, "id"), text, is_error="error" in given)
