"""What happens in a run, told as AG-UI: valid by its models and in its order, whatever comes."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.run import facts as f
from podiumd.gateway.agui.outputs import MOST_RESULT
from podiumd.gateway.agui.translate import Translator, snapshot_of
from podiumd.wire.event import Happened
from podiumd.wire.runs import Run
from tests.gateway.agui import samples as s
from tests.gateway.agui.checked import checked, custom, text_of, types
from tests.plain import plain, some

Json = dict[str, Any]


def translator() -> Translator:
    numbers = count(1)
    return Translator("thread", "run", lambda: f"id-{next(numbers)}")


def told(*happened: Happened, begun: Run | None = None, end: Run | None = None, **last: Any) -> Any:
    """The whole stream of a run in which this happened."""
    one = translator()
    events = one.begin(begun or s.run(status="running"))
    for each in happened:
        events += one.event(each)
    events += one.finish(end or s.run(), last.pop("questions", []), s.SESSION)
    return checked(events)


def without_state(events: list[Json]) -> list[Json]:
    """What is between the beginning and the end."""
    ends = ("RUN_STARTED", "STATE_SNAPSHOT", "STEP_STARTED", "STEP_FINISHED", "RUN_FINISHED")
    return [event for event in events if event["type"] not in ends]


def test_a_run_is_opened_with_its_ids_its_state_and_its_phase() -> None:
    first = translator().begin(s.run(status="running"))
    assert first[0] == {
        "type": "RUN_STARTED",
        "threadId": "thread",
        "runId": "run",
        "protocolVersion": "1.0",
    }
    assert plain(first[1]["snapshot"]) == plain(snapshot_of(s.run(status="running")))
    assert set(first[1]["snapshot"]) == {
        *("run_id", "session_id", "phase", "ctx", "question", "run"),
    }
    assert first[2] == {"type": "STEP_STARTED", "stepName": "goal"}


def test_words_in_pieces_are_one_message() -> None:
    events = without_state(told(s.output("text", "Hel"), s.output("text", "lo.")))
    assert types(events) == [
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
    ]
    assert {event["messageId"] for event in events} == {"id-1"}
    assert events[0]["role"] == "assistant" and text_of(events) == "Hello."


def test_another_message_of_the_agent_is_another_message() -> None:
    events = told(s.output("text", "One."), s.output("text", "Two.", "m-2"))
    assert types(events).count("TEXT_MESSAGE_START") == 2


def test_an_empty_piece_is_not_told() -> None:
    assert without_state(told(s.output("text", ""), s.output("thinking", ""))) == []


def test_what_the_agent_thinks_is_reasoning() -> None:
    events = without_state(told(s.output("thinking", "Hm."), s.output("text", "Yes.")))
    assert types(events)[:5] == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
    ]
    assert events[1]["role"] == "reasoning"


def test_a_tool_of_the_agent_is_a_call_with_its_result() -> None:
    events = without_state(
        told(
            s.output("text", "Look:"),
            s.output("tool", "Bash: make test"),
            s.output("tool_result", "3 passed", "r-1"),
            s.output("text", "Good.", "m-2"),
        )
    )
    start, args, end, result = (e for e in events if e["type"].startswith("TOOL_CALL"))
    assert start["toolCallName"] == "Bash"
    assert args["delta"] == '{"description":"Bash: make test"}'
    assert end["toolCallId"] == result["toolCallId"] == start["toolCallId"]
    assert (result["content"], result["role"]) == ("3 passed", "tool")
    assert types(events)[2:4] == ["TEXT_MESSAGE_END", "TOOL_CALL_START"]


def test_results_go_to_calls_in_their_order() -> None:
    events = told(
        s.output("tool", "Read: a"),
        s.output("tool", "Read: b"),
        s.output("tool_result", "A", "r-1"),
        s.output("tool_result", "B", "r-2"),
    )
    results = [e["content"] for e in events if e["type"] == "TOOL_CALL_RESULT"]
    calls = [e["toolCallId"] for e in events if e["type"] == "TOOL_CALL_START"]
    assert results == ["A", "B"]
    assert calls == [e["toolCallId"] for e in events if e["type"] == "TOOL_CALL_RESULT"]


def test_a_result_in_pieces_is_one_and_no_longer_than_it_may_be() -> None:
    piece = "x" * 10_000
    events = told(s.output("tool", "run"), *[s.output("tool_result", piece, "r")] * 3)
    (result,) = (e for e in events if e["type"] == "TOOL_CALL_RESULT")
    assert len(result["content"]) == MOST_RESULT and result["content"].endswith("…")


def test_a_call_without_a_result_has_an_empty_one_when_the_turn_is_over() -> None:
    """Else a client would take it for a call that it is to make itself."""
    events = told(s.output("tool", "Bash: sleep"), s.turn_ended(""))
    assert [e["content"] for e in events if e["type"] == "TOOL_CALL_RESULT"] == [""]


def test_a_result_that_belongs_to_no_call_is_not_told() -> None:
    assert without_state(told(s.output("tool_result", "late", "r"))) == []


@pytest.mark.parametrize("line", ["mcp__podium__save: goal", "save goal"])
def test_a_tool_of_podium_is_told_from_its_fact_alone(line: str) -> None:
    events = without_state(
        told(
            s.output("tool", line),
            s.used(key="goal", value="a shop"),
            s.output("tool_result", "Saved.", "r-1"),
        )
    )
    assert types(events) == [
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
    ]
    assert events[0]["toolCallId"] == "t-1:c-1" and events[0]["toolCallName"] == "save"
    assert events[1]["delta"] == '{"key":"goal","value":"a shop"}'
    assert events[3]["content"] == "Saved."


def test_what_was_not_told_in_pieces_is_told_when_the_turn_is_over() -> None:
    events = told(s.intended(), s.output("text", "Hel"), s.turn_ended("Hello, world."))
    assert types(events).count("TEXT_MESSAGE_START") == 2
    assert text_of(events) == "HelHello, world."


def test_what_was_told_in_pieces_is_not_told_again() -> None:
    pieces = [s.output("text", "One. "), s.output("text", "Two.", "m-2")]
    assert text_of(told(s.intended(), *pieces, s.turn_ended("One.\n\nTwo."))) == "One. Two."


def test_a_turn_that_began_before_the_stream_is_not_told_again_at_its_end() -> None:
    assert text_of(told(s.output("text", "the rest."), s.turn_ended("All and the rest."))) == (
        "the rest."
    )


def test_the_turn_that_had_a_message_of_before_is_told_whole_and_no_turn_before_it() -> None:
    one = translator()
    events = [
        *one.begin(s.run(status="running"), again=True),
        *one.event(s.output("text", "rest.")),
    ]
    events += one.event(s.turn_ended("All and the rest."))
    events += one.event(s.turn_ended("Another, of which nothing is known.", "t-2"))
    events += one.finish(s.run(), [], s.SESSION)
    assert text_of(checked(events)) == "rest.All and the rest."


def test_phases_are_steps() -> None:
    events = told(
        some(f.EdgeTaken, step="goal", to="plan"),
        some(f.StepEntered, step="plan"),
        some(f.StepEntered, step="plan"),
        some(f.EdgeTaken, step="goal", to="plan"),
        end=s.run(step="plan"),
    )
    steps = [(e["type"], e["stepName"]) for e in events if e["type"].startswith("STEP")]
    assert steps == [
        ("STEP_STARTED", "goal"),
        ("STEP_FINISHED", "goal"),
        ("STEP_STARTED", "plan"),
        ("STEP_FINISHED", "plan"),
    ]


def test_steps_that_are_told_again_are_told_once() -> None:
    """From the step in which the message came, which is not the one of now."""
    one = translator()
    events = one.begin(s.run(status="running", step="plan"), again=True, step="goal")
    events += one.event(some(f.EdgeTaken, step="goal", to="plan"))
    events += one.event(some(f.StepEntered, step="plan"))
    checked([*events, *one.finish(s.run(step="plan"), [], s.SESSION)])
    steps = [e["stepName"] for e in events if e["type"] == "STEP_STARTED"]
    assert steps == ["goal", "plan"]


def test_a_snapshot_is_told_when_something_in_it_has_changed() -> None:
    same, other = snapshot_of(s.run(status="running")), snapshot_of(s.run(ctx={"goal": "a bank"}))
    events = told(same, other, end=s.run(ctx={"goal": "a bank"}))
    states = [e["snapshot"] for e in events if e["type"] == "STATE_SNAPSHOT"]
    assert states == plain([same, other])


def test_a_question_interrupts_the_run_and_is_told_as_it_is() -> None:
    asked = s.question()
    events = told(questions=[asked], end=s.run(questions=[asked]))
    assert custom(events, "podium:ask") == plain([asked])
    assert events[-1]["outcome"] == {
        "type": "interrupt",
        "interrupts": [
            {
                "id": "q-1",
                "reason": "ask",
                "message": "Which one?",
                "responseSchema": events[-1]["outcome"]["interrupts"][0]["responseSchema"],
                "metadata": {"podium": plain(asked)},
            }
        ],
    }


def test_what_is_closed_elsewhere_is_told() -> None:
    closed = f.QuestionClosed(question_id="q-1", closed="answered", answer="a", by="ann")
    assert custom(told(closed), "podium:answered") == [
        {"question_id": "q-1", "closed": "answered", "answer": "a", "note": None, "by": "ann"}
    ]


def test_what_a_person_has_to_know_is_a_notice() -> None:
    events = told(
        s.intended(anew=True),
        f.RunParked(until="2026-01-31T12:00:00.000Z"),
        s.output("status", "529: trying again in 1.0 s", ""),
    )
    assert [notice["code"] for notice in custom(events, "podium:notice")] == [
        "anew",
        "parked",
        "status",
    ]


def test_a_run_that_waits_for_words_has_succeeded() -> None:
    last = told()[-1]
    assert last["outcome"] == {"type": "success"}
    assert last["result"] == {"session_id": s.SESSION, "run_id": s.RUN, "status": "waiting"}


def test_a_run_that_is_over_has_succeeded_with_its_end() -> None:
    last = told(end=s.ended("completed", "needs-user", "gate-declined"))[-1]
    assert last["outcome"] == {"type": "success"}
    assert last["result"]["exit"]["reason"] == "gate-declined"


@pytest.mark.parametrize(
    "end",
    [
        s.ended("completed", "cancelled"),
        s.ended("guardrail", "guardrail"),
        s.run(status="paused"),
    ],
)
def test_a_run_that_was_stopped_or_ran_into_a_limit_is_cancelled(end: Run) -> None:
    last = told(end=end)[-1]
    assert last["outcome"] == {"type": "cancelled"} and "result" not in last


@pytest.mark.parametrize(
    ("detail", "words"), [("", "It was error"), ("no credit", "It was error: no credit")]
)
def test_a_run_that_failed_is_an_error(detail: str, words: str) -> None:
    last = told(end=s.ended("error", "error", "error", detail))[-1]
    assert last == {"type": "RUN_ERROR", "message": words, "code": "error"}


def test_a_thread_in_which_nothing_goes_on_has_nothing_to_tell() -> None:
    one = translator()
    events = checked([*one.begin(None), *one.finish(None, [], s.SESSION)])
    assert types(events) == ["RUN_STARTED", "RUN_FINISHED"]
    assert events[-1]["result"] == {"session_id": s.SESSION}


def test_after_the_end_nothing_comes() -> None:
    one = translator()
    events = [*one.begin(s.run()), *one.event(s.output("text", "Hi")), *one.fail("No.", "stopping")]
    checked(events)
    assert one.over
    assert one.event(s.output("text", "more")) == one.notice("status", "x") == []
    assert one.fail("Again.", "x") == one.finish(s.run(), [], s.SESSION) == []


# -- whatever comes, in whatever order -------------------------------------------------------

uuids = st.sampled_from(["m-1", "m-2", "m-3"])
texts = st.sampled_from(
    ["", " ", "word", "more words\n", "\u2028\U0001f4a9", "mcp__podium__ask: x"]
)
kinds = st.sampled_from(["text", "thinking", "tool", "tool_result", "status", "of another day"])
outputs = st.builds(s.output, kinds, texts, uuids)
steps = st.sampled_from(["goal", "plan", "work"])
turns = st.sampled_from(["t-1", "t-2"])
facts = st.one_of(
    st.builds(s.used, uuids, st.sampled_from(["save", "ask"]), value=texts),
    st.builds(s.intended, turns, anew=st.booleans()),
    st.builds(s.turn_ended, texts, turns),
    st.builds(lambda step: some(f.StepEntered, step=step), steps),
    st.builds(lambda step: some(f.EdgeTaken, step=step, to="plan"), steps),
    st.builds(lambda ctx: snapshot_of(s.run(ctx={"a": ctx})), texts),
    st.just(f.QuestionClosed(question_id="q-1", closed="expired")),
    st.just(f.RunParked(until="2026-01-31T12:00:00.000Z")),
    st.just(f.RunPaused()),
)
ends = st.sampled_from(
    [
        s.run(),
        s.run(step=None),
        s.run(status="paused"),
        s.ended("completed", "completed"),
        s.ended("completed", "cancelled"),
        s.ended("guardrail", "guardrail"),
        s.ended("error", "error", detail="why"),
    ]
)


def once_each(happened: list[Happened]) -> list[Happened]:
    """A call of Podium's tools is recorded once."""
    seen: set[str] = set()
    kept = []
    for each in happened:
        name = each.call_id if isinstance(each, f.ToolUsed) else None
        if name is None or name not in seen:
            kept.append(each)
            seen.add(str(name))
    return kept


@given(st.lists(st.one_of(outputs, facts), max_size=40), ends, st.integers(0, 2))
def test_every_stream_is_valid_and_in_order(happened: list[Happened], end: Run, asked: int) -> None:
    one = translator()
    events = one.begin(s.run(status="running"))
    for number, each in enumerate(once_each(happened)):
        checked(events, whole=False)
        if number % 7 == 6:
            events += one.notice("status", "Still here.")
        events += one.event(each)
    questions = [s.question(f"q-{number}") for number in range(asked)]
    checked([*events, *one.finish(end, questions, s.SESSION)])


@given(st.lists(st.one_of(outputs, facts), max_size=40))
def test_a_stream_that_is_cut_short_is_valid_and_in_order(happened: list[Happened]) -> None:
    one = translator()
    events = one.begin(s.run(status="running"))
    for each in once_each(happened):
        events += one.event(each)
    checked([*events, *one.fail("The daemon stops.", "stopping")])
