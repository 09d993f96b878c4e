"""The scripted model server as a server of OpenAI's Responses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection, IncompleteRead
from typing import Any

import pytest

from tests.fakes.model_server import ModelServer
from tests.patience import HANG_SECONDS

SHAPE = {"format": {"type": "json_schema", "name": "answer", "schema": {"type": "object"}}}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def said(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "input_text", "text": text} for text in texts]}


def ask(server: ModelServer, *items: Any, path: str = "/v1/responses", **more: Any) -> bytes:
    body = {"model": "m", "instructions": "Be terse.", "input": [*items], "stream": True, **more}
    connection = HTTPConnection("127.0.0.1", server.port, timeout=HANG_SECONDS)
    try:
        connection.request("POST", path, json.dumps(body), {"session-id": "s"})
        return connection.getresponse().read()
    finally:
        connection.close()


def events(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in data.decode().splitlines() if line[:6] == "data: "]


def done(data: bytes) -> list[dict[str, Any]]:
    return [e["item"] for e in events(data) if e["type"] == "response.output_item.done"]


def test_a_whole_response_has_its_items_and_usage(server: ModelServer) -> None:
    server.load({"rules": [{"when": {"prompt": "^hi$", "system": "terse"}, "text": "Hello."}]})
    answer = json.loads(ask(server, path="/responses", input="hi", stream=False))
    assert answer["status"] == "completed"
    assert [item["content"][0]["text"] for item in answer["output"]] == ["Hello."]
    assert answer["usage"]["total_tokens"] == 15
    asked = server.requests[0]
    assert asked.is_responses and not asked.is_chat and asked.session == "s"


def test_a_stream_carries_thinking_text_and_calls_and_ends_with_the_whole(
    server: ModelServer,
) -> None:
    calls = [
        {"name": "exec_command", "input": {"cmd": "ls"}},
        {"name": "save", "namespace": "mcp__podium", "id": "c2"},
        {"name": "apply_patch", "custom": "*** Begin Patch"},
    ]
    usage = {"input_tokens": 3, "cache_read_input_tokens": 7, "output_tokens": 2}
    turn = {"thinking": "hm", "text": "abcdef", "chunk": 4, "tools": calls, "usage": usage}
    server.load({"default": turn})
    found = ask(server, said("user", "x"))
    kinds = [event["type"] for event in events(found)]
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
    deltas = [e["delta"] for e in events(found) if e["type"] == "response.output_text.delta"]
    assert deltas == ["abcd", "ef"]
    thought, text, command, own, patch = done(found)
    assert thought["summary"][0]["text"] == "hm" and text["content"][0]["text"] == "abcdef"
    assert (command["name"], command["arguments"]) == ("exec_command", '{"cmd": "ls"}')
    assert (own["namespace"], own["call_id"]) == ("mcp__podium", "c2")
    assert (patch["type"], patch["input"]) == ("custom_tool_call", "*** Begin Patch")
    whole = events(found)[-1]["response"]
    assert whole["output"] == done(found)
    assert whole["usage"]["input_tokens"] == 10
    assert whole["usage"]["input_tokens_details"] == {"cached_tokens": 7}


@pytest.mark.parametrize("shape", [SHAPE, None])
def test_a_structured_answer_stands_alone_where_a_shape_is_asked_for(
    server: ModelServer, shape: Any
) -> None:
    server.load({"default": {"text": "So:", "structured": {"a": 1}}})
    found = done(ask(server, said("user", "x"), text=shape))
    texts = [item["content"][0]["text"] for item in found]
    assert texts == (["So:", '{"a": 1}'] if shape else ['So:\n\n{"a": 1}'])


def test_the_agents_own_rows_are_no_prompt_and_results_are_the_last_ones(
    server: ModelServer,
) -> None:
    server.load({"rules": [{"when": {"result": "^two\nthree$", "prompt": "^do$"}, "text": "ok"}]})
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    outputs = [
        {"type": "function_call_output", "call_id": "c", "output": "two"},
        {"type": "custom_tool_call_output", "output": [{"type": "input_text", "text": "three"}]},
    ]
    own = said("user", "<environment_context>\n</environment_context>")
    tools = [
        {"type": "function", "name": "exec_command"},
        {"type": "web_search"},
        {"type": "namespace", "name": "mcp__podium", "tools": [{"name": "save"}]},
    ]
    history = [own, said("developer", "rules"), said("user", "do"), call]
    ask(
        server,
        *history,
        {"type": "function_call_output", "output": "one"},
        call,
        *outputs,
        tools=tools,
    )
    ask(server, *history)
    asked, without = server.requests
    assert asked.matched == "rules[0]" and asked.system == "Be terse.\nrules"
    assert asked.tools == ("exec_command", "web_search", "mcp__podium.save")
    assert "three" in asked.anywhere and asked.messages == 8
    assert without.result == ""


def test_a_failure_in_mid_stream_comes_with_status_200(server: ModelServer) -> None:
    server.load({"default": {"failed": {"code": "rate_limit_exceeded", "message": "slow"}}})
    last = events(ask(server, said("user", "x")))[-1]
    assert last["type"] == "response.failed"
    assert last["response"]["error"] == {"code": "rate_limit_exceeded", "message": "slow"}


def test_a_cut_drops_the_connection_in_mid_message(server: ModelServer) -> None:
    server.load({"default": {"text": "half and half", "cut": True}})
    with pytest.raises(IncompleteRead) as dropped:
        ask(server, said("user", "x"))
    assert b"response.created" in dropped.value.partial
