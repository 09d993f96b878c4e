"""The scripted model server, spoken to over plain HTTP as a client would."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_script import ScriptError
from tests.fakes.model_server import ModelServer
from tests.patience import HANG_SECONDS

SERVER = Path(__file__).with_name("model_server.py")


class Client:
    """Model requests by hand."""

    def __init__(self, port: int, session: str = "s1") -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_SECONDS)
        self.headers = {"x-claude-code-session-id": session, "Content-Type": "application/json"}

    def request(self, method: str, path: str, body: Any = None) -> http.client.HTTPResponse:
        data = None if body is None else json.dumps(body)
        self.connection.request(method, path, data, self.headers)
        return self.connection.getresponse()

    def json(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        response = self.request(method, path, body)
        return response.status, json.loads(response.read())

    def ask(self, *messages: Any, **more: Any) -> dict[str, Any]:
        turns = [m if isinstance(m, dict) else {"role": "user", "content": m} for m in messages]
        status, answer = self.json(
            "POST", "/v1/messages", {"model": "m", "messages": turns, **more}
        )
        assert status == 200, answer
        return dict(answer)

    def say(self, *messages: Any, **more: Any) -> str:
        return "".join(block.get("text", "") for block in self.ask(*messages, **more)["content"])


def events_of(response: http.client.HTTPResponse) -> list[dict[str, Any]]:
    lines = response.read().decode().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


RESULT = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t", "content": "exit 0"}],
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def client(server: ModelServer) -> Iterator[Client]:
    asking = Client(server.port)
    yield asking
    asking.connection.close()


def test_turns_are_handed_out_in_order_and_then_the_default(
    server: ModelServer, client: Client
) -> None:
    server.load({"turns": [{"text": "one"}, {"text": "two"}], "default": {"text": "rest"}})
    assert [client.say("hi") for _ in range(4)] == ["one", "two", "rest", "rest"]
    assert [r.matched for r in server.requests] == ["turns[0]", "turns[1]", "default", "default"]


def test_sessions_walk_lists_of_their_own(server: ModelServer, client: Client) -> None:
    server.load(
        {"turns": [{"text": "a"}], "per_session": True, "sessions": {"s2": [{"text": "mine"}]}}
    )
    other, third = Client(server.port, "s2"), Client(server.port, "s3")
    assert (client.say("x"), other.say("x"), third.say("x")) == ("a", "mine", "a")
    other.connection.close()
    third.connection.close()


def test_a_rules_list_is_walked_through_by_the_follow_ups_of_its_prompt(
    server: ModelServer, client: Client
) -> None:
    """Tool results and reminders do not change what the person said last."""
    server.load(
        {
            "rules": [
                {
                    "when": {"prompt": "^Perform a code review"},
                    "turns": [{"tools": [{"name": "Bash"}]}, {"text": "reviewed"}],
                },
                {"when": {"prompt": "^Implement"}, "text": "implemented"},
            ]
        }
    )
    reminder = {"type": "text", "text": "<system-reminder>Implement\nit</system-reminder>"}
    words = {"type": "text", "text": "Perform a code review of it"}
    prompt = {"role": "user", "content": [reminder, words]}
    assert client.ask(prompt)["content"][0]["name"] == "Bash"
    assert client.say("Implement it") == "implemented"
    assert client.say(prompt, {"role": "assistant", "content": []}, RESULT) == "reviewed"
    assert server.requests[-1].prompt == "Perform a code review of it"
    assert server.requests[-1].result == "exit 0"
    assert client.ask(prompt)["content"][0]["name"] == "Bash", "the walk starts again"


def test_rules_look_at_every_field_and_times_limits_their_use(
    server: ModelServer, client: Client
) -> None:
    server.load(
        {
            "rules": [
                {"when": {"system": "terse"}, "text": "ok", "times": 1},
                {"when": {"result": "exit [1-9]"}, "text": "failed"},
                {"when": {"model": "^big"}, "text": "large"},
                {"when": {"session": "s1", "anywhere": "magic"}, "text": "found"},
            ]
        }
    )
    terse = {"system": [{"type": "text", "text": "Be terse."}]}
    assert client.say("x", **terse) == "ok"
    assert client.say("x", **terse) == "(nothing scripted)"
    bad = {"type": "tool_result", "content": [{"type": "text", "text": "exit 2"}]}
    assert client.say("x", {"role": "user", "content": [bad]}) == "failed"
    assert client.say("x", model="big-1") == "large"
    assert client.say("magic", {"role": "assistant", "content": "-"}, "x") == "found"


def test_side_requests_without_tools_are_told_apart_when_asked_to(
    server: ModelServer, client: Client
) -> None:
    server.load({"turns": [{"text": "work"}], "side": {"text": "a title"}})
    assert client.say("summarise") == "a title"
    assert client.say("do it", tools=[{"name": "Bash"}]) == "work"


def test_structured_calls_the_tool_where_it_is_offered_else_ends_with_the_json(
    server: ModelServer, client: Client
) -> None:
    server.load({"default": {"text": "Did it.", "structured": {"outcome": "complete"}}})
    called = client.ask("x", tools=[{"name": "StructuredOutput"}])
    assert called["content"][1]["input"] == {"outcome": "complete"}
    assert called["stop_reason"] == "tool_use"
    assert client.say("x").splitlines()[-1] == '{"outcome": "complete"}'
    server.load({"default": {"structured": {"outcome": "complete"}}})
    assert client.say("x") == '{"outcome": "complete"}'


def test_a_stream_carries_thinking_text_and_calls_in_pieces(
    server: ModelServer, client: Client
) -> None:
    turn = {
        "thinking": "hm",
        "text": "abcdef",
        "tools": [{"name": "Bash", "input": {"command": "ls"}, "id": "t1"}],
        "chunk": 4,
        "usage": {"output_tokens": 99},
        "stop_reason": "max_tokens",
        "headers": {"x-extra": "1"},
    }
    server.load({"default": turn})
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}
    response = client.request("POST", "/v1/messages", body)
    assert response.headers["x-extra"] == "1"
    events = events_of(response)
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert [d["text"] for d in deltas if d["type"] == "text_delta"] == ["abcd", "ef"]
    parts = [d["partial_json"] for d in deltas if d["type"] == "input_json_delta"]
    assert json.loads("".join(parts)) == {"command": "ls"}
    assert [d["thinking"] for d in deltas if d["type"] == "thinking_delta"] == ["hm"]
    assert events[-2]["delta"]["stop_reason"] == "max_tokens"
    assert events[-2]["usage"]["output_tokens"] == 99


def test_a_gate_stops_a_message_half_way_until_it_is_released(
    server: ModelServer, client: Client
) -> None:
    server.load({"default": {"text": "x" * 200, "hold": "gate"}})
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}
    response = client.request("POST", "/v1/messages", body)
    server.wait_holding("gate")
    assert b"message_start" in response.readline() + response.readline()
    with pytest.raises(TimeoutError, match="nobody came to gate gate"):
        server.wait_holding("gate", 0.01, arrivals=2)
    server.release("gate")
    assert events_of(response)[-1]["type"] == "message_stop"
    assert client.say("again") == "x" * 200, "an open gate stays open"


@pytest.mark.parametrize(
    "turn", [{"text": "x", "hold": "for ever"}, {"never": True}, {"delay": 99}]
)
def test_shutting_down_aborts_a_request_that_is_held(turn: dict[str, Any]) -> None:
    with ModelServer({"default": turn}) as server:
        client = Client(server.port)
        ended = threading.Event()

        def ask() -> None:
            with pytest.raises((http.client.HTTPException, OSError)):
                client.ask("x")
            ended.set()

        asking = threading.Thread(target=ask)
        asking.start()
        server.wait_requests(1)
    assert ended.wait(HANG_SECONDS)
    asking.join()
    client.connection.close()


def test_an_error_has_its_status_type_message_and_headers(
    server: ModelServer, client: Client
) -> None:
    error = {"status": 429, "type": "rate_limit_error", "message": "slow", "headers": {"h": "v"}}
    server.load({"turns": [{"error": error}, {"error": {}}]})
    body = {"messages": [{"role": "user", "content": "x"}]}
    response = client.request("POST", "/v1/messages", body)
    assert (response.status, response.headers["h"]) == (429, "v")
    said = json.loads(response.read())
    assert said["error"] == {"type": "rate_limit_error", "message": "slow"}
    assert client.json("POST", "/v1/messages", body)[0] == 500


def test_a_cut_drops_the_connection_half_way(server: ModelServer, client: Client) -> None:
    server.load({"turns": [{"text": "x" * 200, "cut": True}, {"text": "y", "cut": True}]})
    body = {"stream": True, "messages": [{"role": "user", "content": "x"}]}
    with pytest.raises(http.client.IncompleteRead):
        client.request("POST", "/v1/messages", body).read()
    client.connection.close()
    with pytest.raises(http.client.RemoteDisconnected):
        client.ask("x")


def test_the_rest_of_the_api_is_there(client: Client) -> None:
    assert client.json("GET", "/api/hello") == (200, {"message": "hello"})
    assert client.json("GET", "/v1/models")[0] == 200
    assert client.json("POST", "/v1/messages/count_tokens", {"messages": []})[1]["input_tokens"] > 0
    head = client.request("HEAD", "/")
    assert (head.status, head.read()) == (200, b"")
    assert client.json("GET", "/nothing")[0] == 404
    assert client.json("POST", "/nothing", {})[0] == 404
    assert client.json("POST", "/v1/messages", [])[0] == 400


def test_the_log_says_what_was_asked_and_by_which_session(
    tmp_path: Path,
) -> None:
    log = tmp_path / "requests.jsonl"
    with ModelServer(log=log) as server:
        client = Client(server.port, "abc")
        client.ask("hi", tools=[{"name": "Bash"}], tool_choice={"type": "auto"})
        request = server.requests[0]
        assert (request.session, request.prompt, request.tools) == ("abc", "hi", ("Bash",))
        assert (request.messages, request.tool_choice) == (1, {"type": "auto"})
        client.connection.close()
    record = json.loads(log.read_text())
    assert (record["session"], record["prompt"], record["matched"]) == ("abc", "hi", "default")
    assert "body" not in record and "headers" not in record


def test_another_process_can_steer_it_over_http(server: ModelServer, client: Client) -> None:
    assert client.json("POST", "/_control/script", {"default": {"text": "new", "hold": "g"}}) == (
        200,
        {},
    )
    assert client.json("GET", "/_control/holding/g?seconds=0.01")[0] == 504
    assert client.json("POST", "/_control/release/g", {})[0] == 200
    assert client.say("x") == "new"
    assert client.json("GET", "/_control/holding/g")[0] == 200
    assert client.json("GET", "/_control/requests")[1][0]["prompt"] == "x"
    assert client.json("POST", "/_control/script", {"turn": []})[0] == 400


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ({"turn": []}, "unknown key 'turn'"),
        ({"turns": [{"txt": "x"}]}, r"turns\[0\]: unknown key 'txt'"),
        ({"turns": {}}, "expected a list"),
        ({"turns": ["x"]}, "expected an object"),
        ({"turns": [{"text": 1}]}, r"turns\[0\].text: 1 is of the wrong type"),
        ({"turns": [{"delay": True}]}, "wrong type"),
        ({"turns": [{"chunk": 0}]}, "at least 1"),
        ({"turns": [{"error": {"code": 1}}]}, "unknown key 'code'"),
        ({"turns": [{"tools": [{"input": {}}]}]}, "needs a name"),
        ({"turns": [{"tools": [{"name": "x", "args": {}}]}]}, "unknown key 'args'"),
        ({"rules": [{"when": {"promt": "x"}, "text": ""}]}, "unknown key 'promt'"),
        ({"rules": [{"when": {"prompt": "("}, "text": ""}]}, "not a regular expression"),
        ({"rules": [{"turns": []}]}, "answers nothing"),
        ({"rules": [{"turns": [{}], "text": "x"}]}, "exclude each other"),
        ({"rules": [{"text": "x", "times": 0}]}, "no positive count"),
        ({"side": {"x": 1}}, "side: unknown key 'x'"),
    ],
)
def test_a_script_that_cannot_be_meant_is_refused(script: Any, complaint: str) -> None:
    with pytest.raises(ScriptError, match=complaint):
        ModelServer(script)


def test_as_a_process_it_prints_its_port_and_ends_on_sigterm(tmp_path: Path) -> None:
    script, log = tmp_path / "script.json", tmp_path / "log.jsonl"
    script.write_text(json.dumps({"default": {"text": "from a file"}}))
    command = [sys.executable, str(SERVER), "--script", str(script), "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        client = Client(int(process.stdout.readline()))
        assert client.say("hi") == "from a file"
        client.connection.close()
        process.terminate()
        assert process.wait(HANG_SECONDS) == 0
    assert json.loads(log.read_text())["prompt"] == "hi"


def test_as_a_process_it_says_what_is_wrong_with_its_script(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"turn": []}')
    command = [sys.executable, str(SERVER), "--script", str(script)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )
    assert done.returncode == 2
    assert "unknown key 'turn'" in done.stderr
