"""JSON-RPC 2.0 over lines: one message a line, read and written. Pure.

For agents that are spoken to so over their standard streams. Some write the member ``jsonrpc`` and
others leave it out, so it is not looked at, and written for those that want it. What an agent
writes may be of any shape: reading never raises.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from podiumd.formats.json_fields import integer, mapping, read_object, string, whole_text

Id = str | int
"""The id of a request. The two sides count apart: an id of ours and one of theirs may be equal."""

METHOD_NOT_FOUND: Final = -32601
INVALID_REQUEST: Final = -32600

DEPTH_LIMIT: Final = 100
"""Levels of lists and objects in a message. All that is done with it may recurse so deep."""

_UNKNOWN_ERROR: Final = "an error without words"


class Failure(msgspec.Struct, frozen=True):
    """The error in an answer. ``code`` is 0 where the sender gives none."""

    code: int
    message: str
    data: Any = None


class Request(msgspec.Struct, frozen=True):
    """A message that wants an answer under its ``id``."""

    id: Id
    method: str
    params: dict[str, Any] = {}


class Answer(msgspec.Struct, frozen=True):
    """The answer to a request: a ``result``, or an ``error`` where that is not ``None``.

    ``id`` is ``None`` where the sender could not read the request that it answers.
    """

    id: Id | None
    result: Any = None
    error: Failure | None = None


class Notice(msgspec.Struct, frozen=True):
    """A message that wants no answer."""

    method: str
    params: dict[str, Any] = {}


class Bad(msgspec.Struct, frozen=True):
    """A line of ``size`` bytes that is no message, and why.

    ``lost``: it begins as a message and cannot be read, cut off or too long for a line. Others are
    what a program writes beside its messages.
    """

    reason: str
    size: int
    lost: bool = False


Message = Request | Answer | Notice


def read(line: bytes) -> Message | Bad:
    """Read one line, with its newline or without.

    Parameters that are no object count as none. An answer with both a result and an error is an
    error: whatever came of the request, its sender says that it failed.
    """
    raw = read_object(line)
    if isinstance(raw, str):
        return Bad(raw, len(line), lost=line.lstrip().startswith(b"{"))
    if line.count(b"[") + line.count(b"{") > DEPTH_LIMIT and _is_deep(raw):
        return Bad(f"nested deeper than {DEPTH_LIMIT} levels", len(line), lost=True)
    found = _called(raw) if "method" in raw else _answered(raw)
    return Bad(found, len(line)) if isinstance(found, str) else found


def write(message: Message, *, version: bool) -> bytes:
    """Write a message as one line, its newline included.

    Half a surrogate pair, which UTF-8 cannot hold, becomes ``?``.

    Args:
        message: what to say.
        version: whether the receiver wants the member ``jsonrpc``.
    """
    head: dict[str, Any] = {"jsonrpc": "2.0"} if version else {}
    body: dict[str, Any]
    if isinstance(message, Request):
        body = {"id": message.id, "method": message.method, "params": message.params}
    elif isinstance(message, Notice):
        body = {"method": message.method, "params": message.params}
    else:
        said = {"result": message.result} if message.error is None else _said(message.error)
        body = {"id": message.id, **said}
    return msgspec.json.encode(whole_text(head | body)) + b"\n"


def not_found(request: Request) -> Answer:
    """Build the answer to a request that is not ours to do: no such method.

    It is due at once: an agent may wait for it as long as it lives.
    """
    return Answer(
        request.id, error=Failure(METHOD_NOT_FOUND, f"Method not found: {request.method}")
    )


def _is_deep(raw: dict[str, Any]) -> bool:
    level: list[Any] = [raw]
    for _ in range(DEPTH_LIMIT):
        inner = (one.values() if isinstance(one, dict) else one for one in level)
        level = [one for values in inner for one in values if isinstance(one, dict | list)]
    return bool(level)


def _called(raw: dict[str, Any]) -> Request | Notice | str:
    method = raw["method"]
    if not isinstance(method, str):
        return "its method is no string"
    params = mapping(raw, "params")
    if "id" not in raw:
        return Notice(method, params)
    asked = _id(raw["id"])
    return "its id is no string or integer" if asked is None else Request(asked, method, params)


def _answered(raw: dict[str, Any]) -> Answer | str:
    error = raw.get("error")
    if error is None and "result" not in raw:
        return "neither a method nor a result or an error"
    asked = _id(raw.get("id"))
    if error is not None:
        return Answer(asked, error=_failure(error))
    if asked is None:
        return "a result without the id of its request"
    return Answer(asked, raw["result"])


def _failure(error: Any) -> Failure:
    if isinstance(error, dict):
        message = string(error, "message") or _UNKNOWN_ERROR
        return Failure(integer(error, "code") or 0, message, error.get("data"))
    return Failure(0, error if isinstance(error, str) and error else _UNKNOWN_ERROR)


def _said(error: Failure) -> dict[str, Any]:
    said = {"code": error.code, "message": error.message}
    return {"error": said if error.data is None else {**said, "data": error.data}}


def _id(value: Any) -> Id | None:
    # A bool is an int to Python, and no id to anyone else.
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None
