"""Lines of Claude Code to events, decisions to its lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podiumd.agents.claude.dialect import ClaudeDialect
from podiumd.drivers.base import (
    ApprovalRequested,
    ApprovalWithdrawn,
    Decision,
    Output,
    PromptState,
    TurnEvent,
)
from podiumd.drivers.dialect import Aftermath, Ending

ASK = {
    "type": "control_request",
    "request_id": "r1",
    "request": {
        "subtype": "can_use_tool",
        "tool_name": "Write",
        "input": {"file_path": "/a"},
        "tool_use_id": "t1",
        "description": "a",
    },
}


@pytest.fixture
def dialect() -> ClaudeDialect:
    return ClaudeDialect(["p"])


def feed(dialect: ClaudeDialect, *messages: dict[str, Any]) -> list[TurnEvent]:
    return [one for message in messages for one in dialect.feed(json.dumps(message).encode())]


def assistant(*blocks: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    message = {"id": "m1", "model": "opus", "content": list(blocks)}
    return {"type": "assistant", "uuid": "a1", "message": message, "parent_tool_use_id": parent}


def delta(kind: str, text: str, parent: str | None = None) -> dict[str, Any]:
    part = {"type": f"{kind}_delta", kind: text}
    event = {"type": "content_block_delta", "index": 0, "delta": part}
    return {
        "type": "stream_event",
        "api_message_id": "m1",
        "event": event,
        "parent_tool_use_id": parent,
    }


def tool_result(tool: str, text: str) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": tool, "content": text}
    return {"type": "user", "uuid": "u1", "message": {"role": "user", "content": [block]}}


def test_words_are_told_once_streamed_or_not(dialect: ClaudeDialect) -> None:
    text = {"type": "text", "text": "hello"}
    assert feed(dialect, assistant(text)) == [Output("a1", "text", "hello")]
    streamed = feed(dialect, delta("text", "hel"), delta("text", "lo"), assistant(text))
    assert streamed == [Output("m1", "text", "hel"), Output("m1", "text", "lo")]


def test_thinking_is_told_as_such(dialect: ClaudeDialect) -> None:
    whole = assistant({"type": "thinking", "thinking": "hm"})
    assert feed(dialect, whole) == [Output("a1", "thinking", "hm")]
    assert feed(dialect, delta("thinking", "hm"), whole) == [Output("m1", "thinking", "hm")]


def test_of_a_sub_agent_only_the_tools_are_told(dialect: ClaudeDialect) -> None:
    text = {"type": "text", "text": "inside"}
    tool = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "/a"}}
    events = feed(dialect, delta("text", "in", "t0"), assistant(text, tool, parent="t0"))
    assert events == [Output("a1", "tool", "Read: /a")]


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("Bash", {"command": "make\n  test", "description": "d"}, "Bash: make test"),
        ("TaskStop", {}, "TaskStop"),
        ("Write", {"file_path": "x" * 300}, "Write: " + "x" * 192 + "…"),
    ],
)
def test_a_tool_is_told_in_one_line(
    dialect: ClaudeDialect, name: str, arguments: dict[str, Any], line: str
) -> None:
    tool = {"type": "tool_use", "id": "t", "name": name, "input": arguments}
    assert feed(dialect, assistant(tool)) == [Output("a1", "tool", line)]
    assert dialect.tool_begun


def test_the_structured_answer_is_no_tool_to_people(dialect: ClaudeDialect) -> None:
    tool = {"type": "tool_use", "id": "t", "name": "StructuredOutput", "input": {"outcome": "a"}}
    assert feed(dialect, assistant(tool)) == [] and not dialect.tool_begun


def test_results_and_retries_are_told(dialect: ClaudeDialect) -> None:
    retry = {"type": "system", "subtype": "api_retry", "error_status": 529, "error": "overloaded"}
    events = feed(dialect, tool_result("t", "x" * 3000), {**retry, "retry_delay_ms": 1100})
    assert events == [
        Output("u1", "tool_result", "x" * 2000),
        Output(
            "",
            "status",
            "claude's provider is overloaded (529); it tries again in 1 s (try 0 of 0)",
        ),
    ]
    assert dialect.hopeless == ""


def test_refused_credentials_are_hopeless(dialect: ClaudeDialect) -> None:
    feed(dialect, {"type": "system", "subtype": "api_retry", "error_status": 401, "error": "no"})
    assert "401" in dialect.hopeless


def test_a_lifecycle_is_told_as_far_as_its_word_is_known(dialect: ClaudeDialect) -> None:
    line = {"type": "command_lifecycle", "command_uuid": "p"}
    events = feed(dialect, {**line, "state": "started"}, {**line, "state": "new-word"})
    assert events == [PromptState("p", "started")]


def test_synthetic_words_and_unknown_lines_are_not_told(dialect: ClaudeDialect) -> None:
    made_up = assistant({"type": "text", "text": "API Error"})
    made_up["message"]["model"] = "<synthetic>"
    assert feed(dialect, made_up, {"type": "keep_alive"}) == []


def test_a_request_that_podium_does_not_know_is_refused_at_once_and_asks_nobody(
    dialect: ClaudeDialect,
) -> None:
    request = {"subtype": "craft/drainMidTurnQueue", "tool_use_id": "t1"}
    assert feed(dialect, {"type": "control_request", "request_id": "x1", "request": request}) == []
    assert not dialect.waits_for_answer
    ((line,),) = dialect.replies()
    said = json.loads(line)["response"]
    assert (said["subtype"], said["request_id"]) == ("error", "x1")
    assert "craft/drainMidTurnQueue" in said["error"] and dialect.replies() == []


@pytest.mark.parametrize(
    ("message", "idle"),
    [
        ({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10}, True),
        ({"type": "keep_alive"}, True),
        ({"type": "of_tomorrow"}, False),
        (assistant({"type": "text", "text": "I go on."}), False),
    ],
)
def test_only_a_retry_and_what_keeps_the_stream_alive_are_no_sign_of_work(
    dialect: ClaudeDialect, message: dict[str, Any], idle: bool
) -> None:
    feed(dialect, message)
    assert dialect.idle_line is idle


def test_an_approval_is_asked_waits_and_is_answered_once(dialect: ClaudeDialect) -> None:
    asked = ApprovalRequested("r1", "Write", {"file_path": "/a"}, "t1", "a")
    assert feed(dialect, ASK) == [asked]
    assert dialect.waits_for_answer and dialect.open_requests() == [asked]
    group = dialect.answer("r1", Decision("allow"))
    assert group is not None and not dialect.waits_for_answer
    assert [json.loads(line)["response"]["response"] for line in group] == [{"behavior": "allow"}]
    assert dialect.answer("r1", Decision("deny")) == group
    assert dialect.answer("r2", Decision("allow")) is None


@pytest.mark.parametrize(
    ("decision", "answer"),
    [
        (
            Decision("allow", rule="Write"),
            {
                "behavior": "allow",
                "updatedPermissions": [
                    {
                        "type": "addRules",
                        "rules": [{"toolName": "Write"}],
                        "behavior": "allow",
                        "destination": "session",
                    }
                ],
            },
        ),
        (
            Decision("allow", updated_input={"answers": {"a": "b"}}),
            {"behavior": "allow", "updatedInput": {"answers": {"a": "b"}}},
        ),
        (Decision("deny", "No."), {"behavior": "deny", "message": "No."}),
        (
            Decision("deny"),
            {"behavior": "deny", "message": "The user does not want this tool to be used now."},
        ),
    ],
)
def test_decisions_become_answers(
    dialect: ClaudeDialect, decision: Decision, answer: dict[str, Any]
) -> None:
    feed(dialect, ASK)
    (line,) = dialect.answer("r1", decision) or ()
    assert line.endswith(b"\n")
    response = json.loads(line)["response"]
    assert (response["request_id"], response["response"]) == ("r1", answer)


@pytest.mark.parametrize(
    "closing",
    [{"type": "control_cancel_request", "request_id": "r1"}, tool_result("t1", "written")],
)
def test_a_withdrawn_or_elsewhere_answered_approval_closes(
    dialect: ClaudeDialect, closing: dict[str, Any]
) -> None:
    feed(dialect, ASK)
    assert feed(dialect, closing)[0] == ApprovalWithdrawn("r1")
    assert dialect.open_requests() == []
    assert ApprovalWithdrawn("r1") not in feed(dialect, closing)


def test_a_steer_that_was_not_sent_holds_nothing_up(dialect: ClaudeDialect) -> None:
    done = {"type": "command_lifecycle", "command_uuid": "p", "state": "completed"}
    feed(dialect, done, {"type": "system", "subtype": "session_state_changed", "state": "idle"})
    dialect.sent("s1")
    assert not dialect.over
    dialect.not_sent("s1")
    assert dialect.over and dialect.report(Ending()).undelivered == ()


def test_a_steer_that_was_sent_and_discarded_is_undelivered(dialect: ClaudeDialect) -> None:
    dialect.sent("s1")
    feed(dialect, {"type": "command_lifecycle", "command_uuid": "s1", "state": "discarded"})
    assert dialect.report(Ending()).undelivered == ("s1",)


def test_each_request_of_ours_has_an_id_of_its_own(dialect: ClaudeDialect) -> None:
    groups = (dialect.interrupt(), dialect.end(), dialect.end())
    lines = [json.loads(line) for group in groups for line in group]
    assert len({line["request_id"] for line in lines}) == 3
    assert lines[0]["request"] == {"subtype": "interrupt", "cancel_queued": True}
    assert lines[1]["request"] == {"subtype": "end_session"}


def test_what_runs_at_the_end_is_reported_though_it_is_gone_after_it(
    dialect: ClaudeDialect,
) -> None:
    task = {"task_id": "b1", "task_type": "local_bash", "description": "npm run dev"}
    changed = {"type": "system", "subtype": "background_tasks_changed"}
    feed(dialect, {**changed, "tasks": [task]})
    dialect.end()
    feed(dialect, {**changed, "tasks": []})
    report = dialect.report(Ending(background_stopped=("sleep 9",)))
    assert report.background_stopped == ("npm run dev", "sleep 9")


def test_an_agent_that_said_nothing_failed_and_its_errors_say_why() -> None:
    report = ClaudeDialect(["p"]).report(Ending(exit_status=1, detail="unknown option"))
    assert report.kind == "failed"
    assert report.detail == "the agent ended with status 1 before it said anything: unknown option"


def test_an_agent_that_was_killed_before_it_said_anything_was_cut_off() -> None:
    """So the run goes on; the same holds where it was not our child and nobody has its status."""
    killed = ClaudeDialect(["p"]).report(Ending(exit_status=-9))
    assert killed.kind == "broken"
    assert killed.detail == "the agent ended with status -9 before it said anything"
    unknown = ClaudeDialect(["p"]).report(Ending())
    assert unknown.kind == "broken"
    assert unknown.detail == "the agent ended before it said anything"


def test_the_ending_seen_from_outside_wins(dialect: ClaudeDialect) -> None:
    mark = {"size": 1, "last_uuid": "x"}
    ending = Ending(
        kind="timeout",
        detail="no output for 5 s",
        seconds=5.0,
        aftermath=Aftermath(mark=mark, prompt_recorded=True),
    )
    report = dialect.report(ending)
    assert (report.kind, report.detail, report.seconds) == ("timeout", "no output for 5 s", 5.0)
    assert report.mark == mark and report.prompt_recorded


def writing(name: str = "", part: str = "", parent: str | None = None) -> dict[str, Any]:
    """A tool's call as it is written: its beginning, or a piece of its input."""
    event: dict[str, Any] = {"type": "content_block_delta", "index": 1}
    if name:
        event["content_block"] = {"type": "tool_use", "name": name, "input": {}}
    else:
        event["delta"] = {"type": "input_json_delta", "partial_json": part}
    return {
        "type": "stream_event",
        "api_message_id": "m1",
        "event": event,
        "parent_tool_use_id": parent,
    }


