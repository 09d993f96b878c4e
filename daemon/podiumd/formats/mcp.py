"""The server's half of the Model Context Protocol, as far as tools go. Pure: values in and out.

Nothing is remembered between messages: the process that carries them may be restarted at any time,
and a client goes on with the next one. So every revision is served as it comes: those of the
handshake (``initialize``) and 2026-07-28, whose requests say in their ``_meta`` which revision they
are of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from podiumd import __version__
from podiumd.core.prompts.tools import ToolSpec
from podiumd.core.recipe.served_tools import SERVER
from podiumd.formats.json_fields import mapping, read_value

HANDSHAKES: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions that begin with ``initialize``, oldest first."""

MODERN: Final = ("2026-07-28",)
"""The revisions whose requests each carry what a handshake would say."""

MESSAGE_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of a message; longer ones are refused."""

DEPTH_LIMIT: Final = 64
"""Levels of arguments; what is nested deeper is refused."""

BATCH_LIMIT: Final = 100
"""Messages of a batch."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
UNSUPPORTED_VERSION: Final = -32022

_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
_SERVER_KEY: Final = "io.modelcontextprotocol/serverInfo"

_SERVER: Final = {"name": SERVER, "title": "Podium", "version": __version__}
_CAPABILITIES: Final = {"tools": {"listChanged": False}}
_FRESH: Final = {"ttlMs": 0, "cacheScope": "private"}
"""The tools are those of one step of one run, so no client is to keep a list of them."""

_INSTRUCTIONS: Final = (
    "These tools belong to the step of the Podium run that you work in. What they answer is the "
    "run's own word: where a call is refused, the answer says what would be accepted."
)

RequestId = str | int
Json = dict[str, Any]


class Call(msgspec.Struct, frozen=True):
    """A tool is called; the caller does it and answers with ``result``.

    ``id`` is the request's own, unique only within one connection of one client. ``modern``: the
    answer has the shape of 2026-07-28.
    """

    id: RequestId
    tool: str
    args: dict[str, Any]
    modern: bool = False


class Received(msgspec.Struct, frozen=True):
    """The contents of a text: replies that are ready and calls to be done, in order."""

    parts: tuple[Json | Call, ...]
    batch: bool = False

    def joined(self, replies: Sequence[Json]) -> Json | list[Json] | None:
        """Return what is sent back, ``None`` for nothing; ``replies`` has one for each part."""
        if self.batch:
            return list(replies) or None
        return replies[0] if replies else None


def receive_text(text: bytes, served: Sequence[ToolSpec]) -> Received:
    """Read a message, or a batch of them, as it came over the wire. Never raises."""
    try:
        message = read_value(text)
    except ValueError:
        return Received((error(None, PARSE_ERROR, "Parse error: this is not JSON"),))
    if len(text) > MESSAGE_LIMIT:
        words = f"the message has {len(text)} bytes, and at most {MESSAGE_LIMIT} are taken"
        return Received((error(_id_of(message), INVALID_REQUEST, words),))
    if not isinstance(message, list):
        part = receive(message, served)
        return Received(() if part is None else (part,))
    fault = _batch_fault(message)
    if fault:
        return Received((error(None, INVALID_REQUEST, fault),))
    found = (receive(entry, served) for entry in message)
    return Received(tuple(part for part in found if part is not None), batch=True)


def receive(message: object, served: Sequence[ToolSpec]) -> Json | Call | None:
    """Read one message of a client.

    Parameters:
        message: the decoded JSON.
        served: the tools there are; a call of another one is answered at once.

    Returns:
        The reply; the call to be done; or ``None``: a notification, or an answer without a
        request, which is passed over.
    """
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        words = 'Invalid request: expected an object with jsonrpc "2.0"'
        return error(_id_of(message), INVALID_REQUEST, words)
    method = message.get("method")
    if method is None and ("result" in message or "error" in message):
        return None
    if not isinstance(method, str):
        return error(_id_of(message), INVALID_REQUEST, "Invalid request: 'method' is not a string")
    if "id" not in message:
        return None
    request_id = _id_of(message)
    if request_id is None:
        words = "Invalid request: 'id' is neither a string nor an integer"
        return error(None, INVALID_REQUEST, words)
    params = message.get("params", {})
    if not isinstance(params, dict):
        return error(request_id, INVALID_PARAMS, "Invalid params: 'params' is not an object")
    meta = mapping(params, "_meta")
    modern = method != "initialize" and _VERSION_KEY in meta
    fault = _version_fault(request_id, meta) if modern else None
    return fault or _answered(request_id, method, params, served, modern=modern)


def result(call: Call, text: str, success: bool) -> Json:
    """Return the reply to a call: what came of it, in words for the model."""
    return _told(call.id, call.modern, text, success)


def error(request_id: RequestId | None, code: int, message: str, data: Any = None) -> Json:
    """Return an error's reply; without an id it is for a request that could not be read."""
    fault: Json = {"code": code, "message": message}
    if data is not None:
        fault["data"] = data
    return {"jsonrpc": "2.0", "id": request_id, "error": fault}


