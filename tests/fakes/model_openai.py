"""A scripted message as OpenAI's chat completions put it: one object, or the chunks of a stream."""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.model_script import Turn
from tests.fakes.model_stream import CHUNK, pieces

FINISH = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}


def _head(model: str, number: int, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{number:04}", "object": kind, "created": 0, "model": model}


def _usage(turn: Turn) -> dict[str, Any]:
    given = {"input_tokens": 10, "output_tokens": 5, **turn.get("usage", {})}
    read = given.get("cache_read_input_tokens", 0)
    prompt, completion = given["input_tokens"] + read, given["output_tokens"]
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": read},
    }


def _finish(turn: Turn, calls: list[Any]) -> str:
    given = str(turn.get("stop_reason", "tool_use" if calls else "end_turn"))
    return FINISH.get(given, given)


def _parts(blocks: list[dict[str, Any]]) -> tuple[str, str, list[dict[str, Any]]]:
    """The thinking, the text and the calls of a message."""
    thinking = "".join(b["thinking"] for b in blocks if b["type"] == "thinking")
    text = "".join(b["text"] for b in blocks if b["type"] == "text")
    calls = [
        {
            "index": index,
            "id": block["id"],
            "type": "function",
            "function": {"name": block["name"], "arguments": json.dumps(block["input"])},
        }
        for index, block in enumerate(b for b in blocks if b["type"] == "tool_use")
    ]
    return thinking, text, calls


def completion_object(
    turn: Turn, blocks: list[dict[str, Any]], model: str, number: int
) -> dict[str, Any]:
    """Return the whole completion, as a request without ``stream`` gets it."""
    thinking, text, calls = _parts(blocks)
    message = {
        "role": "assistant",
        "content": text,
        **({"reasoning_content": thinking} if thinking else {}),
        **({"tool_calls": calls} if calls else {}),
    }
    choice = {"index": 0, "message": message, "finish_reason": _finish(turn, calls)}
    return {
        **_head(model, number, "chat.completion"),
        "choices": [choice],
        "usage": _usage(turn),
    }


def completion_chunks(
    turn: Turn, blocks: list[dict[str, Any]], model: str, number: int, *, usage: bool
) -> list[dict[str, Any]]:
    """Return the chunks of a streamed completion, in order; with ``usage`` a last one counts."""
    thinking, text, calls = _parts(blocks)
    size = turn.get("chunk", CHUNK)
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": ""},
        *({"reasoning_content": piece} for piece in pieces(thinking, size)),
        *({"content": piece} for piece in pieces(text, size)),
        *({"tool_calls": [call]} for call in calls),
    ]
    head = _head(model, number, "chat.completion.chunk")
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
    ]
    choices.append({"index": 0, "delta": {}, "finish_reason": _finish(turn, calls)})
    chunks = [{**head, "choices": [choice]} for choice in choices]
    return chunks + ([{**head, "choices": [], "usage": _usage(turn)}] if usage else [])
