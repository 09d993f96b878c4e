"""When a turn of Claude Code is over and what it comes to, on recorded turns and on made ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.reply.report import Denial, Tokens, TurnReport
from podiumd.formats.claude_events import (
    ApiRetry,
    AssistantMessage,
    BackgroundTask,
    BackgroundTasks,
    BadLine,
    ControlRequest,
    Event,
    Lifecycle,
    RateLimit,
    Result,
    StateChanged,
)
from podiumd.formats.claude_stream import decode
from podiumd.formats.claude_turn import TurnReader
from podiumd.formats.message import Block, Text, ToolUse
from tests.formats import fixtures

PROMPT = "11111111-1111-4111-8111-111111111111"
STEER = "22222222-2222-4222-8222-222222222222"
IDLE = StateChanged("idle")


def read(name: str, *sent: str) -> TurnReader:
    """Feed a recorded turn, checking that it is over at its last line and not before."""
    reader = TurnReader(sent or (PROMPT,))
    for line in fixtures.lines(f"turns/{name}.stdout"):
        assert not reader.over
        reader.feed(decode(line))
    assert reader.over and not reader.stalled
    return reader


def report(name: str, *sent: str, **more: Any) -> TurnReport:
    return read(name, *sent).report(**more)


def result(**fields: Any) -> Result:
    given: dict[str, Any] = {
        "uuid": "r",
        "subtype": "success",
        "is_error": False,
        "terminal_reason": "completed",
        "api_error_status": None,
        "api_error": None,
        "result": "",
        "structured_output": None,
        "errors": (),
        "permission_denials": (),
        "total_cost_usd": 0.0,
        "cost_usd": 0.0,
        "queued_turn_count": 0,
        "num_turns": 1,
        "stop_reason": None,
    }
    return Result(**{**given, **fields})


def said(*blocks: Block, parent: str | None = None, synthetic: bool = False) -> AssistantMessage:
    return AssistantMessage(
        uuid="a",
        message_id="m",
        model="m",
        blocks=blocks,
        parent_tool_use_id=parent,
        synthetic=synthetic,
        aborted=False,
    )


def fed(*events: Event, sent: tuple[str, ...] = (PROMPT,)) -> TurnReader:
    reader = TurnReader(sent)
    for event in events:
        reader.feed(event)
    return reader


STARTED = Lifecycle(PROMPT, "started")
COMPLETED = Lifecycle(PROMPT, "completed")


def ended(*events: Event) -> TurnReader:
    return fed(STARTED, *events, COMPLETED, IDLE)


def test_structured_output_is_the_turns_answer_and_no_tool_call() -> None:
    found = report("structured", seconds=1.5, exit_status=0, mark={"size": 7})
    assert (found.kind, found.structured) == ("done", {"outcome": "done"})
    assert (found.texts, found.result_text) == (("Working.",), "Working.")
    assert not found.tool_begun
    assert found.cost_usd == pytest.approx(0.00014)
    assert (found.seconds, found.exit_status, found.mark) == (1.5, 0, {"size": 7})


def test_a_schema_that_the_model_ignores_leaves_the_answer_in_an_earlier_text() -> None:
    found = report("structured-ignored")
    assert (found.kind, found.structured) == ("done", None)
    assert found.texts == ('Did it. {"outcome": "done"}', "That was all.")


def test_a_schema_never_met_is_a_done_turn_without_an_answer() -> None:
    found = report("structured-exhausted")
    assert (found.kind, found.structured, found.tool_begun) == ("done", None, False)
    assert found.detail.startswith("Failed to provide valid structured output after 5")


def test_a_steer_that_is_folded_in_shares_the_result() -> None:
    found = report("steer-folded", PROMPT, STEER)
    assert (found.kind, found.texts) == ("done", ("Looking.", "Both done."))
    assert found.undelivered == () and found.tool_begun


def test_a_late_steer_makes_a_second_turn_and_the_last_result_counts() -> None:
    found = report("steer-second-turn", PROMPT, STEER)
    assert (found.kind, found.result_text) == ("done", "Answer two.")
    assert found.cost_usd == pytest.approx(0.00028), "both results' costs, each once"
    assert found.tokens == Tokens(read=20, cached=0, written=10)


def test_a_turn_began_once_its_prompt_is_taken_up() -> None:
    reader = TurnReader([PROMPT])
    reader.feed(Lifecycle(PROMPT, "queued"))
    assert not reader.began
    reader.feed(Lifecycle(PROMPT, "started"))
    assert reader.began


def test_a_turn_is_not_over_at_the_idle_before_a_steer_was_read() -> None:
    reader = read("structured")
    reader.sent(STEER)
    assert not reader.over and reader.stalled
    reader.feed(Lifecycle(STEER, "queued"))
    assert not reader.stalled, "what is queued will still run"
    reader.feed(Lifecycle(STEER, "started"))
    reader.feed(Lifecycle(STEER, "completed"))
    assert not reader.over
    reader.feed(IDLE)
    assert reader.over
    reader.sent(STEER)
    assert reader.over, "a message sent again is not a new one"


@pytest.mark.parametrize("name", ["interrupted-approval", "interrupted-tool", "denied-interrupt"])
def test_an_interrupted_tool_call_ends_the_turn_as_interrupted(name: str) -> None:
    found = report(name)
    assert (found.kind, found.tool_begun) == ("interrupted", True)
    assert found.detail == "the turn was stopped (aborted_tools)"


def test_an_interrupt_withdraws_the_queued_steer_and_says_so() -> None:
    found = report("interrupted-streaming", PROMPT, STEER)
    assert (found.kind, found.undelivered) == ("interrupted", (STEER,))


def test_open_approvals_are_known_until_answered_or_withdrawn() -> None:
    lines = [decode(line) for line in fixtures.lines("turns/interrupted-approval.stdout")]
    asked = next(event for event in lines if isinstance(event, ControlRequest))
    reader = fed(*lines[: lines.index(asked) + 1])
    assert reader.approvals == {asked.request_id: asked}
    reader.answered(asked.request_id)
    reader.answered(asked.request_id)
    assert reader.approvals == {}
    assert read("interrupted-approval").approvals == {}


def test_an_approval_that_nobody_could_answer_breaks_the_turn_off() -> None:
    """The agent refuses it itself, goes on, and calls the result a success."""
    found = report("approval-aborted")
    assert found.kind == "broken"
    assert found.denials == (Denial("Bash", "toolu_0001_0"),)


def test_a_persons_denial_stands_in_a_done_turn() -> None:
    reader = fed(*(decode(line) for line in fixtures.lines("permission.stdout")), sent=())
    found = reader.report()
    assert (found.kind, found.denials) == ("done", (Denial("Bash", "toolu_fake0002_0"),))


def test_a_used_up_account_says_when_it_goes_on() -> None:
    found = report("usage-limit")
    assert (found.kind, found.api_status) == ("usage_limit", 429)
    assert found.resets_at == "2026-11-28T21:06:40.000Z"
    assert found.detail.startswith("You've hit your 5-hour limit")


@pytest.mark.parametrize("seconds", [None, -1, 10**12])
def test_a_limit_without_a_time_that_can_be_meant_has_none(seconds: int | None) -> None:
    failed = result(
        is_error=True, terminal_reason="api_error", api_error="usage_limit_reached", result="No."
    )
    found = ended(RateLimit("rejected", seconds, None), failed).report()
    assert (found.kind, found.resets_at) == ("usage_limit", None)
    assert ended(failed).report().kind == "usage_limit"


def test_a_429_is_the_accounts_limit_only_when_the_account_was_rejected() -> None:
    failed = result(is_error=True, terminal_reason="api_error", api_error_status=429, result="No.")
    assert ended(failed).report().kind == "api_error"
    assert ended(RateLimit("allowed", 1, None), failed).report().kind == "api_error"
    assert ended(RateLimit("rejected", None, None), failed).report().kind == "api_error"
    assert ended(RateLimit("rejected", 1, None), failed).report().kind == "usage_limit"


def test_an_api_error_has_its_status_and_words() -> None:
    found = report("api-error")
    assert (found.kind, found.api_status, found.texts) == ("api_error", 529, ())
    assert found.detail.startswith("claude's provider is overloaded (529): 529 busy")
    assert found.result_text == ""
    assert report("cut").kind == "api_error"


def test_refused_credentials_are_noticed_at_the_first_retry() -> None:
    reader = TurnReader([PROMPT])
    lines = [decode(line) for line in fixtures.lines("turns/unauthorized.stdout")]
    for event in lines[: [type(e) for e in lines].index(ApiRetry) + 1]:
        assert reader.wants_stop is None
        reader.feed(event)
    assert reader.wants_stop is not None and "401" in reader.wants_stop
    found = report("unauthorized", asked_to_stop=True)
    assert (found.kind, found.api_status) == ("api_error", 401)
    assert found.detail == reader.wants_stop


def test_credentials_that_are_taken_after_all_are_no_error() -> None:
    found = ended(ApiRetry(1, 10, 5, 401, "x"), result(result="ok")).report()
    assert (found.kind, found.api_status) == ("done", None)


def test_other_retries_are_left_to_the_agent() -> None:
    assert fed(ApiRetry(1, 10, 5, 529, "overloaded")).wants_stop is None


def test_spent_money_is_the_budgets_end() -> None:
    found = report("budget")
    assert (found.kind, found.detail) == ("budget", "Reached maximum budget ($0.01)")
    assert found.cost_usd == pytest.approx(2.00004)


def test_a_prompt_too_long_is_a_failure_that_no_retry_mends() -> None:
    assert (report("prompt-too-long").kind, report("prompt-too-long").detail) == (
        "failed",
        "Prompt is too long",
    )
    refused = result(
        is_error=True,
        terminal_reason="api_error",
        api_error_status=400,
        result="Prompt is too long",
    )
    assert ended(refused).report().kind == "failed"


def test_the_agents_own_limit_of_exchanges_is_a_failure() -> None:
    found = report("max-turns")
    assert (found.kind, found.detail) == ("failed", "Reached maximum number of turns (1)")


def test_an_error_without_words_is_named_by_its_reason() -> None:
    found = ended(result(is_error=True, terminal_reason=None, subtype="error_new")).report()
    assert (found.kind, found.detail) == ("failed", "the agent ended with error_new")
    found = ended(result(is_error=True, terminal_reason="new_reason")).report()
    assert found.detail == "the agent ended with new_reason"


def test_a_hook_that_refuses_the_prompt_is_a_failure_with_its_words() -> None:
    found = report("hook-blocked")
    assert found.kind == "failed"
    assert found.detail.startswith("UserPromptSubmit operation blocked by hook")


def test_a_local_command_is_done_without_a_word_of_the_model() -> None:
    found = report("slash")
    assert (found.kind, found.texts) == ("done", ())
    assert found.result_text.startswith("Estimated cost")
    assert report("slash-unknown").kind == "done"


def test_a_prompt_sent_again_is_acknowledged_without_a_result() -> None:
    found = report("resent")
    assert (found.kind, found.prompt_recorded) == ("broken", True)
    assert found.detail == "the agent had taken this prompt before and did not run it again"
    assert report("resent", prompt_recorded=False).prompt_recorded is False


def test_a_background_command_is_reported_and_does_not_hold_the_turn() -> None:
    found = report("background")
    assert (found.kind, found.background_stopped) == ("done", ("a server",))
    nameless = ended(BackgroundTasks((BackgroundTask("b1", "local_bash", ""),)), result())
    assert nameless.report().background_stopped == ("b1",)


def test_an_allowed_tool_and_an_answered_question_are_ordinary_turns() -> None:
    assert report("allowed-always").kind == report("asks-person").kind == "done"
    assert report("resume-new-uuid", STEER).cost_usd == pytest.approx(0.00014)
    assert report("partial").texts == ("Some longer text that comes in pieces.",)


def test_a_sub_agents_words_are_not_the_turns_but_its_tools_count() -> None:
    lines = [decode(line) for line in fixtures.lines("subagent.stdout")]
    found = fed(*lines, IDLE, sent=()).report()
    assert found.texts[-2:] == ("Asked; waiting.", "The helper is done.")
    assert "The helper found nothing." not in found.texts
    assert found.kind == "done" and found.background_stopped == ()
    inner = fed(said(ToolUse("t", "Bash", {}), Text("sub"), parent="t0"))
    assert inner.tool_begun and inner.report().texts == ()


def test_synthetic_words_are_not_the_models() -> None:
    assert ended(said(Text("No response requested."), synthetic=True)).report().texts == ()


def test_a_line_that_is_no_json_breaks_the_turn_off() -> None:
    found = ended(BadLine("not JSON", 3), result(result="ok")).report()
    assert (found.kind, found.bad_lines) == ("broken", 1)
    assert "1 lines" in found.detail


def test_a_process_that_dies_before_its_result_is_broken_off() -> None:
    reader = fed(STARTED, said(ToolUse("t", "Bash", {})))
    assert not reader.has_result
    found = reader.report(exit_status=-9)
    assert (found.kind, found.tool_begun, found.exit_status) == ("broken", True, -9)
    assert found.detail == "the agent's output ends before its result"
    assert fed(STARTED).report(asked_to_stop=True).kind == "interrupted"


def test_a_result_is_taken_though_the_process_died_right_after_it() -> None:
    reader = fed(STARTED, said(Text("Done.")), result(result="Done."))
    assert reader.has_result and not reader.over
    assert reader.report().kind == "done"


def test_work_after_the_last_result_breaks_it_off() -> None:
    assert fed(STARTED, result(), said(Text("More"))).report().kind == "broken"
    agent = BackgroundTasks((BackgroundTask("b", "local_agent", "helper"),))
    assert fed(STARTED, agent, result()).report().kind == "broken"


def test_a_message_that_never_ends_stalls_the_turn() -> None:
    reader = fed(STARTED, IDLE)
    assert reader.stalled and not reader.over
    assert reader.report().kind == "broken"


def test_an_event_of_an_unknown_type_changes_nothing() -> None:
    assert ended(decode(b'{"type": "news"}')).report() == ended().report()


def test_a_refused_prompt_is_a_failure() -> None:
    found = fed(Lifecycle(PROMPT, "refused"), IDLE).report()
    assert (found.kind, found.detail) == ("failed", "the agent refused the prompt")


def test_a_discarded_steer_is_undelivered() -> None:
    reader = fed(STARTED, Lifecycle(STEER, "discarded"), result(), COMPLETED, IDLE,
                 sent=(PROMPT, STEER))  # fmt: skip
    assert reader.over
    assert reader.report().undelivered == (STEER,)


def test_the_drivers_own_verdict_stands_with_all_that_was_seen() -> None:
    found = fed(STARTED, said(Text("so far"))).report(forced=("timeout", "silent for 600 s"))
    assert (found.kind, found.detail, found.texts) == ("timeout", "silent for 600 s", ("so far",))


def test_messages_of_others_do_not_hold_the_turn() -> None:
    reader = fed(STARTED, Lifecycle("somebody", "queued"), result(), COMPLETED, IDLE)
    assert reader.over


@given(st.lists(st.binary() | st.sampled_from([
    line for name in fixtures.stdouts() for line in fixtures.lines(name)
])))  # fmt: skip
def test_any_lines_in_any_order_give_a_report(lines: list[bytes]) -> None:
    reader = TurnReader([PROMPT, STEER])
    for line in lines:
        reader.feed(decode(line))
    found = reader.report()
    assert found.bad_lines == sum(isinstance(decode(line), BadLine) for line in lines)
