"""A host that serves tools to Claude Code and is asked at hooks: lines read and written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podiumd.formats.claude_content import words_of_view
from podiumd.formats.claude_control import hook_answer, initialize, server_reply
from podiumd.formats.claude_events import Event, HookCallback, ServerMessage, UserMessage
from podiumd.formats.claude_stream import decode
from podiumd.formats.claude_turn import TurnReader
from tests.formats import fixtures


def events(name: str) -> list[Event]:
    return [decode(line) for line in fixtures.lines(f"turns/{name}.stdout")]


def sent(line: bytes) -> Any:
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    return json.loads(line)


def test_messages_to_the_hosts_server_come_with_the_request_that_waits() -> None:
    found = [event for event in events("served") if isinstance(event, ServerMessage)]
    assert [one.message["method"] for one in found] == [
        *("initialize", "notifications/initialized", "tools/list"),
        *("tools/call", "tools/call"),
    ]
    assert len({one.request_id for one in found}) == 5
    assert found[3].message["params"]["arguments"] == {"key": "goal", "value": "x"}


def test_a_hook_tells_the_tool_its_input_and_what_came_of_it() -> None:
    found = [event for event in events("served-hooks") if isinstance(event, HookCallback)]
    assert [(one.event, one.input["command"], one.output) for one in found] == [
        ("PreToolUse", "echo hi", ""),
        ("PostToolUse", "echo hi", "hi"),
        ("PreToolUse", "touch made", ""),
        ("PreToolUse", "exit 3", ""),
        ("PostToolUseFailure", "exit 3", "Exit code 3"),
    ]
    assert {one.tool for one in found} == {"Bash"}
    assert found[0].tool_use_id == found[1].tool_use_id != found[2].tool_use_id


def test_a_hooks_refusal_is_told_apart_from_a_persons_denial() -> None:
    refused = [one for e in events("served-hooks") if isinstance(e, UserMessage)
               for one in e.refused_by_hook]  # fmt: skip
    reader = TurnReader(["11111111-1111-4111-8111-111111111111"])
    for event in events("served-hooks"):
        reader.feed(event)
    report = reader.report()
    assert (report.kind, report.texts) == ("done", ("Done.",))
    assert [denial.tool_use_id for denial in report.denials] == refused
    assert reader.hook_refusals == set(refused)
    denied = (decode(line) for line in fixtures.lines("permission.stdout"))
    assert not [e for e in denied if isinstance(e, UserMessage) and e.refused_by_hook]


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (None, ""),
        ("done", "done"),
        ([{"type": "text", "text": "Saved."}], "Saved."),
        ({"stdout": "out", "stderr": "err"}, "out\nerr"),
        ({"stdout": "", "stderr": ""}, ""),
        ({"file": {"path": "a"}}, '{"file":{"path":"a"}}'),
    ],
)
def test_what_a_tool_has_put_out_is_told_in_words_where_there_are_any(
    view: object, words: str
) -> None:
    assert words_of_view(view) == words


def test_hooks_are_asked_for_by_moment_and_may_be_answered_for_a_day() -> None:
    line = sent(initialize("i", ("before", "after"), "^B"))
    assert (line["type"], line["request_id"]) == ("control_request", "i")
    assert line["request"] == {
        "subtype": "initialize",
        "hooks": {
            event: [{"matcher": "^B", "hookCallbackIds": [moment], "timeout": 86400}]
            for event, moment in (
                ("PreToolUse", "before"),
                ("PostToolUse", "after"),
                ("PostToolUseFailure", "after"),
            )
        },
    }
    assert set(sent(initialize("i", ("before",), "x"))["request"]["hooks"]) == {"PreToolUse"}


@pytest.mark.parametrize(
    ("event", "refusal", "answer"),
    [
        ("PreToolUse", None, {}),
        ("PostToolUse", None, {}),
        (
            "PreToolUse",
            "No.",
            {
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "deny",
                    "permissionDecisionReason": "No.",
                }
            },
        ),
        ("PostToolUse", "No.", {"decision": "block", "reason": "No."}),
        ("PostToolUseFailure", "No.", {"decision": "block", "reason": "No."}),
    ],
)
def test_our_word_at_a_hook(event: str, refusal: str | None, answer: dict[str, Any]) -> None:
    assert sent(hook_answer("h", event, refusal)) == {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": "h", "response": answer},
    }


def test_the_servers_reply_is_the_answer_and_a_notification_gets_any() -> None:
    reply = {"jsonrpc": "2.0", "id": 7, "result": {"tools": []}}
    assert sent(server_reply("m", reply))["response"] == {
        "subtype": "success",
        "request_id": "m",
        "response": {"mcp_response": reply},
    }
    nothing = sent(server_reply("m", None))["response"]["response"]["mcp_response"]
    assert nothing["jsonrpc"] == "2.0" and nothing["result"] == {}
