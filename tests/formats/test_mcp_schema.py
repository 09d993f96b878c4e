"""Replies checked against the published schema of each revision, by its official models."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types import UnsupportedProtocolVersionErrorData
from mcp_types.jsonrpc import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter
from mcp_types.methods import CLIENT_REQUESTS, SERVER_RESULTS
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from podiumd.formats import mcp
from tests.formats.mcp_messages import ENVELOPE, SERVED, request

PARAMS: dict[str, dict[str, Any]] = {
    "initialize": {"capabilities": {}, "clientInfo": {"name": "a client", "version": "1"}},
    "ping": {},
    "server/discover": {},
    "tools/list": {},
    "tools/call": {"name": "save", "arguments": {"key": "goal", "value": "x"}},
}
ASKED = [
    (method, version)
    for version in (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
    for method in PARAMS
    if (method, version) in CLIENT_REQUESTS
]


def said(method: str, version: str) -> dict[str, Any]:
    """A request as a client of that revision makes it."""
    params = dict(PARAMS[method])
    if method == "initialize":
        params["protocolVersion"] = version
    if version in MODERN_PROTOCOL_VERSIONS:
        params["_meta"] = ENVELOPE
    return request(method, params)


def test_every_revision_that_was_published_is_spoken() -> None:
    assert mcp.HANDSHAKES == HANDSHAKE_PROTOCOL_VERSIONS
    assert mcp.MODERN == MODERN_PROTOCOL_VERSIONS
    assert len(ASKED) == 4 * len(HANDSHAKE_PROTOCOL_VERSIONS) + 3


@pytest.mark.parametrize(("method", "version"), ASKED)
def test_each_request_has_a_result_that_its_revision_knows(method: str, version: str) -> None:
    message = said(method, version)
    CLIENT_REQUESTS[method, version].model_validate(message)

    found = mcp.receive(message, SERVED)
    reply = mcp.result(found, "Saved.", success=True) if isinstance(found, mcp.Call) else found

    envelope = jsonrpc_message_adapter.validate_python(reply)
    assert isinstance(envelope, JSONRPCResponse)
    shape: Any = SERVER_RESULTS[method, version]
    TypeAdapter(shape).validate_python(envelope.result)


@pytest.mark.parametrize(
    "message",
    [
        None,
        request("resources/list"),
        request("tools/call", {"name": 1}),
        request("tools/list", {"_meta": ENVELOPE, "cursor": "x"}),
    ],
)
def test_errors_are_of_the_published_shape(message: object) -> None:
    reply = mcp.receive(message, SERVED)

    assert isinstance(jsonrpc_message_adapter.validate_python(reply), JSONRPCError)


def test_an_unknown_revision_is_refused_with_the_published_data() -> None:
    meta = ENVELOPE | {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}
    reply = mcp.receive(request("tools/list", {"_meta": meta}), SERVED)

    assert isinstance(reply, dict)
    UnsupportedProtocolVersionErrorData.model_validate(reply["error"]["data"])
