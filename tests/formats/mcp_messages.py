"""Messages of clients of the Model Context Protocol, and what tests take from the replies."""

from __future__ import annotations

from typing import Any

from podiumd.core.prompts.tools import ToolSpec
from podiumd.formats import mcp

SAVE = ToolSpec(
    name="save",
    description="Save a value.",
    schema={
        "type": "object",
        "properties": {"key": {"enum": ["goal"]}, "value": {}},
        "required": ["key", "value"],
    },
)
ASK = ToolSpec(name="ask", description="Ask the person.", schema={"type": "object"})
SERVED = (SAVE, ASK)

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "a client", "version": "1"},
}


def request(method: str, params: Any = None, id: Any = 1) -> dict[str, Any]:
    made = {"jsonrpc": "2.0", "id": id, "method": method}
    return made if params is None else made | {"params": params}


def modern(method: str, **params: Any) -> dict[str, Any]:
    return request(method, {"_meta": ENVELOPE, **params})


def reply(message: object) -> dict[str, Any]:
    """The reply to a message that needs no call to be done."""
    found = mcp.receive(message, SERVED)
    assert isinstance(found, dict)
    assert found["jsonrpc"] == "2.0"
    return found


def result_of(message: object) -> dict[str, Any]:
    found = reply(message)
    assert found["id"] == 1
    return dict(found["result"])


def error_of(message: object) -> dict[str, Any]:
    return dict(reply(message)["error"])
