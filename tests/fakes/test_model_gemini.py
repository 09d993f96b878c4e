"""The scripted model server as a server of Google's generateContent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.fakes.model_server import ModelServer
from tests.patience import HANG_SECONDS


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def ask(server: ModelServer, verb: str, *words: str, **more: Any) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=HANG_SECONDS)
    contents = [{"role": "user", "parts": [{"text": one} for one in words]}]
    body = {"contents": contents, "systemInstruction": {"parts": [{"text": "Be terse."}]}, **more}
    try:
        path = f"/v1beta/models/m:{verb}?alt=sse"
        connection.request("POST", path, json.dumps(body))
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def parts(message: Any) -> list[Any]:
    return list(message["candidates"][0]["content"]["parts"])


def test_a_whole_message_has_text_reason_and_usage(server: ModelServer) -> None:
    server.load({"rules": [{"when": {"prompt": "^hi$", "system": "terse"}, "text": "Hello."}]})

    status, data = ask(server, "generateContent", "<session_context> not the person's", "hi")
    message = json.loads(data)

    assert status == 200 and parts(message) == [{"text": "Hello."}]
    assert message["candidates"][0]["finishReason"] == "STOP"
    assert message["usageMetadata"]["totalTokenCount"] == 15


def test_a_streamed_message_is_chunks_of_text_then_calls(server: ModelServer) -> None:
    call = {"name": "look", "input": {"at": "it"}, "id": "c1"}
    server.load({"turns": [{"thinking": "Hm.", "text": "abcd", "chunk": 2, "tools": [call]}]})

    _, data = ask(server, "streamGenerateContent", "go")
    said = [
        part
        for line in data.decode().splitlines()
        if line
        for part in parts(json.loads(line.removeprefix("data: ")))
    ]

    assert said == [
        {"text": "Hm.", "thought": True},
        {"text": "ab"},
        {"text": "cd"},
        {"functionCall": {"id": "c1", "name": "look", "args": {"at": "it"}}},
        {"text": ""},
    ]


def test_results_and_tools_are_what_rules_look_at(server: ModelServer) -> None:
    server.load({"rules": [{"when": {"result": "42"}, "text": "So it is."}]})
    answer = {"functionResponse": {"name": "look", "response": {"output": "42"}}}
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "user", "parts": [answer]},
    ]
    tools = [{"functionDeclarations": [{"name": "look"}]}]

    _, data = ask(server, "generateContent", contents=contents, tools=tools)

    assert parts(json.loads(data)) == [{"text": "So it is."}]
    (request,) = server.requests
    assert (request.prompt, request.tools, request.model) == ("go", ("look",), "m")


def test_an_error_and_a_count_are_in_googles_words(server: ModelServer) -> None:
    server.load({"turns": [{"error": {"status": 429, "message": "busy"}}]})

    status, data = ask(server, "streamGenerateContent", "go")

    about = {"code": 429, "message": "busy", "status": "RESOURCE_EXHAUSTED"}
    assert status == 429 and json.loads(data) == {"error": about}
    assert json.loads(ask(server, "countTokens", "go")[1])["totalTokens"] > 0
