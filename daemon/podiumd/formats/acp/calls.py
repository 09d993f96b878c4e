"""The Agent Client Protocol, version 1: what we ask of an agent, as lines. Pure.

Each request has its step's name as its id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from podiumd.formats.acp.wire import REQUEST_CANCELLED, VERSION
from podiumd.formats.jsonrpc_lines import Answer, Failure, Id, Notice, Request, write

INITIALIZE: Final = "initialize"
OPEN: Final = "open"
MODE: Final = "mode"
OPTION: Final = "option:"
MODEL: Final = "model"
PROMPT: Final = "prompt"
CLOSE: Final = "close"
DELETE: Final = "delete"

Servers = Sequence[dict[str, Any]]


def initialize(version: str) -> bytes:
    """Build the greeting. Agents use their own files and shells: nothing of theirs waits for us."""
    return _call(
        INITIALIZE,
        "initialize",
        protocolVersion=VERSION,
        clientCapabilities={
            "fs": {"readTextFile": False, "writeTextFile": False},
            "terminal": False,
        },
        clientInfo={"name": "podium", "title": "Podium", "version": version},
    )


def new_session(cwd: str, servers: Servers) -> bytes:
    """Build the request for a new conversation, with the servers of its tools."""
    return _call(OPEN, "session/new", cwd=cwd, mcpServers=[*servers])


def open_session(how: str, session: str, cwd: str, servers: Servers) -> bytes:
    """Build the request to go on with a conversation. ``how``: resume, load or fork."""
    return _call(OPEN, f"session/{how}", sessionId=session, cwd=cwd, mcpServers=[*servers])


def delete_session(session: str) -> bytes:
    """Build the request to remove a conversation from the agent's own list, for good."""
    return _call(DELETE, "session/delete", sessionId=session)


def set_mode(session: str, mode: str) -> bytes:
    """Build the request for a mode."""
    return _call(MODE, "session/set_mode", sessionId=session, modeId=mode)


def set_option(step: str, session: str, option: str, value: str) -> bytes:
    """Build the request for a value of a session's option."""
    where = {"sessionId": session, "configId": option}
    return _call(step, "session/set_config_option", **where, value=value)


def set_model(session: str, model: str) -> bytes:
    """Build the request for a model, of an agent that has no option for it."""
    return _call(MODEL, "session/set_model", sessionId=session, modelId=model)


def prompt(session: str, text: str, images: Iterable[tuple[str, str]] = ()) -> bytes:
    """Build the request for a turn. ``images`` are media types with the data in base64."""
    blocks = [{"type": "image", "mimeType": media, "data": data} for media, data in images]
    said = [*blocks, {"type": "text", "text": text}]
    return _call(PROMPT, "session/prompt", sessionId=session, prompt=said)


def close_session(session: str) -> bytes:
    """Build the request to close a session: the agent writes down what it has not yet."""
    return _call(CLOSE, "session/close", sessionId=session)


def cancel(session: str) -> bytes:
    """Build the notice that stops the turn; every open permission is answered beside it."""
    return write(Notice("session/cancel", {"sessionId": session}), version=True)


def fence(name: str, method: str) -> bytes:
    """Build a request that no agent knows, whose answer parts what comes before from the rest."""
    return write(Request(name, method), version=True)


def selected(id: Id, option: str) -> bytes:
    """Build the answer to a permission: one of its options."""
    outcome = {"outcome": "selected", "optionId": option}
    return write(Answer(id, {"outcome": outcome}), version=True)


def cancelled(id: Id) -> bytes:
    """Build the answer to a permission of a turn that is stopped."""
    return write(Answer(id, {"outcome": {"outcome": "cancelled"}}), version=True)


def withdrawn(id: Id) -> bytes:
    """Build the answer to a request that its agent has withdrawn."""
    return write(Answer(id, error=Failure(REQUEST_CANCELLED, "cancelled")), version=True)


def server(name: str, command: Sequence[str], environment: dict[str, str]) -> dict[str, Any]:
    """Describe a server of tools that the agent is to start."""
    program, *arguments = command
    variables = [{"name": key, "value": value} for key, value in environment.items()]
    return {"name": name, "command": program, "args": arguments, "env": variables}


def _call(name: str, method: str, **params: Any) -> bytes:
    return write(Request(name, method, params), version=True)