def _version_fault(request_id: RequestId, meta: Json) -> Json | None:
    """Return the reply to a request whose ``_meta`` names no revision that is served, if so."""
    version = meta[_VERSION_KEY]
    if not isinstance(version, str):
        words = f"Invalid params: '{_VERSION_KEY}' is not a string"
        return error(request_id, INVALID_PARAMS, words)
    if not isinstance(meta.get(_CAPABILITIES_KEY), dict):
        words = f"Invalid params: '_meta' has no object '{_CAPABILITIES_KEY}'"
        return error(request_id, INVALID_PARAMS, words)
    if version not in MODERN:
        known = {"supported": [*MODERN, *reversed(HANDSHAKES)], "requested": version}
        words = f"Unsupported protocol version: spoken are {', '.join(known['supported'])}"
        return error(request_id, UNSUPPORTED_VERSION, words, known)
    return None


def _answered(
    request_id: RequestId, method: str, params: Json, served: Sequence[ToolSpec], *, modern: bool
) -> Json | Call:
    match method:
        case "initialize":
            return _initialize(request_id, params)
        case "ping" if not modern:
            return _reply(request_id, {})
        case "server/discover" if modern:
            found = {
                "supportedVersions": list(MODERN),
                "capabilities": _CAPABILITIES,
                "instructions": _INSTRUCTIONS,
                **_FRESH,
            }
            return _reply(request_id, found, modern=True)
        case "tools/list":
            return _list(request_id, params, served, modern=modern)
        case "tools/call":
            return _call(request_id, params, served, modern=modern)
        case _:
            return error(request_id, METHOD_NOT_FOUND, f"Method not found: '{method[:100]}'")


def _initialize(request_id: RequestId, params: Json) -> Json:
    wanted = params.get("protocolVersion")
    if not isinstance(wanted, str):
        words = "Invalid params: 'protocolVersion' is missing, or no string"
        return error(request_id, INVALID_PARAMS, words)
    spoken = {
        "protocolVersion": wanted if wanted in HANDSHAKES else HANDSHAKES[-1],
        "capabilities": _CAPABILITIES,
        "serverInfo": _SERVER,
        "instructions": _INSTRUCTIONS,
    }
    return _reply(request_id, spoken)


def _list(request_id: RequestId, params: Json, served: Sequence[ToolSpec], *, modern: bool) -> Json:
    if params.get("cursor") is not None:
        words = "Invalid params: there is no such 'cursor': all tools are on one page"
        return error(request_id, INVALID_PARAMS, words)
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.schema,
            # Claude Code otherwise keeps schemas from the model until it looks for a tool.
            "_meta": {"anthropic/alwaysLoad": True},
        }
        for tool in served
    ]
    return _reply(request_id, {"tools": tools, **(_FRESH if modern else {})}, modern=modern)


def _call(
    request_id: RequestId, params: Json, served: Sequence[ToolSpec], *, modern: bool
) -> Json | Call:
    name, args = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        words = "Invalid params: 'name' is missing, or no string"
        return error(request_id, INVALID_PARAMS, words)
    if args is not None and not isinstance(args, dict):
        return error(request_id, INVALID_PARAMS, "Invalid params: 'arguments' is not an object")
    if _too_deep(args):
        words = f"Invalid params: 'arguments' is nested deeper than {DEPTH_LIMIT} levels"
        return error(request_id, INVALID_PARAMS, words)
    if all(tool.name != name for tool in served):
        return _told(request_id, modern, _not_served(name, served), success=False)
    return Call(request_id, name, args or {}, modern)


def _not_served(name: str, served: Iterable[ToolSpec]) -> str:
    """Build the answer for an unknown tool: a result, not an error, so that the model reads it."""
    names = ", ".join(tool.name for tool in served)
    there = f"those of this step are {names}" if names else "this step has none"
    return f"There is no tool '{name[:100]}' of Podium's here: {there}."


def _told(request_id: RequestId, modern: bool, text: str, success: bool) -> Json:
    said = {"content": [{"type": "text", "text": text}], "isError": not success}
    return _reply(request_id, said, modern=modern)


def _reply(request_id: RequestId, found: Json, *, modern: bool = False) -> Json:
    if modern:
        found = {**found, "resultType": "complete", "_meta": {_SERVER_KEY: _SERVER}}
    return {"jsonrpc": "2.0", "id": request_id, "result": found}


def _batch_fault(entries: Sequence[object]) -> str:
    """Say what is wrong with a batch. Of the revisions some have batches and some do not; which
    one was agreed on is not remembered, so they are taken wherever one might be meant."""
    if not entries:
        return "Invalid request: the batch is empty"
    if len(entries) > BATCH_LIMIT:
        return f"Invalid request: a batch of {len(entries)}, and at most {BATCH_LIMIT} are taken"
    for entry in entries:
        if isinstance(entry, dict) and entry.get("method") == "initialize":
            return "Invalid request: 'initialize' stands alone, not in a batch"
        if isinstance(entry, dict) and _VERSION_KEY in mapping(mapping(entry, "params"), "_meta"):
            return f"Invalid request: {MODERN[0]} has no batches"
    return ""


def _id_of(message: object) -> RequestId | None:
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, (str, int)) and not isinstance(found, bool) else None


def _too_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(DEPTH_LIMIT + 1):
        level = [item for container in level for item in _items(container)]
        if not level:
            return False
    return True


def _items(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
