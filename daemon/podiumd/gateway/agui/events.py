"""The events of AG-UI 1.0 that we send: one function each, fields and names as its models have
them. Pure.

A field without a value is left out: its models know no null but within values of our own.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

Json = dict[str, Any]

PROTOCOL_VERSION: Final = "1.0"


def frame(event: Json) -> bytes:
    """Encode an event as server-sent events have it: one line of JSON."""
    return b"data: " + msgspec.json.encode(event) + b"\n\n"


def run_started(thread_id: str, run_id: str) -> Json:
    """Opens the stream."""
    opened = {"type": "RUN_STARTED", "threadId": thread_id, "runId": run_id}
    return {**opened, "protocolVersion": PROTOCOL_VERSION}


def run_succeeded(thread_id: str, run_id: str, result: Json) -> Json:
    """Build the successful end of a run.

    It came to where a person may speak again, or to its end.
    """
    return _finished(thread_id, run_id, {"type": "success"}) | {"result": result}


def run_interrupted(thread_id: str, run_id: str, interrupts: list[Json]) -> Json:
    """Build the end of a run that waits for answers; ``interrupts`` are not empty."""
    return _finished(thread_id, run_id, {"type": "interrupt", "interrupts": interrupts})


def run_cancelled(thread_id: str, run_id: str) -> Json:
    """Build the end of a run that was stopped on purpose: by a person, or by a limit."""
    return _finished(thread_id, run_id, {"type": "cancelled"})


def _finished(thread_id: str, run_id: str, outcome: Json) -> Json:
    ids = {"threadId": thread_id, "runId": run_id}
    return {"type": "RUN_FINISHED", **ids, "outcome": outcome}


def run_error(message: str, code: str) -> Json:
    """Build the end of a run that failed."""
    return {"type": "RUN_ERROR", "message": message, "code": code}


def step_started(name: str) -> Json:
    return {"type": "STEP_STARTED", "stepName": name}


def step_finished(name: str) -> Json:
    return {"type": "STEP_FINISHED", "stepName": name}


def text_start(message_id: str) -> Json:
    return {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"}


def text_content(message_id: str, delta: str) -> Json:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": delta}


def text_end(message_id: str) -> Json:
    return {"type": "TEXT_MESSAGE_END", "messageId": message_id}


def reasoning_start(message_id: str) -> list[Json]:
    """Begin a span of thinking, and the one message in it."""
    message = {"type": "REASONING_MESSAGE_START", "messageId": message_id, "role": "reasoning"}
    return [{"type": "REASONING_START", "messageId": message_id}, message]


def reasoning_content(message_id: str, delta: str) -> Json:
    return {"type": "REASONING_MESSAGE_CONTENT", "messageId": message_id, "delta": delta}


def reasoning_end(message_id: str) -> list[Json]:
    message = {"type": "REASONING_MESSAGE_END", "messageId": message_id}
    return [message, {"type": "REASONING_END", "messageId": message_id}]


def tool_call(call_id: str, name: str, args: Json) -> list[Json]:
    """Build a call whose arguments are known at once."""
    delta = msgspec.json.encode(args).decode()
    return [
        {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name},
        {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": delta},
        {"type": "TOOL_CALL_END", "toolCallId": call_id},
    ]


def tool_result(message_id: str, call_id: str, content: str) -> Json:
    result = {"type": "TOOL_CALL_RESULT", "messageId": message_id, "toolCallId": call_id}
    return {**result, "content": content, "role": "tool"}


def state_snapshot(snapshot: Json) -> Json:
    return {"type": "STATE_SNAPSHOT", "snapshot": snapshot}


def custom(name: str, value: Json) -> Json:
    """Build an event of our own; ``name`` begins with ``podium:``."""
    return {"type": "CUSTOM", "name": name, "value": value}