@pytest.mark.parametrize(
    ("name", "head", "told"),
    [
        (
            "Write",
            '{"file_path": "/home/ada/pots/src/x.py", "content": "',
            "writing src/x.py · 1 kB",
        ),
        ("Write", '{"file_path": "\\u00', "writing Write · 1 kB"),
        ("Write", '{"file_path": "\\x", "', "writing Write · 1 kB"),
        ("Bash", '{"command": "', "writing Bash · 1 kB"),
        ("mcp__podium__save", '{"value": "', "writing save · 1 kB"),
    ],
)
def test_a_long_input_is_told_as_it_is_written(
    dialect: ClaudeDialect, name: str, head: str, told: str
) -> None:
    begun = feed(dialect, writing(name), writing(part=head))

    assert begun == []
    assert feed(dialect, *[writing(part="x" * 100)] * 10) == [Output("m1", "progress", told)]
    again = feed(dialect, *[writing(part="x" * 100)] * 10)
    assert again == [Output("m1", "progress", told.replace("1 kB", "2 kB"))]


def test_what_a_helper_writes_and_the_outcome_are_not_told(dialect: ClaudeDialect) -> None:
    long = "x" * 5000

    assert feed(dialect, writing("Write", parent="t1"), writing(part=long, parent="t1")) == []
    assert feed(dialect, writing(part=long)) == []
    assert feed(dialect, writing("StructuredOutput"), writing(part=long)) == []


def test_what_the_agent_is_told_of_its_outcome_is_told_to_nobody_else(
    dialect: ClaudeDialect,
) -> None:
    call = {"type": "tool_use", "id": "t9", "name": "StructuredOutput", "input": {}}
    said = "Structured output provided successfully"

    assert feed(dialect, assistant(call), tool_result("t9", said)) == []
    assert feed(dialect, tool_result("t1", said)) != []
