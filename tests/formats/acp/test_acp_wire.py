"""What agents of the Agent Client Protocol say and are asked, as values and lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podiumd.formats.acp import calls, wire
from podiumd.formats.acp.wire import text_of
from podiumd.formats.jsonrpc_lines import Answer, Request
from podiumd.formats.jsonrpc_lines import read as read_line
from podiumd.formats.said import read

EXCHANGES = Path(__file__).parents[2] / "fixtures/exchanges/acp"


def said(name: str) -> list[dict[str, Any]]:
    """The lines of the agent in a recording."""
    rows = (json.loads(line) for line in (EXCHANGES / f"{name}.jsonl").read_text().splitlines())
    return [row["line"] for row in rows if row["from"] == "agent"]


@pytest.mark.parametrize("file", sorted(EXCHANGES.glob("*.jsonl")), ids=lambda file: file.stem)
def test_every_update_that_was_recorded_is_read(file: Path) -> None:
    updates = [line for line in said(file.stem) if line.get("method") == "session/update"]
    for line in updates:
        found = read(wire.SessionNotification, line["params"])
        assert found.session_id and found.update.session_update


def test_the_greeting_of_kimi_is_read() -> None:
    about = read(wire.InitializeResponse, said("kimi.approve")[0]["result"])
    assert about.protocol_version == 1 and about.agent_capabilities.load_session
    assert "resume" in about.agent_capabilities.session_capabilities
    assert about.agent_info is not None and about.agent_info.version


def test_its_options_are_read_with_their_values() -> None:
    opened = read(wire.OpenedSession, said("kimi.approve")[1]["result"])
    mode = next(one for one in opened.config_options if one.category == "mode")
    assert mode.current_value == "default" and mode.values == ("default", "plan", "auto", "yolo")


def test_values_may_come_in_groups_and_what_is_none_is_passed_over() -> None:
    group = {"name": "Fast", "options": [{"value": "a"}, {"value": 1}, "b"]}
    option = wire.ConfigOption(id="model", options=(group, {"value": "c"}, 7))
    assert option.values == ("a", "c")


def test_the_permission_that_kimi_asks_for_is_read() -> None:
    line = next(one for one in said("kimi.approve") if one.get("method", "").endswith("permission"))
    asked = read(wire.PermissionRequest, line["params"])
    assert [one.kind for one in asked.options] == ["allow_once", "allow_always", "reject_once"]
    assert asked.tool_call.title == "Bash" and asked.tool_call.kind is None
    assert "echo hi > made.txt" in text_of(asked.tool_call.content)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"type": "text", "text": "a"}, "a"),
        ([{"type": "content", "content": {"text": "a"}}, {"type": "diff"}, {"text": "b"}], "a\nb"),
        ({"type": "text", "text": 1}, ""),
        (None, ""),
    ],
)
def test_the_text_of_content(content: Any, text: str) -> None:
    assert text_of(content) == text


def request(line: bytes) -> Request:
    """A line of ours, as a request."""
    found = read_line(line)
    assert isinstance(found, Request), found
    return found


def test_our_requests_are_those_that_were_recorded() -> None:
    text = (EXCHANGES / "kimi.approve.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    ours = [row["line"] for row in rows if row["from"] == "podium" and "method" in row["line"]]
    methods = {line["method"]: line["params"] for line in ours}
    made = [
        calls.initialize("0"),
        calls.new_session("/home/dev/project", ()),
        calls.prompt(methods["session/prompt"]["sessionId"], "make a file"),
    ]
    for line in made:
        found = request(line)
        assert found.params == methods[found.method]


def test_further_requests_name_their_session() -> None:
    made = [
        calls.open_session("resume", "s", "/w", ()),
        calls.set_mode("s", "plan"),
        calls.set_option(calls.MODEL, "s", "model", "m"),
        calls.set_model("s", "m"),
    ]
    assert [request(line).method for line in made] == [
        "session/resume",
        "session/set_mode",
        "session/set_config_option",
        "session/set_model",
    ]
    assert all(request(line).params["sessionId"] == "s" for line in made)
    assert json.loads(calls.cancel("s"))["params"] == {"sessionId": "s"}
    assert request(calls.fence("f", "_x/y")).id == "f"


def test_a_session_is_closed_and_removed_by_its_id() -> None:
    for line, method in (
        (calls.close_session("ses"), "session/close"),
        (calls.delete_session("ses"), "session/delete"),
    ):
        said = json.loads(line)
        assert (said["method"], said["params"]) == (method, {"sessionId": "ses"})


def test_a_cost_is_one_in_dollars_alone() -> None:
    costs = [read(wire.Cost, {"amount": 0.5, "currency": one}) for one in ("USD", "EUR")]
    assert [cost.in_usd for cost in costs] == [0.5, None]


def test_answers_to_permissions() -> None:
    assert json.loads(calls.selected(0, "yes"))["result"]["outcome"]["optionId"] == "yes"
    assert json.loads(calls.cancelled("a"))["result"] == {"outcome": {"outcome": "cancelled"}}
    refused = read_line(calls.withdrawn(1))
    assert isinstance(refused, Answer) and refused.error is not None
    assert refused.error.code == wire.REQUEST_CANCELLED


def test_a_server_of_tools_is_described_as_recorded() -> None:
    made = calls.server("podium", ["python", "-m", "x"], {"TOKEN": "t"})
    assert made["command"] == "python" and made["args"] == ["-m", "x"]
    assert made["env"] == [{"name": "TOKEN", "value": "t"}]


def test_images_stand_before_the_words_they_are_about() -> None:
    line = calls.prompt("s", "What is it?", [("image/png", "AAAA")])
    assert json.loads(line)["params"]["prompt"] == [
        {"type": "image", "mimeType": "image/png", "data": "AAAA"},
        {"type": "text", "text": "What is it?"},
    ]
