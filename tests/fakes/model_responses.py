"""OpenAI's Responses: what a request of it says, and a scripted message as the events of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.fakes.model_script import Asked, Turn
from tests.fakes.model_stream import CHUNK, pieces

OWN_WORDS = re.compile(r"\s*<(?:environment_context|turn_aborted|user_instructions)>")
"""How the rows of role user begin that the agent writes itself."""


def read_responses(body: Mapping[str, Any], session: str, agent: str) -> Asked:
    """Reduce the body of a request to what rules and tests look at."""
    given = body.get("input", [])
    items = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
    prompts = [words for item in items if (words := _prompt(item))]
    told = [str(body.get("instructions") or "")]
    told += [text for item in items if item.get("role") == "developer" for text in _words(item)]
    return Asked(
        prompt=prompts[-1] if prompts else "",
        result="\n".join(_last_results(items)),
        system="\n".join(told),
        model=str(body.get("model", "")),
        session=session,
        agent=agent,
        anywhere="\n".join(text for item in items for text in _words(item)),
        tools=tuple(_names(body.get("tools") or ())),
        messages=len(items),
    )


def _prompt(item: Mapping[str, Any]) -> str:
    """The person's words in an item, empty where there are none."""
    if item.get("role") != "user":
        return ""
    return "\n".join(text for text in _words(item) if not OWN_WORDS.match(text))


def _words(item: Mapping[str, Any]) -> list[str]:
    content = item.get("output" if "output" in item else "content")
    if isinstance(content, str):
        return [content]
    return [str(part["text"]) for part in content or () if isinstance(part.get("text"), str)]


def _last_results(items: list[Mapping[str, Any]]) -> list[str]:
    """The results that the request ends with: those of the message before it."""
    found: list[str] = []
    for item in reversed(items):
        if not str(item.get("type", "")).endswith("_call_output"):
            break
        found = [*_words(item), *found]
    return found


def _names(tools: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """The tools' names, those of a namespace with its own before them."""
    for tool in tools:
        name = str(tool.get("name") or tool.get("type") or "")
        inner = tool.get("tools")
        if inner is None:
            yield name
        else:
            yield from (f"{name}.{one}" for one in _names(inner))


def wants_schema(body: Mapping[str, Any]) -> bool:
    """Say whether the request asks for an answer of a shape."""
    text = body.get("text") or {}
    return (text.get("format") or {}).get("type") == "json_schema"


def response_items(turn: Turn, number: int, *, schema: bool) -> list[dict[str, Any]]:
    """Return the items of a turn's message; ``number`` makes their ids unique.

    ``structured`` is a message of its own where a shape was asked for, else its last line.
    """
    items: list[dict[str, Any]] = []
    if "thinking" in turn:
        summary = [{"type": "summary_text", "text": turn["thinking"]}]
        items.append({"type": "reasoning", "id": f"rs_{number:04}", "summary": summary})
    for index, text in enumerate(_texts(turn, schema=schema)):
        content = [{"type": "output_text", "text": text, "annotations": []}]
        head = {"type": "message", "id": f"msg_{number:04}_{index}", "role": "assistant"}
        items.append({**head, "status": "completed", "content": content})
    for index, call in enumerate(turn.get("tools", ())):
        identity = call.get("id", f"call_{number:04}_{index}")
        item = {"id": f"fc_{identity}", "call_id": identity, "name": call["name"]}
        if "namespace" in call:
            item["namespace"] = call["namespace"]
        if "custom" in call:
            kind = {"type": "custom_tool_call", "input": call["custom"]}
        else:
            kind = {"type": "function_call", "arguments": json.dumps(call.get("input", {}))}
        items.append({**kind, **item, "status": "completed"})
    return items


def _texts(turn: Turn, *, schema: bool) -> list[str]:
    texts = [turn["text"]] if turn.get("text") else []
    if "structured" in turn:
        line = json.dumps(turn["structured"], ensure_ascii=False)
        texts = [*texts, line] if schema else ["\n\n".join((*texts, line))]
    return texts


def response_object(
    turn: Turn, items: list[dict[str, Any]], model: str, number: int
) -> dict[str, Any]:
    """Return the whole response, as a request without ``stream`` gets it."""
    given = {"input_tokens": 10, "output_tokens": 5, **turn.get("usage", {})}
    read = given.get("cache_read_input_tokens", 0)
    taken, made = given["input_tokens"] + read, given["output_tokens"]
    usage = {
        "input_tokens": taken,
        "input_tokens_details": {"cached_tokens": read},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": taken + made,
    }
    head = {"id": f"resp_{number:04}", "object": "response", "model": model}
    if "failed" in turn:
        return {**head, "status": "failed", "output": [], "error": turn["failed"]}
    return {**head, "status": "completed", "output": items, "usage": usage}


def response_events(
    turn: Turn, items: list[dict[str, Any]], model: str, number: int
) -> list[dict[str, Any]]:
    """Return the events of a streamed response, in order."""
    whole = response_object(turn, items, model, number)
    begun = {"id": whole["id"], "object": "response", "model": model, "status": "in_progress"}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**begun, "output": []}}
    ]
    for index, item in enumerate(items):
        events += _item_events(index, item, turn.get("chunk", CHUNK))
    return [*events, {"type": f"response.{whole['status']}", "response": whole}]


def _item_events(index: int, item: dict[str, Any], size: int) -> list[dict[str, Any]]:
    place = {"output_index": index}
    done = {"type": "response.output_item.done", **place, "item": item}
    if item["type"] != "message":
        return [done]
    empty = {**item, "status": "in_progress", "content": []}
    where = {"item_id": item["id"], **place, "content_index": 0}
    return [
        {"type": "response.output_item.added", **place, "item": empty},
        *(
            {"type": "response.output_text.delta", **where, "delta": piece}
            for piece in pieces(item["content"][0]["text"], size)
        ),
        done,
    ]
