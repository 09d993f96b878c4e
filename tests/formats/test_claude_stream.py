"""Lines of Claude Code's stream-json, read and written."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.reply.report import Denial, Tokens
from podiumd.formats import json_fields
from podiumd.formats.claude_control import (
    allow,
    deny,
    end_session,
    interrupt,
    unknown,
    user_message,
)
from podiumd.formats.claude_events import (
    ApiRetry,
    AssistantMessage,
    BackgroundTask,
    BackgroundTasks,
    BadLine,
    ControlCancel,
    ControlRequest,
    ControlResponse,
    Event,
    Informational,
    Init,
    Lifecycle,
    Other,
    RateLimit,
    Result,
    StateChanged,
    StreamDelta,
    ToolWriting,
    UserMessage,
)
from podiumd.formats.claude_stream import decode
from podiumd.formats.message import Text, ToolResult, ToolUse
from tests.formats import fixtures

T = TypeVar("T")

KEYS = st.sampled_from(
    ["type", "subtype", "message", "content", "event", "delta", "request", "response", "tasks"]
)
NAMES = st.sampled_from(
    [
        "system", "init", "assistant", "user", "result", "control_request", "control_response",
        "stream_event", "text_delta", "rate_limit_event", "background_tasks_changed", "api_retry",
    ]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | NAMES,
    lambda inner: st.lists(inner) | st.dictionaries(KEYS | st.text(), inner),
    max_leaves=15,
)


def events(name: str) -> list[Event]:
    return [decode(line) for line in fixtures.lines(name)]


def only(kind: type[T], name: str) -> list[T]:
    return [event for event in events(name) if isinstance(event, kind)]


@pytest.mark.parametrize("name", fixtures.stdouts())
def test_every_recorded_line_is_understood_as_json(name: str) -> None:
    found = events(name)
    assert not [event for event in found if isinstance(event, BadLine)]
    known = [event for event in found if not isinstance(event, Other)]
    assert len(known) >= 2


def test_an_init_names_the_session_and_the_version() -> None:
    init = only(Init, "text.stdout")[0]
    assert init.session_id == "df437c79-1459-5120-9970-4ee9a33c7bf0"
    assert (init.cwd, init.version) == ("/home/dev/app", "2.1.328")
    assert (init.model, init.permission_mode) == ("claude-opus-5-5", "default")
    assert "Bash" in init.tools


def test_an_assistant_message_has_one_block_and_its_own_uuid() -> None:
    first, second = only(AssistantMessage, "permission.stdout")[:2]
    assert first.blocks == (Text("First file."),)
    assert isinstance(second.blocks[0], ToolUse)
    assert first.message_id == second.message_id
    assert first.uuid != second.uuid
    assert not first.synthetic and not first.aborted and first.parent_tool_use_id is None


def test_what_the_cli_makes_up_or_cuts_short_is_marked() -> None:
    assert only(AssistantMessage, "error.stdout")[-1].synthetic
    assert only(AssistantMessage, "interrupt.stdout")[0].aborted


def test_a_sub_agents_message_names_the_call_it_belongs_to() -> None:
    parents = [m.parent_tool_use_id for m in only(AssistantMessage, "subagent.stdout")]
    assert parents.count("toolu_fake0001_0") == 1
    assert parents.count(None) == len(parents) - 1


def test_a_user_message_holds_tool_results_or_the_clis_words() -> None:
    denied = only(UserMessage, "permission.stdout")[1]
    assert denied.results == (ToolResult("toolu_fake0002_0", "Not that one.", True),)
    nudge = only(UserMessage, "turns/structured-ignored.stdout")[0]
    assert nudge.synthetic and nudge.text.startswith("[structured-output-enforce]")


def test_a_result_has_its_own_tokens_of_all_models_with_those_of_the_cache() -> None:
    assert [one.tokens for one in only(Result, "text.stdout")] == [Tokens(10, 0, 5)] * 2
    used = {"inputTokens": 3, "cacheReadInputTokens": 100, "cacheCreationInputTokens": 20}
    models = {
        "large": {**used, "outputTokens": 7},
        "small": {"inputTokens": 1, "outputTokens": "x"},
    }
    told = {"type": "result", "model_usage_since_last_result": models}
    result = decode(json.dumps(told).encode())
    assert isinstance(result, Result) and result.tokens == Tokens(read=124, cached=100, written=7)


def test_a_result_without_use_has_no_tokens() -> None:
    result = decode(b'{"type":"result"}')
    assert isinstance(result, Result) and result.tokens is None


def test_a_result_has_its_own_cost_beside_the_sessions() -> None:
    first, second = only(Result, "text.stdout")
    assert first.cost_usd == second.cost_usd == pytest.approx(0.00014)
    assert second.total_cost_usd == pytest.approx(0.00028)
    assert (second.result, second.num_turns, second.stop_reason) == (
        "Second answer.",
        1,
        "end_turn",
    )


def test_a_result_names_what_was_denied() -> None:
    assert only(Result, "permission.stdout")[0].permission_denials == (
        Denial("Bash", "toolu_fake0002_0"),
    )


def test_a_results_failure_is_in_its_fields_not_its_subtype() -> None:
    result = only(Result, "turns/usage-limit.stdout")[0]
    assert (result.subtype, result.is_error, result.terminal_reason) == (
        "success",
        True,
        "api_error",
    )
    assert (result.api_error_status, result.api_error) == (429, "usage_limit_reached")


def test_a_result_carries_the_structured_output() -> None:
    assert only(Result, "turns/structured.stdout")[0].structured_output == {"outcome": "done"}
    exhausted = only(Result, "turns/structured-exhausted.stdout")[0]
    assert exhausted.structured_output is None
    assert exhausted.errors[0].startswith("Failed to provide valid structured output")


def test_an_approval_request_says_what_is_asked() -> None:
    request = only(ControlRequest, "permission.stdout")[1]
    assert (request.subtype, request.tool) == ("can_use_tool", "Bash")
    assert request.input["command"] == "touch two.txt"
    assert (request.tool_use_id, request.description) == ("toolu_fake0002_0", "Create two.txt")
    assert not request.asks_person
    assert only(ControlRequest, "turns/asks-person.stdout")[0].asks_person


def test_a_withdrawn_approval_names_its_request() -> None:
    asked = only(ControlRequest, "turns/interrupted-approval.stdout")[0]
    assert only(ControlCancel, "turns/interrupted-approval.stdout") == [
        ControlCancel(asked.request_id)
    ]


def test_an_interrupts_answer_lists_what_it_withdrew() -> None:
    answer = only(ControlResponse, "turns/interrupted-streaming.stdout")[0]
    assert answer.error is None
    assert answer.cancelled == ("22222222-2222-4222-8222-222222222222",)
    failed = decode(b'{"type":"control_response","response":{"subtype":"error","error":"no"}}')
    assert failed == ControlResponse("", "no", ())
    line = b'{"type":"control_response","response":{"response":{"hooks_applied":false}}}'
    assert decode(line) == ControlResponse("", None, (), hooks_applied=False)


def test_lifecycle_and_state_are_told_in_order() -> None:
    found = [
        e for e in events("turns/structured.stdout") if isinstance(e, (Lifecycle, StateChanged))
    ]
    uuid = "11111111-1111-4111-8111-111111111111"
    assert found == [
        StateChanged("running"),
        Lifecycle(uuid, "queued"),
        Lifecycle(uuid, "started"),
        Lifecycle(uuid, "completed"),
        StateChanged("idle"),
    ]


def test_retries_limits_tasks_and_notices_are_read() -> None:
    retry = only(ApiRetry, "turns/unauthorized.stdout")[0]
    assert (retry.attempt, retry.max_retries, retry.status) == (1, 10, 401)
    assert retry.error == "authentication_failed" and retry.delay_ms > 0
    limit = only(RateLimit, "turns/usage-limit.stdout")[0]
    assert limit == RateLimit("rejected", 1795900000, "five_hour")
    tasks = only(BackgroundTasks, "turns/background.stdout")[0].tasks
    assert tasks == (BackgroundTask(tasks[0].task_id, "local_bash", "a server"),)
    notice = only(Informational, "turns/hook-blocked.stdout")[0]
    assert notice.stops and "blocked by hook" in notice.content


def test_deltas_come_with_their_message_and_block() -> None:
    deltas = only(StreamDelta, "turns/partial.stdout")
    assert [(d.kind, d.index, d.delta) for d in deltas] == [
        ("thinking", 0, "hmm"),
        ("text", 1, "Some longer text that co"),
        ("text", 1, "mes in pieces."),
    ]
    assert {d.message_id for d in deltas} == {"msg_0001"}
    assert only(Other, "turns/partial.stdout"), "the frame around the deltas has no meaning"


def test_a_call_is_read_as_it_is_written() -> None:
    begun = b'{"type":"tool_use","id":"t1","name":"Write","input":{}}'
    frame = b'{"type":"stream_event","api_message_id":"m","event":{%s}}'
    piece = b'"delta":{"type":"input_json_delta","partial_json":"{\\"a"}'

    assert decode(frame % (b'"content_block":' + begun)) == ToolWriting(
        name="Write", delta="", message_id="m", parent_tool_use_id=None
    )
    assert decode(frame % piece) == ToolWriting(
        name="", delta='{"a', message_id="m", parent_tool_use_id=None
    )


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[1]", b"7", b'{"a":"\xff"}', b"[" * 100_000, b'{"a": NaN', b"\x00"]
)
def test_a_line_that_is_no_object_is_a_bad_line(line: bytes) -> None:
    found = decode(line)
    assert isinstance(found, BadLine)
    assert found.size == len(line) and found.reason


def test_half_a_surrogate_pair_does_not_spoil_a_line() -> None:
    """JavaScript's JSON.stringify writes it as an escape that strict decoders refuse."""
    line = rb'{"type":"result","errors":["a\ud83d"],"structured_output":{"\ud83d":[1, null]}}'
    found = decode(line)
    assert isinstance(found, Result)
    assert found.errors == ("a?",)
    assert found.structured_output == {"?": [1, None]}


