"""Claude Code's stream-json protocol: ``decode`` reads a line of it as an event.

Pure; ``decode`` never raises: fields that nothing here needs are left out, unknown types come as
``Other``, and a line that is no JSON object as ``BadLine`` (a disk that was full tears lines).
The lines that we send are in ``claude_control``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from podiumd.core.reply.amounts import dollars, tokens
from podiumd.core.reply.report import Denial, Tokens
from podiumd.formats import claude_events as ce
from podiumd.formats.claude_content import blocks_of, words_of_view
from podiumd.formats.json_fields import (
    integer,
    mapping,
    number,
    objects,
    optional,
    read_object,
    string,
    strings,
)
from podiumd.formats.message import ToolResult, text_of


def decode(line: bytes) -> ce.Event:
    """Return what one line of stdout says; its newline may be there or not."""
    raw = read_object(line)
    if isinstance(raw, str):
        return ce.BadLine(raw, len(line))
    kind = string(raw, "type")
    if kind == "system":
        kind = f"system/{string(raw, 'subtype')}"
    read = _READERS.get(kind)
    event = None if read is None else read(raw)
    return ce.Other(kind, raw) if event is None else event


def _init(raw: dict[str, Any]) -> ce.Event:
    return ce.Init(
        string(raw, "session_id"),
        string(raw, "cwd"),
        string(raw, "model"),
        string(raw, "permissionMode"),
        string(raw, "claude_code_version"),
        strings(raw, "tools"),
    )


def _assistant(raw: dict[str, Any]) -> ce.Event:
    message = mapping(raw, "message")
    model = string(message, "model")
    return ce.AssistantMessage(
        uuid=string(raw, "uuid"),
        message_id=string(message, "id"),
        model=model,
        blocks=blocks_of(message.get("content")),
        parent_tool_use_id=optional(raw, "parent_tool_use_id"),
        synthetic=model == ce.SYNTHETIC_MODEL,
        aborted=raw.get("aborted") is True,
        error=string(raw, "error"),
    )


def _user(raw: dict[str, Any]) -> ce.Event:
    blocks = blocks_of(mapping(raw, "message").get("content"))
    return ce.UserMessage(
        uuid=string(raw, "uuid"),
        results=tuple(block for block in blocks if isinstance(block, ToolResult)),
        text=text_of(blocks),
        parent_tool_use_id=optional(raw, "parent_tool_use_id"),
        synthetic=raw.get("isSynthetic") is True,
        refused_by_hook=tuple(
            string(meta, "id")
            for meta in objects(raw, "tool_result_meta")
            if mapping(meta, "permission_decision").get("source") == "hook"
            and mapping(meta, "permission_decision").get("decision") == "reject"
        ),
    )


def _result(raw: dict[str, Any]) -> ce.Event:
    structured = raw.get("structured_output")
    usage = mapping(raw, "model_usage_since_last_result")
    denials = objects(raw, "permission_denials")
    return ce.Result(
        uuid=string(raw, "uuid"),
        subtype=string(raw, "subtype"),
        is_error=raw.get("is_error") is True,
        terminal_reason=optional(raw, "terminal_reason"),
        api_error_status=integer(raw, "api_error_status"),
        api_error=optional(raw, "api_error"),
        result=string(raw, "result"),
        structured_output=structured if isinstance(structured, dict) else None,
        errors=strings(raw, "errors"),
        permission_denials=tuple(
            Denial(string(denial, "tool_name"), string(denial, "tool_use_id")) for denial in denials
        ),
        total_cost_usd=number(raw, "total_cost_usd") or 0.0,
        cost_usd=sum(_cost(mapping(usage, model)) for model in usage),
        queued_turn_count=integer(raw, "queued_turn_count") or 0,
        num_turns=integer(raw, "num_turns") or 0,
        stop_reason=optional(raw, "stop_reason"),
        tokens=_tokens(usage) if usage else None,
    )


def _cost(usage: dict[str, Any]) -> float:
    return dollars(number(usage, "costUSD") or 0.0) or 0.0


def _tokens(usage: dict[str, Any]) -> Tokens | None:
    """Sum up the tokens of all models; what was put into the cache was read as well."""

    def total(*keys: str) -> int:
        return sum(integer(mapping(usage, model), key) or 0 for model in usage for key in keys)

    return tokens(
        read=total("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"),
        cached=total("cacheReadInputTokens"),
        written=total("outputTokens"),
    )


def _control_request(raw: dict[str, Any]) -> ce.Event:
    request = mapping(raw, "request")
    request_id, subtype = string(raw, "request_id"), string(request, "subtype")
    if subtype == "mcp_message":
        return ce.ServerMessage(request_id, mapping(request, "message"))
    if subtype == "hook_callback":
        return _hook_callback(request_id, mapping(request, "input"))
    return ce.ControlRequest(
        request_id=request_id,
        subtype=subtype,
        tool=string(request, "tool_name"),
        input=mapping(request, "input"),
        tool_use_id=string(request, "tool_use_id"),
        description=string(request, "description"),
        asks_person=request.get("requires_user_interaction") is True,
    )


def _hook_callback(request_id: str, told: dict[str, Any]) -> ce.Event:
    return ce.HookCallback(
        request_id=request_id,
        event=string(told, "hook_event_name"),
        tool=string(told, "tool_name"),
        input=mapping(told, "tool_input"),
        tool_use_id=string(told, "tool_use_id"),
        output=string(told, "error") or words_of_view(told.get("tool_response")),
    )


def _control_response(raw: dict[str, Any]) -> ce.Event:
    response = mapping(raw, "response")
    failed = string(response, "subtype") == "error"
    found = mapping(response, "response")
    return ce.ControlResponse(
        string(response, "request_id"),
        string(response, "error", "unknown error") if failed else None,
        strings(found, "cancelled"),
        found.get("hooks_applied") is not False,
    )


def _api_retry(raw: dict[str, Any]) -> ce.Event:
    return ce.ApiRetry(
        integer(raw, "attempt") or 0,
        integer(raw, "max_retries") or 0,
        integer(raw, "retry_delay_ms") or 0,
        integer(raw, "error_status"),
        string(raw, "error"),
    )


def _background_tasks(raw: dict[str, Any]) -> ce.Event:
    return ce.BackgroundTasks(
        tuple(
            ce.BackgroundTask(
                string(task, "task_id"), string(task, "task_type"), string(task, "description")
            )
            for task in objects(raw, "tasks")
        )
    )


def _rate_limit(raw: dict[str, Any]) -> ce.Event:
    info = mapping(raw, "rate_limit_info")
    return ce.RateLimit(
        string(info, "status"), integer(info, "resetsAt"), optional(info, "rateLimitType")
    )


def _stream_event(raw: dict[str, Any]) -> ce.Event | None:
    event = mapping(raw, "event")
    delta = mapping(event, "delta")
    block = mapping(event, "content_block")
    if block.get("type") == "tool_use" or delta.get("type") == "input_json_delta":
        return ce.ToolWriting(
            message_id=string(raw, "api_message_id"),
            name=string(block, "name"),
            delta=string(delta, "partial_json"),
            parent_tool_use_id=optional(raw, "parent_tool_use_id"),
        )
    kind: Literal["text", "thinking"]
    match delta.get("type"):
        case "text_delta":
            kind = "text"
        case "thinking_delta":
            kind = "thinking"
        case _:
            return None
    return ce.StreamDelta(
        message_id=string(raw, "api_message_id"),
        index=integer(event, "index") or 0,
        kind=kind,
        delta=string(delta, kind),
        parent_tool_use_id=optional(raw, "parent_tool_use_id"),
    )


_READERS: dict[str, Callable[[dict[str, Any]], ce.Event | None]] = {
    "system/init": _init,
    "assistant": _assistant,
    "user": _user,
    "result": _result,
    "control_request": _control_request,
    "control_cancel_request": lambda raw: ce.ControlCancel(string(raw, "request_id")),
    "control_response": _control_response,
    "command_lifecycle": lambda raw: ce.Lifecycle(
        string(raw, "command_uuid"), string(raw, "state")
    ),
    "system/session_state_changed": lambda raw: ce.StateChanged(string(raw, "state")),
    "system/api_retry": _api_retry,
    "system/background_tasks_changed": _background_tasks,
    "rate_limit_event": _rate_limit,
    "system/informational": lambda raw: ce.Informational(
        string(raw, "content"), raw.get("prevent_continuation") is True
    ),
    "stream_event": _stream_event,
}
