"""The wire forms of a scripted message: one object, or the events of a stream."""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.model_script import Turn

CHUNK = 24


def message_object(
    turn: Turn, blocks: list[dict[str, Any]], model: str, number: int
) -> dict[str, Any]:
    """Return the whole message, as a request without ``stream`` gets it."""
    called = any(block["type"] == "tool_use" for block in blocks)
    usage = {"input_tokens": 10, "output_tokens": 5}
    return {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": turn.get("stop_reason", "tool_use" if called else "end_turn"),
        "stop_sequence": None,
        "usage": {**usage, **turn.get("usage", {})},
    }


def pieces(text: str, size: int) -> list[str]:
    """Return a text cut into pieces of at most ``size`` characters."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def _block_events(index: int, block: dict[str, Any], size: int) -> list[dict[str, Any]]:
    if block["type"] == "text":
        empty: dict[str, Any] = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"], size)]
    elif block["type"] == "thinking":
        empty = {"type": "thinking", "thinking": "", "signature": ""}
        parts = pieces(block["thinking"], size)
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in parts]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    else:
        empty = {**block, "input": {}}
        parts = pieces(json.dumps(block["input"]), size)
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in parts]
    return [
        {"type": "content_block_start", "index": index, "content_block": empty},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def message_events(
    turn: Turn, blocks: list[dict[str, Any]], model: str, number: int
) -> list[dict[str, Any]]:
    """Return the events of a streamed message, in order, ``message_start`` first."""
    whole = message_object(turn, blocks, model, number)
    usage = whole["usage"]
    started = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    size = turn.get("chunk", CHUNK)
    content = [e for index, block in enumerate(blocks) for e in _block_events(index, block, size)]
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    return [
        {"type": "message_start", "message": started},
        *content,
        {"type": "message_delta", "delta": stop, "usage": usage},
        {"type": "message_stop"},
    ]
