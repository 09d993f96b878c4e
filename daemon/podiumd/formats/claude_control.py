"""The lines that we send to Claude Code's stdin in stream-json: UTF-8 bytes, newline included.

Nothing is escaped beyond what JSON needs (escapes would make a line up to six times as long, and
a line has to fit the pipe); half a surrogate pair, which UTF-8 cannot hold, becomes ``?``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from podiumd.formats.claude_json import whole_text


def user_message(text: str, uuid: str) -> bytes:
    """Return a prompt or a steer. The CLI takes a uuid once, whatever the text."""
    content = {"role": "user", "content": text}
    return _line({"type": "user", "uuid": uuid, "message": content})


def allow(
    request_id: str,
    updated_input: dict[str, Any] | None = None,
    rules_for_session: Iterable[str] = (),
) -> bytes:
    """Return the answer that lets a tool run.

    ``updated_input`` replaces the tool's input (``None``: as it was asked). ``rules_for_session``
    are tools to allow without asking while this process lives, in memory: the CLI's own
    suggestions, sent back as they came, would be written into the project's settings.
    """
    answer: dict[str, Any] = {"behavior": "allow"}
    if updated_input is not None:
        answer["updatedInput"] = updated_input
    rules = [{"toolName": tool} for tool in rules_for_session]
    if rules:
        update = {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}
        answer["updatedPermissions"] = [update]
    return _answer(request_id, answer)


def deny(request_id: str, message: str, *, interrupt: bool = False) -> bytes:
    """Return the answer that refuses a tool; ``message`` is told to the model.

    ``interrupt`` also ends the turn.
    """
    answer: dict[str, Any] = {"behavior": "deny", "message": message}
    if interrupt:
        answer["interrupt"] = True
    return _answer(request_id, answer)


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