@pytest.mark.parametrize("cost", ["true", '"1"', "1e999", "1" + "0" * 400, "null"])
def test_a_number_that_is_none_counts_as_nothing(cost: str) -> None:
    line = f'{{"type":"result","total_cost_usd":{cost}}}'
    found = decode(line.encode())
    assert isinstance(found, Result)
    assert found.total_cost_usd == 0.0


def test_lists_of_the_wrong_kind_count_as_empty() -> None:
    assert json_fields.strings({"a": ["x", 1]}, "a") == ("x",)
    assert json_fields.strings({"a": "x"}, "a") == ()
    assert json_fields.objects({"a": {}}, "a") == []


@given(st.binary())
def test_no_bytes_make_the_decoder_raise(line: bytes) -> None:
    decode(line)


@given(st.dictionaries(KEYS, VALUES))
def test_no_object_of_odd_shape_makes_the_decoder_raise(value: dict[str, Any]) -> None:
    assert decode(json.dumps(value).encode()) is not None


@given(st.sampled_from(fixtures.lines("permission.stdout")), st.data())
def test_no_torn_line_makes_the_decoder_raise(line: bytes, data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(line) - 1))
    assert isinstance(decode(line[:end]), BadLine)


def sent(line: bytes) -> Any:
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    return json.loads(line)


