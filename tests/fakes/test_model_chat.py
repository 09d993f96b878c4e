"""The scripted model server as a server of OpenAI's chat completions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection, IncompleteRead
from typing import Any

import pytest

from tests.fakes.model_server import ModelServer
from tests.patience import HANG_SECONDS

BODY = {"model": "m", "messages": [{"role": "system", "content": "Be terse."}]}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def ask(
    server: ModelServer,
    words: str,
    path: str = "/v1/chat/completions",
    *,
    key: str = "",
    **more: Any,
) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=HANG_SECONDS)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    messages = [*BODY["messages"], {"role": "user", "content": words}]
    try:
        connection.request(
            "POST", path, json.dumps({**BODY, "messages": messages, **more}), headers
        )
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def chunks(data: bytes) -> list[Any]:
    lines = [line[6:] for line in data.decode().splitlines() if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_a_whole_completion_has_text_reason_and_usage(server: ModelServer) -> None:
    server.load({"rules": [{"when": {"prompt": "^hi$", "system": "terse"}, "text": "Hello."}]})

    status, data = ask(server, "hi")
    completion = json.loads(data)

    assert status == 200
    assert completion["choices"][0]["message"] == {"role": "assistant", "content": "Hello."}
    assert completion["choices"][0]["finish_reason"] == "stop"
    assert completion["usage"]["prompt_tokens"] == 10
    assert server.requests[0].is_chat and server.requests[0].system == "Be terse."


def test_a_stream_carries_thinking_text_and_calls_and_ends_with_done(server: ModelServer) -> None:
    turn = {
        "thinking": "hm",
        "text": "abcdef",
        "chunk": 4,
        "tools": [{"name": "ls", "input": {"a": 1}}],
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 7, "output_tokens": 2},
    }
    server.load({"default": turn})

    _, data = ask(server, "x", stream=True, stream_options={"include_usage": True})
    found = chunks(data)
    deltas = [c["choices"][0]["delta"] for c in found if c["choices"]]

    assert [d["content"] for d in deltas if d.get("content")] == ["abcd", "ef"]
    assert [d["reasoning_content"] for d in deltas if "reasoning_content" in d] == ["hm"]
    calls = [d["tool_calls"][0]["function"] for d in deltas if "tool_calls" in d]
    assert calls == [{"name": "ls", "arguments": '{"a": 1}'}]
    assert found[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert found[-1]["usage"]["prompt_tokens"] == 10
    assert found[-1]["usage"]["prompt_tokens_details"] == {"cached_tokens": 7}


def test_usage_is_only_told_where_it_was_asked_for(server: ModelServer) -> None:
    _, data = ask(server, "x", "/chat/completions", stream=True)

    assert all(chunk["choices"] and "usage" not in chunk for chunk in chunks(data))


@pytest.mark.parametrize(
    ("given", "said"), [("max_tokens", "length"), ("refusal", "content_filter"), ("odd", "odd")]
)
def test_stop_reasons_are_put_into_the_words_of_this_api(
    server: ModelServer, given: str, said: str
) -> None:
    server.load({"default": {"text": "x", "stop_reason": given, "thinking": "t"}})

    completion = json.loads(ask(server, "x")[1])

    assert completion["choices"][0]["finish_reason"] == said
    assert completion["choices"][0]["message"]["reasoning_content"] == "t"


def test_errors_and_cuts_come_as_on_the_other_api(server: ModelServer) -> None:
    server.load({"turns": [{"error": {"status": 503}}, {"text": "x" * 99, "cut": True}]})

    assert ask(server, "x")[0] == 503
    with pytest.raises(IncompleteRead):
        ask(server, "x", stream=True)


def test_a_wrong_key_is_refused_and_takes_nothing_from_the_script(server: ModelServer) -> None:
    server.load({"key": "right", "turns": [{"text": "in"}]})

    assert ask(server, "x")[0] == 401
    assert ask(server, "x", key="wrong")[0] == 401
    assert ask(server, "x", key="right")[0] == 200
    assert [r.matched for r in server.requests] == ["key", "key", "turns[0]"]


def test_the_models_of_the_script_are_listed(server: ModelServer) -> None:
    server.load({"models": ["one", {"id": "two", "max_model_len": 4096}]})
    connection = HTTPConnection("127.0.0.1", server.port, timeout=HANG_SECONDS)

    connection.request("GET", "/v1/models")
    listed = json.loads(connection.getresponse().read())
    connection.close()

    assert listed["data"] == [{"id": "one"}, {"id": "two", "max_model_len": 4096}]
