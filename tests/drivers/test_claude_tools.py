"""Podium's tools and hooks in the dialect of Claude Code: recorded turns, and made lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podiumd.agents.claude.dialect import ClaudeDialect
from podiumd.agents.claude.tools import ANSWER_CHARACTERS, ARGUMENTS_BYTES, hooks_line
from podiumd.core.prompts.tools import ToolSpec
from podiumd.drivers.base import ApprovalRequested, HookPoint, HookRaised, Output, ToolCalled
from podiumd.drivers.dialect import Ending, Group
from podiumd.formats.claude_events import HookCallback, Init, ServerMessage, UserMessage
from podiumd.formats.claude_stream import decode
from tests.drivers.serving import ASK, SAVE
from tests.formats import fixtures

PROMPT = "11111111-1111-4111-8111-111111111111"
TURNS = ["served", "served-hooks", "served-interrupted"]


def recorded(name: str) -> list[bytes]:
    return fixtures.lines(f"turns/{name}.stdout")


def fed(lines: list[bytes], specs: tuple[ToolSpec, ...] = (SAVE, ASK)) -> ClaudeDialect:
    dialect = ClaudeDialect([PROMPT], specs)
    for line in lines:
        dialect.feed(line)
    return dialect


def asked_under(one: ApprovalRequested | ToolCalled | HookRaised) -> str:
    match one:
        case ToolCalled(call_id=key) | HookRaised(hook_id=key):
            return key
        case ApprovalRequested():
            pytest.fail("nothing was asked of a person")


def message(method: str, request_id: str = "r1", **params: Any) -> bytes:
    said = {"jsonrpc": "2.0", "id": 5, "method": method, "params": params}
    request = {"subtype": "mcp_message", "server_name": "podium", "message": said}
    return json.dumps(
        {"type": "control_request", "request_id": request_id, "request": request}
    ).encode()


def calling(value: object = "x", tool_use_id: str = "t1", request_id: str = "r1") -> bytes:
    args = {"key": "goal", "value": value}
    meta = {"claudecode/toolUseId": tool_use_id}
    return message("tools/call", request_id, name="save", arguments=args, _meta=meta)


def hook(event: str = "PreToolUse", request_id: str = "h1") -> bytes:
    told = {"hook_event_name": event, "tool_name": "Bash", "tool_use_id": "t1", "tool_input": {}}
    request = {"subtype": "hook_callback", "callback_id": "before", "input": told}
    return json.dumps(
        {"type": "control_request", "request_id": request_id, "request": request}
    ).encode()


def asking(tool: str) -> bytes:
    request = {"subtype": "can_use_tool", "tool_name": tool, "tool_use_id": "t1", "input": {}}
    return json.dumps({"type": "control_request", "request_id": "q1", "request": request}).encode()


def answered(group: Group | None) -> tuple[str, Any]:
    assert group is not None
    (line,) = group
    response = json.loads(line)["response"]
    assert response["subtype"] == "success"
    return response["request_id"], response["response"]


def test_what_the_server_says_by_itself_is_due_at_once_and_handed_out_once() -> None:
    dialect = ClaudeDialect([PROMPT], (SAVE, ASK))
    replies = []
    for line in recorded("served"):
        dialect.feed(line)
        replies += [answered(reply) for reply in dialect.replies()]
    asked = [e for e in map(decode, recorded("served")) if isinstance(e, ServerMessage)]
    assert [key for key, _ in replies] == [one.request_id for one in asked[:3]]
    assert replies[0][1]["mcp_response"]["result"]["protocolVersion"] == "2025-11-25"
    offered = replies[2][1]["mcp_response"]["result"]["tools"]
    assert [tool["name"] for tool in offered] == ["save", "ask"]


@pytest.mark.parametrize("name", TURNS)
def test_wherever_a_recorded_turn_is_cut_the_next_daemon_knows_what_waits(name: str) -> None:
    lines = recorded(name)
    for end, line in enumerate(lines, 1):
        dialect, last = fed(lines[:end]), decode(line)
        due = {answered(reply)[0] for reply in dialect.replies()}
        waiting = [asked_under(one) for one in dialect.open_requests()]
        assert len(waiting) <= 1, "these turns wait for one thing at a time"
        assert dialect.waits_for_answer is bool(waiting)
        match last:
            case ServerMessage() | HookCallback():
                assert last.request_id in {*due, *waiting}
            case Init():
                assert not due, "the greeting is over"
            case UserMessage(results=(_, *_)):
                assert not waiting, "the tool has its result"
            case _:
                pass
    ended = fed(lines)
    assert ended.over and ended.open_requests() == []


def test_a_call_is_told_waits_and_is_answered_once() -> None:
    dialect = ClaudeDialect([PROMPT], (SAVE,))
    called = ToolCalled("r1", "save", {"key": "goal", "value": "x"})
    assert dialect.feed(calling()) == [called]
    assert dialect.open_requests() == [called] and dialect.waits_for_answer
    line = dialect.reply_tool("r1", "Saved.", True)
    key, said = answered(line)
    assert (key, said["mcp_response"]["id"]) == ("r1", 5)
    assert said["mcp_response"]["result"] == {
        "content": [{"type": "text", "text": "Saved."}],
        "isError": False,
    }
    assert dialect.open_requests() == [] and not dialect.waits_for_answer
    assert dialect.reply_tool("r1", "Not saved.", False) == line, "the first answer holds"
    assert dialect.reply_tool("r2", "Saved.", True) is None
    assert dialect.settle_hook("r2", None) is None


def test_a_refused_call_is_an_error_to_the_model() -> None:
    dialect = fed([calling()])
    _, said = answered(dialect.reply_tool("r1", "key: expected plan", False))
    assert said["mcp_response"]["result"]["isError"] is True


def test_an_answer_fits_the_smallest_pipe_whatever_stands_in_it() -> None:
    dialect = fed([calling()])
    group = dialect.reply_tool("r1", "\x01" * 100_000, True)
    assert group is not None and len(group[0]) < 60_000
    text = answered(group)[1]["mcp_response"]["result"]["content"][0]["text"]
    assert len(text) == ANSWER_CHARACTERS and text.endswith("…")


def test_a_tool_that_is_not_served_is_refused_without_asking_anybody() -> None:
    dialect = ClaudeDialect([PROMPT], (ASK,))
    assert dialect.feed(calling()) == [] and dialect.open_requests() == []
    (reply,) = dialect.replies()
    told = answered(reply)[1]["mcp_response"]["result"]
    assert told["isError"] and "save" in told["content"][0]["text"]


def test_a_call_of_more_than_a_mebibyte_is_refused() -> None:
    dialect = ClaudeDialect([PROMPT], (SAVE,))
    assert dialect.feed(calling("x" * ARGUMENTS_BYTES)) == []
    (reply,) = dialect.replies()
    told = answered(reply)[1]["mcp_response"]["result"]
    assert told["isError"] and "at most 1048576" in told["content"][0]["text"]
    assert dialect.feed(calling("x" * (ARGUMENTS_BYTES - 1000)))


def test_a_hook_waits_and_is_settled_once() -> None:
    dialect = ClaudeDialect([PROMPT])
    raised = HookRaised("h1", "before-tool", "Bash", {})
    assert dialect.feed(hook()) == [raised]
    assert dialect.open_requests() == [raised] and dialect.waits_for_answer
    line = dialect.settle_hook("h1", "Only in docs.")
    denied = answered(line)[1]["hookSpecificOutput"]
    assert denied["permissionDecisionReason"] == "Only in docs."
    assert dialect.settle_hook("h1", None) == line and not dialect.waits_for_answer
    assert dialect.reply_tool("h2", "", True) is None


def test_an_answer_of_the_wrong_kind_answers_nothing() -> None:
    dialect = fed([calling(), hook(request_id="h2")], (SAVE,))
    assert dialect.settle_hook("r1", None) is None
    assert dialect.reply_tool("h2", "Saved.", True) is None
    assert len(dialect.open_requests()) == 2


@pytest.mark.parametrize(
    "after",
    [hook("PostToolUse", "h2"), hook("PostToolUseFailure", "h2"), asking("Bash"), calling()],
    ids=["used", "failed", "asked", "called"],
)
def test_a_hook_was_answered_where_the_agent_went_on_with_its_tool(after: bytes) -> None:
    dialect = fed([hook(), after])
    waiting = dialect.open_requests()
    assert len(waiting) == 1 and HookRaised("h1", "before-tool", "Bash", {}) not in waiting


@pytest.mark.parametrize("line", [calling(), hook()])
def test_a_tools_result_and_a_withdrawal_end_the_waiting(line: bytes) -> None:
    block = {"type": "tool_result", "tool_use_id": "t1", "content": "no"}
    result = {"type": "user", "uuid": "u", "message": {"content": [block]}}
    key = json.loads(line)["request_id"]
    withdrawn = {"type": "control_cancel_request", "request_id": key}
    for end in (result, withdrawn):
        assert fed([line, json.dumps(end).encode()]).open_requests() == []


def test_a_cancelled_call_waits_no_longer_and_others_do() -> None:
    dialect = fed([calling(), message("notifications/cancelled", "r2", requestId=4)])
    assert len(dialect.open_requests()) == 1
    dialect.feed(message("notifications/cancelled", "r3", requestId=5))
    assert dialect.open_requests() == []
    assert dialect.reply_tool("r1", "Saved.", True) is None


def test_our_own_tools_are_let_through_where_the_agents_mode_has_it_ask() -> None:
    dialect = ClaudeDialect([PROMPT], (SAVE,))
    assert dialect.feed(asking("mcp__podium__save")) == []
    assert [answered(reply) for reply in dialect.replies()] == [("q1", {"behavior": "allow"})]
    assert not dialect.waits_for_answer
    assert [type(one) for one in dialect.feed(asking("mcp__podium__ask"))] == [ApprovalRequested]
    assert [type(one) for one in dialect.feed(asking("Write"))] == [ApprovalRequested]


def test_tools_that_the_agent_keeps_from_its_model_are_told_of() -> None:
    init = {"type": "system", "subtype": "init", "tools": ["Bash", "mcp__podium__ask"]}
    line = json.dumps(init).encode()
    told = Output("", "status", "the agent began without save of Podium's tools")
    assert ClaudeDialect([PROMPT], (SAVE, ASK)).feed(line) == [told]
    assert ClaudeDialect([PROMPT], (ASK,)).feed(line) == []


def test_a_call_counts_as_a_tool_and_is_told_under_its_own_name() -> None:
    dialect = ClaudeDialect([PROMPT], (SAVE, ASK))
    told = [one for line in recorded("served") for one in dialect.feed(line)]
    assert [o.delta for o in told if isinstance(o, Output) and o.kind == "tool"] == [
        "save: goal",
        "save: colour",
    ]
    assert dialect.tool_begun and dialect.report(Ending()).kind == "done"


def test_hooks_are_asked_for_where_there_are_any() -> None:
    assert hooks_line(()) is None
    line = hooks_line((HookPoint("after-tool", "Bash"), HookPoint("after-tool", "Write")))
    assert line is not None
    assert set(json.loads(line)["request"]["hooks"]) == {"PostToolUse", "PostToolUseFailure"}
    both = hooks_line((HookPoint("before-tool"), HookPoint("after-tool")))
    assert both is not None and b'"PreToolUse"' in both


@pytest.mark.parametrize(
    ("response", "why"),
    [
        ({"subtype": "error", "error": "no such hook"}, "no such hook"),
        ({"subtype": "success", "response": {"hooks_applied": False}}, "its settings do not let"),
    ],
)
def test_an_agent_that_will_not_ask_at_hooks_does_nothing(
    response: dict[str, Any], why: str
) -> None:
    dialect = ClaudeDialect([PROMPT])
    told = {"type": "control_response", "response": {"request_id": "podium-initialize", **response}}
    dialect.feed(json.dumps(told).encode())
    assert why in dialect.hopeless
    report = dialect.report(Ending())
    assert (report.kind, report.detail) == ("failed", dialect.hopeless)


def test_answers_to_other_requests_say_nothing_about_hooks() -> None:
    dialect = fed(recorded("served-hooks"))
    response = {"request_id": "podium-interrupt-1", "subtype": "error", "error": "no"}
    dialect.feed(json.dumps({"type": "control_response", "response": response}).encode())
    assert dialect.hopeless == ""