def test_a_prompt_is_sent_as_it_is_under_its_uuid() -> None:
    line = user_message("Grüße\n\u2028 \x00", "u-1")
    assert "Grüße".encode() in line, "no escapes that make a line longer"
    assert sent(line) == {
        "type": "user",
        "uuid": "u-1",
        "message": {"role": "user", "content": "Grüße\n\u2028 \x00"},
    }


def test_images_stand_before_the_words_they_are_about() -> None:
    line = user_message("What is it?", "u", [("image/png", "AAAA"), ("image/gif", "BBBB")])
    door, gate, words = sent(line)["message"]["content"]
    assert words == {"type": "text", "text": "What is it?"}
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    assert door == {"type": "image", "source": source} and gate["source"]["data"] == "BBBB"


def test_half_a_surrogate_pair_can_be_sent() -> None:
    assert sent(user_message("a\ud83d", "u"))["message"]["content"] == "a?"


def test_an_allow_is_for_once_as_asked() -> None:
    assert sent(allow("r")) == {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": "r", "response": {"behavior": "allow"}},
    }


def test_an_allow_for_the_session_writes_nothing_into_the_project() -> None:
    answer = sent(allow("r", {"command": "ls"}, ["Bash"]))["response"]["response"]
    assert answer["updatedInput"] == {"command": "ls"}
    assert answer["updatedPermissions"] == [
        {
            "type": "addRules",
            "rules": [{"toolName": "Bash"}],
            "behavior": "allow",
            "destination": "session",
        }
    ]


@pytest.mark.parametrize(
    ("rule", "sent_rule"),
    [
        ("Bash(git diff:*)", {"toolName": "Bash", "ruleContent": "git diff:*"}),
        ("mcp__a__b", {"toolName": "mcp__a__b"}),
        ("Bash(git", {"toolName": "Bash(git"}),
    ],
)
def test_an_allow_for_the_session_may_be_of_certain_calls(
    rule: str, sent_rule: dict[str, str]
) -> None:
    answer = sent(allow("r", None, [rule]))["response"]["response"]
    assert answer["updatedPermissions"][0]["rules"] == [sent_rule]


def test_a_denial_says_why_and_may_end_the_turn() -> None:
    answer = sent(deny("r", "no"))["response"]["response"]
    assert answer == {"behavior": "deny", "message": "no"}
    assert sent(deny("r", "no", interrupt=True))["response"]["response"]["interrupt"] is True


def test_an_interrupt_withdraws_queued_messages() -> None:
    assert sent(interrupt("r")) == {
        "type": "control_request",
        "request_id": "r",
        "request": {"subtype": "interrupt", "cancel_queued": True},
    }
    assert sent(end_session("e"))["request"] == {"subtype": "end_session"}


def test_a_request_of_a_kind_that_is_not_known_is_an_error_to_the_cli() -> None:
    said = sent(unknown("x1", "of_tomorrow"))["response"]
    assert (said["subtype"], said["request_id"]) == ("error", "x1")
    assert "of_tomorrow" in said["error"]


@given(st.text(), st.text())
def test_any_text_can_be_sent_in_one_line(text: str, uuid: str) -> None:
    assert sent(user_message(text, uuid))["message"]["content"] == text
