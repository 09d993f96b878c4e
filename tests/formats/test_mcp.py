"""The server's half of the Model Context Protocol: every message is answered, and none raises."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd import __version__
from podiumd.formats import mcp
from tests.formats.mcp_messages import (
    ENVELOPE,
    SAVE,
    SERVED,
    error_of,
    modern,
    reply,
    request,
    result_of,
)

# -- the handshake -----------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_known_revision_is_taken_as_it_is_offered(version: str) -> None:
    said = result_of(request("initialize", {"protocolVersion": version, "capabilities": {}}))

    assert said["protocolVersion"] == version
    assert said["capabilities"] == {"tools": {"listChanged": False}}
    assert said["serverInfo"] == {"name": "podium", "title": "Podium", "version": __version__}
    assert "step of the Podium run" in said["instructions"]


@pytest.mark.parametrize("version", ["2026-07-28", "2031-01-01", "1.0", ""])
def test_what_has_no_handshake_or_is_unknown_is_offered_the_newest_that_has(version: str) -> None:
    said = result_of(request("initialize", {"protocolVersion": version}))

    assert said["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("params", [None, {}, {"protocolVersion": 20251125}])
def test_a_handshake_without_a_revision_is_an_error(params: Any) -> None:
    assert error_of(request("initialize", params)) == {
        "code": -32602,
        "message": "Invalid params: 'protocolVersion' is missing, or no string",
    }


def test_a_handshake_in_the_modern_envelope_is_a_handshake() -> None:
    said = result_of(modern("initialize", protocolVersion="2025-06-18"))

    assert said["protocolVersion"] == "2025-06-18"
    assert "resultType" not in said


@pytest.mark.parametrize(
    "method",
    ["notifications/initialized", "notifications/cancelled", "notifications/of/tomorrow", "ping"],
)
def test_a_notification_gets_no_answer(method: str) -> None:
    message = {"jsonrpc": "2.0", "method": method, "params": {"requestId": 3}}

    assert mcp.receive(message, SERVED) is None


@pytest.mark.parametrize("answer", [{"result": {}}, {"error": {"code": 1, "message": "no"}}])
def test_an_answer_that_nobody_asked_for_is_passed_over(answer: dict[str, Any]) -> None:
    assert mcp.receive({"jsonrpc": "2.0", "id": 4, **answer}, SERVED) is None


# -- tools -------------------------------------------------------------------------------------


def test_a_ping_is_answered() -> None:
    assert reply(request("ping", id="p")) == {"jsonrpc": "2.0", "id": "p", "result": {}}


def test_the_tools_are_listed_with_their_schemas_and_always_loaded() -> None:
    listed = result_of(request("tools/list", {}))

    assert listed == {
        "tools": [
            {
                "name": "save",
                "description": "Save a value.",
                "inputSchema": SAVE.schema,
                "_meta": {"anthropic/alwaysLoad": True},
            },
            {
                "name": "ask",
                "description": "Ask the person.",
                "inputSchema": {"type": "object"},
                "_meta": {"anthropic/alwaysLoad": True},
            },
        ]
    }


def test_there_is_one_page_of_tools() -> None:
    assert "tools" in result_of(request("tools/list", {"cursor": None}))
    assert error_of(request("tools/list", {"cursor": "2"}))["code"] == -32602


def test_a_call_is_handed_to_whoever_does_it() -> None:
    args = {"key": "goal", "value": ["a", {"b": 1.5}]}
    call = mcp.receive(request("tools/call", {"name": "save", "arguments": args}, id="x"), SERVED)

    assert call == mcp.Call("x", "save", args)


@pytest.mark.parametrize("params", [{"name": "ask"}, {"name": "ask", "arguments": None}])
def test_a_call_without_arguments_has_none(params: dict[str, Any]) -> None:
    assert mcp.receive(request("tools/call", params), SERVED) == mcp.Call(1, "ask", {})


@pytest.mark.parametrize(("success", "is_error"), [(True, False), (False, True)])
def test_what_came_of_a_call_is_told_in_words(success: bool, is_error: bool) -> None:
    said = mcp.result(mcp.Call(7, "save", {}), "Saved 'goal'.", success)

    assert said == {
        "jsonrpc": "2.0",
        "id": 7,
        "result": {"content": [{"type": "text", "text": "Saved 'goal'."}], "isError": is_error},
    }


def test_a_tool_that_is_not_served_is_answered_with_those_that_are() -> None:
    said = result_of(request("tools/call", {"name": "transition", "arguments": {}}))

    assert said["isError"] is True
    assert said["content"][0]["text"] == (
        "There is no tool 'transition' of Podium's here: those of this step are save, ask."
    )


def test_where_no_tool_is_served_that_is_said() -> None:
    found = mcp.receive(request("tools/call", {"name": "x" * 5000}), ())

    assert isinstance(found, dict)
    text = found["result"]["content"][0]["text"]
    assert text.endswith("here: this step has none.")
    assert len(text) < 200


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "'name' is missing"),
        ({"name": 5}, "'name' is missing"),
        ({"name": "save", "arguments": ["goal"]}, "'arguments' is not an object"),
        ({"name": "save", "arguments": "{}"}, "'arguments' is not an object"),
    ],
)
def test_a_call_out_of_shape_says_what_is_wrong(params: dict[str, Any], words: str) -> None:
    fault = error_of(request("tools/call", params))

    assert fault["code"] == -32602
    assert words in fault["message"]


def nested(levels: int) -> Any:
    value: Any = "leaf"
    for level in range(levels):
        value = [value] if level % 2 else {"next": value}
    return value


def test_arguments_as_deep_as_may_be_are_taken_and_deeper_ones_refused() -> None:
    def call(levels: int) -> Any:
        args = {"key": "goal", "value": nested(levels)}
        return mcp.receive(request("tools/call", {"name": "save", "arguments": args}), SERVED)

    assert isinstance(call(mcp.DEPTH_LIMIT - 1), mcp.Call)
    assert call(mcp.DEPTH_LIMIT)["error"] == {
        "code": -32602,
        "message": "Invalid params: 'arguments' is nested deeper than 64 levels",
    }


# -- what is no message ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        None,
        7,
        "tools/list",
        [],
        {},
        {"method": "ping", "id": 1},
        {"jsonrpc": "1.0", "method": "ping", "id": 1},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "method": 5},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
        {"jsonrpc": "2.0", "id": True, "method": "ping"},
        {"jsonrpc": "2.0", "id": {}, "method": "ping"},
    ],
)
def test_what_is_no_request_is_an_invalid_one(message: object) -> None:
    assert error_of(message)["code"] == -32600


def test_an_invalid_request_is_answered_under_its_id_where_it_has_one() -> None:
    assert reply({"jsonrpc": "2.0", "id": "a", "method": 5})["id"] == "a"
    assert reply({"jsonrpc": "2.0", "id": [], "method": 5})["id"] is None


@pytest.mark.parametrize("params", [[], "x", None])
def test_parameters_are_passed_by_name(params: object) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}

    assert error_of(message)["code"] == -32602


@pytest.mark.parametrize("method", ["resources/list", "server/discover", "x" * 5000])
def test_an_unknown_method_is_named(method: str) -> None:
    fault = error_of(request(method))

    assert fault["code"] == -32601
    assert method[:100] in fault["message"]
    assert len(fault["message"]) < 200


# -- requests that say their revision themselves -----------------------------------------------


def test_a_modern_client_discovers_the_server() -> None:
    said = result_of(modern("server/discover"))

    assert said["supportedVersions"] == ["2026-07-28"]
    assert said["capabilities"] == {"tools": {"listChanged": False}}
    assert said["resultType"] == "complete"
    assert (said["ttlMs"], said["cacheScope"]) == (0, "private")
    assert said["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "podium"


def test_a_modern_client_lists_and_calls() -> None:
    listed = result_of(modern("tools/list"))
    call = mcp.receive(modern("tools/call", name="ask", arguments={}), SERVED)
    assert isinstance(call, mcp.Call)
    said = mcp.result(call, "Asked.", success=True)["result"]
    refused = result_of(modern("tools/call", name="nothing"))

    assert [tool["name"] for tool in listed["tools"]] == ["save", "ask"]
    assert (listed["ttlMs"], listed["cacheScope"]) == (0, "private")
    for one in (listed, said, refused):
        assert one["resultType"] == "complete"
        assert "io.modelcontextprotocol/serverInfo" in one["_meta"]


def test_a_modern_client_has_no_ping() -> None:
    assert error_of(modern("ping"))["code"] == -32601


def test_another_revision_is_refused_with_those_that_are_spoken() -> None:
    meta = ENVELOPE | {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}
    fault = error_of(request("tools/list", {"_meta": meta}))

    assert fault["code"] == -32022
    assert fault["data"]["requested"] == "2030-01-01"
    assert fault["data"]["supported"][:2] == ["2026-07-28", "2025-11-25"]
    assert "2026-07-28" in fault["message"]


@pytest.mark.parametrize(
    "meta",
    [
        {"io.modelcontextprotocol/protocolVersion": 2026},
        {"io.modelcontextprotocol/protocolVersion": "2026-07-28"},
        ENVELOPE | {"io.modelcontextprotocol/clientCapabilities": []},
    ],
)
def test_half_an_envelope_is_an_error(meta: dict[str, Any]) -> None:
    assert error_of(request("tools/list", {"_meta": meta}))["code"] == -32602


def test_a_progress_token_alone_makes_no_modern_request() -> None:
    said = result_of(request("tools/list", {"_meta": {"progressToken": 1}}))

    assert "resultType" not in said
