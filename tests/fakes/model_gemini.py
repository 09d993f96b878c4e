"""Google's generateContent: what a request of it says, and a scripted message as its chunks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.fakes.model_script import Asked, Turn
from tests.fakes.model_stream import CHUNK, pieces

PATH = re.compile(r"/v1(?:beta)?/models/(?P<model>[^/:]+):(?P<verb>\w+)")
"""Where a request goes: ``generateContent``, ``streamGenerateContent`` or ``countTokens``."""

OWN_WORDS = re.compile(r"\s*<session_context>")
"""How what the agent itself says first begins."""


def read_gemini(body: Mapping[str, Any], model: str) -> Asked:
    """Reduce the body of a request to what rules and tests look at."""
    given = body.get("contents", [])
    contents = [given] if isinstance(given, dict) else list(given)
    prompts = [
        words
        for content in contents
        if content.get("role", "user") == "user" and (words := _prompt(content))
    ]
    return Asked(
        prompt=prompts[-1] if prompts else "",
        result="\n".join(_results(contents[-1])) if contents else "",
        system="\n".join(_texts(body.get("systemInstruction") or {})),
        model=model,
        session="",
        agent="",
        anywhere="\n".join(
            text for content in contents for text in (*_texts(content), *_results(content))
        ),
        tools=tuple(
            str(one.get("name", ""))
            for tool in body.get("tools") or ()
            for one in tool.get("functionDeclarations", ())
        ),
        messages=len(contents),
    )


def _prompt(content: Mapping[str, Any]) -> str:
    return "\n".join(text for text in _texts(content) if not OWN_WORDS.match(text))


def _texts(content: Mapping[str, Any]) -> list[str]:
    return [str(part["text"]) for part in content.get("parts", ()) if part.get("text")]


def _results(content: Mapping[str, Any]) -> list[str]:
    answers = (part.get("functionResponse") for part in content.get("parts", ()))
    return [json.dumps(one.get("response")) for one in answers if one]


def gemini_chunks(
    turn: Turn, blocks: list[dict[str, Any]], model: str, number: int
) -> list[dict[str, Any]]:
    """Return the chunks of a streamed message, in order."""
    size = turn.get("chunk", CHUNK)
    parts: list[dict[str, Any]] = []
    for block in blocks:
        if block["type"] == "thinking":
            parts.append({"text": block["thinking"], "thought": True})
        elif block["type"] == "text":
            parts += ({"text": piece} for piece in pieces(block["text"], size))
        else:
            call = {"id": block["id"], "name": block["name"], "args": block["input"]}
            parts.append({"functionCall": call})
    given = {"input_tokens": 10, "output_tokens": 5, **turn.get("usage", {})}
    counts = {
        "promptTokenCount": given["input_tokens"],
        "candidatesTokenCount": given["output_tokens"],
        "totalTokenCount": given["input_tokens"] + given["output_tokens"],
    }
    last = {"finishReason": "STOP"}
    return [
        *(_chunk([part], model, number) for part in parts),
        {**_chunk([{"text": ""}], model, number, **last), "usageMetadata": counts},
    ]


def gemini_object(
    turn: Turn, blocks: list[dict[str, Any]], model: str, number: int
) -> dict[str, Any]:
    """Return the whole message, as a request without a stream gets it."""
    *chunks, last = gemini_chunks(turn, blocks, model, number)
    parts = [part for one in chunks for part in one["candidates"][0]["content"]["parts"]]
    whole = _chunk(parts or [{"text": ""}], model, number, finishReason="STOP")
    return {**whole, "usageMetadata": last["usageMetadata"]}


def gemini_error(status: int, message: str) -> dict[str, Any]:
    """Return an error in Google's words."""
    names = {401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}
    about = {"code": status, "message": message, "status": names.get(status, "INTERNAL")}
    return {"error": about}


def _chunk(parts: list[dict[str, Any]], model: str, number: int, **more: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **more}
    return {
        "candidates": [candidate],
        "modelVersion": model,
        "responseId": f"response-{number:04}",
    }
