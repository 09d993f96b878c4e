"""The lines that we send to Claude Code's stdin in stream-json: UTF-8 bytes, newline included.

Nothing is escaped beyond what JSON needs (escapes would make a line up to six times as long, and
a line has to fit the pipe); half a surrogate pair, which UTF-8 cannot hold, becomes ``?``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec

from podiumd.formats.json_fields import whole_text

HookMoment = Literal["before", "after"]

_HOOK_EVENTS: Final[dict[HookMoment, tuple[str, ...]]] = {
    "before": ("PreToolUse",),
    "after": ("PostToolUse", "PostToolUseFailure"),
}
_HOOK_SECONDS: Final = 86_400
"""Seconds that the CLI waits for a hook's answer. A later one counts for nothing; before a tool the
CLI then refuses it."""


def user_message(text: str, uuid: str, images: Iterable[tuple[str, str]] = ()) -> bytes:
    """Return a prompt or a steer. The CLI takes a uuid once, even with another text.

    ``images`` are media types with the data in base64; they come before the text.
    """
    blocks: list[dict[str, Any]] = [
        {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
        for media_type, data in images
    ]
    said = [*blocks, {"type": "text", "text": text}] if blocks else text
    content = {"role": "user", "content": said}
    return _line({"type": "user", "uuid": uuid, "message": content})


def allow(
    request_id: str,
    updated_input: dict[str, Any] | None = None,
    rules_for_session: Iterable[str] = (),
) -> bytes:
    """Return the answer that lets a tool run.

    ``updated_input`` replaces the tool's input (``None``: as it was asked). ``rules_for_session``
    are tools, or calls of one (``Bash(git diff:*)``), to allow without asking while this process
    lives, in memory: the CLI's own suggestions, sent back as they came, would be written into the
    project's settings.
    """
    answer: dict[str, Any] = {"behavior": "allow"}
    if updated_input is not None:
        answer["updatedInput"] = updated_input
    rules = [_rule(rule) for rule in rules_for_session]
    if rules:
        update = {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}
        answer["updatedPermissions"] = [update]
    return _answer(request_id, answer)


def _rule(rule: str) -> dict[str, str]:
    tool, bracket, content = rule.partition("(")
    if not (bracket and content.endswith(")")):
        return {"toolName": rule}
    return {"toolName": tool, "ruleContent": content[:-1]}


def deny(request_id: str, message: str, *, interrupt: bool = False) -> bytes:
    """Return the answer that refuses a tool; ``message`` is for the model.

    ``interrupt`` also ends the turn.
    """
    answer: dict[str, Any] = {"behavior": "deny", "message": message}
    if interrupt:
        answer["interrupt"] = True
    return _answer(request_id, answer)


def initialize(request_id: str, hooks: Iterable[HookMoment], matcher: str) -> bytes:
    """Return the request to be asked before, or notified after, the use of a tool.

    It stands before the prompt: what the CLI does before it reads this is not asked about.

    Parameters:
        matcher: an expression of JavaScript's that the names of the tools match.
    """
    events = {
        event: [{"matcher": matcher, "hookCallbackIds": [moment], "timeout": _HOOK_SECONDS}]
        for moment in hooks
        for event in _HOOK_EVENTS[moment]
    }
    return _request(request_id, {"subtype": "initialize", "hooks": events})


def hook_answer(request_id: str, event: str, refusal: str | None) -> bytes:
    """Return our answer at a hook: ``None`` lets the agent go on, else ``refusal`` is the reason
    for the model."""
    if refusal is None:
        return _answer(request_id, {})
    if event in _HOOK_EVENTS["after"]:
        return _answer(request_id, {"decision": "block", "reason": refusal})
    denied = {
        "hookEventName": event,
        "permissionDecision": "deny",
        "permissionDecisionReason": refusal,
    }
    return _answer(request_id, {"hookSpecificOutput": denied})


def server_reply(request_id: str, reply: dict[str, Any] | None) -> bytes:
    """Return what the host's tool server says to a message.

    ``None``: it was a notification. The CLI waits also then, and takes any reply at all.
    """
    said = {"jsonrpc": "2.0", "id": 0, "result": {}} if reply is None else reply
    return _answer(request_id, {"mcp_response": said})


def unknown(request_id: str, subtype: str) -> bytes:
    """Return the answer to a request of a kind that is not known here."""
    words = f"Unsupported control request subtype: {subtype}"
    response = {"subtype": "error", "request_id": request_id, "error": words}
    return _line({"type": "control_response", "response": response})


def interrupt(request_id: str, *, cancel_queued: bool = True) -> bytes:
    """Return the request to stop. Without ``cancel_queued`` a queued steer runs as a new turn."""
    return _request(request_id, {"subtype": "interrupt", "cancel_queued": cancel_queued})


def end_session(request_id: str) -> bytes:
    """Return the request that the process end itself, in order."""
    return _request(request_id, {"subtype": "end_session"})


def _answer(request_id: str, answer: dict[str, Any]) -> bytes:
    response = {"subtype": "success", "request_id": request_id, "response": answer}
    return _line({"type": "control_response", "response": response})


def _request(request_id: str, request: dict[str, Any]) -> bytes:
    return _line({"type": "control_request", "request_id": request_id, "request": request})


def _line(value: dict[str, Any]) -> bytes:
    return msgspec.json.encode(whole_text(value)) + b"\n"
