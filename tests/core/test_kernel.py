"""Approvals, answers, steers, and every way to make a run stand still or end."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core import commands as c
from podiumd.core import facts as f
from podiumd.core.commands import CommandRefused
from podiumd.core.recipe import Limits
from tests.core.builders import Play, a_check, a_recipe, a_step, leave, review_loop, to

PLAN = {"plan": "1. Look. 2. Leap."}
COLOURS = {"questions": [{"question": "Which colour?", "options": [{"label": "Red"}, "?", {}]}]}


def gated(**more: Any) -> Play:
    """A run whose only step waits behind a gate."""
    return Play(a_recipe({"work": a_step(gate="Shall I?")}), **more).go()


# Approvals.


def test_an_approval_is_a_question_and_its_answer_waits_for_the_agent() -> None:
    play = Play(a_recipe()).begin()

    assert play.approve(description="List files") == ["question.opened"]
    question = play.question
    assert (question.kind, question.text) == ("approval", "Bash wants to run: List files")
    assert [choice for choice, _ in question.choices] == ["allow", "deny", "always"]
    assert play.state.status == "waiting"
    assert play.answer("allow", note="once", by="cli") == ["question.closed"]
    assert [q.question_id for q in play.state.undelivered_answers] == [question.question_id]
    assert play.delivered(question) == ["effect.ended"]
    assert play.state.undelivered_answers == ()
    assert play.delivered(question) == []
    assert play.state.status == "running"


def test_an_approval_without_a_description_names_the_tool() -> None:
    play = Play(a_recipe()).begin()
    play.approve("Write")

    assert play.question.text == "May the agent use Write?"


def test_always_answers_the_same_tool_in_every_later_turn_of_the_run() -> None:
    play = Play(review_loop()).begin()
    play.approve("Bash", "r1")
    play.answer("always")
    play.say("complete")
    play.begin()

    assert play.approve("Bash", "r1", input={"command": "rm x"}) == [
        "question.opened",
        "question.closed",
    ]
    closed = play.last(f.QuestionClosed)
    assert (closed.answer, closed.by) == ("allow", "always")
    assert play.approve("Write", "r2") == ["question.opened"]


def test_the_same_request_is_asked_once_in_a_turn_and_anew_in_the_next() -> None:
    play = Play(review_loop()).begin()
    play.approve()

    assert play.approve() == []
    play.say("complete")
    play.begin()
    assert play.approve() == ["question.opened"]


def test_an_approval_of_a_turn_that_is_over_is_dropped() -> None:
    play = Play(review_loop()).begin()
    old = play.turn.turn_id
    play.say("complete")
    late = {"turn_id": old, "request_id": "r9", "tool": "Bash", "input": {}}

    assert play.do(c.ApprovalSeen, **late) == []
    play.begin()
    assert play.do(c.ApprovalSeen, **late) == []


def test_an_approval_whose_process_is_gone_is_superseded() -> None:
    play = Play(a_recipe()).begin()
    play.approve()
    question = play.question

    assert play.over("broken")[0] == "question.closed"
    assert play.state.questions[question.question_id].closed == "superseded"
    with pytest.raises(CommandRefused) as refused:
        play.do(c.Answer, question_id=question.question_id, answer="allow")
    assert (refused.value.kind, refused.value.data) == (
        "closed",
        {"id": question.question_id, "by": None},
    )


def test_an_approval_that_the_agent_takes_back_is_superseded() -> None:
    play = Play(a_recipe()).begin()
    play.approve(request="r1")
    play.approve(request="r2")

    assert play.do(c.ApprovalGone, request_id="r1") == ["question.closed"]
    assert play.question.request_id == "r2"
    assert play.do(c.ApprovalGone, request_id="r1") == []


def test_an_answer_that_was_not_delivered_serves_once_for_the_same_call() -> None:
    play = Play(a_recipe()).begin()
    play.approve(request="r1", input={"command": "make"})
    play.answer("deny", note="not now", by="cli")
    play.over("broken")
    play.begin()

    assert play.approve(request="r2", input={"command": "ls"}) == ["question.opened"]
    assert play.approve(request="r3", input={"command": "make"}) == [
        "question.opened",
        "effect.ended",
        "question.closed",
    ]
    spare = play.last(f.QuestionClosed)
    assert (spare.answer, spare.note, spare.by) == ("deny", "not now", "cli")
    assert play.last(f.EffectEnded).state == "reused"
    assert play.approve(request="r4", input={"command": "make"}) == ["question.opened"]


def test_an_answer_that_was_not_delivered_does_not_serve_another_visit() -> None:
    steps = {"work": a_step(on={"again": to("work"), "complete": leave("task-committed")})}
    play = Play(a_recipe(steps)).begin()
    play.approve()
    play.answer("allow")
    play.say("again")
    play.begin()

    assert play.approve() == ["question.opened"]


def test_an_unattended_run_ends_instead_of_asking_for_leave() -> None:
    play = Play(a_recipe(), on_question="fail").begin()

    assert play.approve() == ["question.opened", "stop.intended"]
    assert play.approve(request="r2") == ["question.opened"]
    assert play.state.stopping
    play.over("interrupted")
    assert play.reason == "clarification-needed"
    assert play.state.exit is not None
    assert play.state.exit.detail == "May the agent use Bash?"


def test_an_unattended_run_that_is_being_interrupted_is_left_to_pause() -> None:
    play = Play(a_recipe(), on_question="fail").begin()
    play.do(c.Interrupt)

    assert play.approve() == ["question.opened"]
    play.over("interrupted")
    assert play.state.status == "paused"


# The agent's own questions.


@pytest.mark.parametrize(
    ("tool", "asked", "text", "choices"),
    [
        ("ExitPlanMode", PLAN, "1. Look. 2. Leap.", ["yes", "no"]),
        ("AskUserQuestion", COLOURS, "Which colour?", ["Red"]),
        ("AskUserQuestion", {"questions": [{}, "?", {"question": "B"}]}, "\nB", []),
        ("AskUserQuestion", {"questions": [{"question": "Why?"}]}, "Why?", []),
        ("AskUserQuestion", {"questions": []}, "About", ["yes", "no"]),
        ("AskUserQuestion", {"questions": ["?"]}, "About", ["yes", "no"]),
    ],
)
def test_the_agents_own_question_is_asked_in_its_words(
    tool: str, asked: dict[str, Any], text: str, choices: list[str]
) -> None:
    play = Play(a_recipe()).begin()
    play.approve(tool, input=asked, asks_person=True, description="About")

    assert (play.question.kind, play.question.text) == ("ask", text)
    assert [choice for choice, _ in play.question.choices] == choices
    assert play.question.free_text


def test_a_question_without_any_words_names_the_tool() -> None:
    play = Play(a_recipe()).begin()
    play.approve("Ask", input={}, asks_person=True)

    assert play.question.text == "Ask asks you"


def test_the_agents_own_question_takes_a_text_but_not_a_blank_one() -> None:
    play = Play(a_recipe()).begin()
    play.approve("AskUserQuestion", input=COLOURS, asks_person=True)

    with pytest.raises(CommandRefused, match=r"expected one of: Red, a text\.") as refused:
        play.answer("  ")
    assert (refused.value.kind, refused.value.data) == ("invalid", {"parameter": "answer"})
    assert play.answer("Blue") == ["question.closed"]


def test_always_for_a_tool_does_not_answer_the_agents_own_questions() -> None:
    play = Play(a_recipe()).begin()
    play.approve("Ask", "r1")
    play.answer("always")

    assert play.approve("Ask", "r2", input={}, asks_person=True) == ["question.opened"]


# Answers in general.


def test_a_wrong_answer_names_the_right_ones_and_leaves_the_question_open() -> None:
    play = gated()

    with pytest.raises(
        CommandRefused, match=r"^'maybe' is no answer to this question; expected one of: yes, no\.$"
    ):
        play.answer("maybe")
    assert play.state.status == "waiting"


def test_the_second_answer_is_refused_and_names_who_gave_the_first() -> None:
    play = gated()
    question = play.question.question_id
    play.answer("yes", by="phone")

    with pytest.raises(CommandRefused, match="already answered") as refused:
        play.do(c.Answer, question_id=question, answer="no")
    assert (refused.value.kind, refused.value.data["by"]) == ("closed", "phone")


def test_an_answer_to_no_question_is_refused() -> None:
    with pytest.raises(CommandRefused, match="no such question") as refused:
        gated().do(c.Answer, question_id="q-0", answer="yes")
    assert refused.value.kind == "unknown"


def test_a_question_that_outlives_its_run_is_expired() -> None:
    play = gated()
    question = play.question.question_id
    play.do(c.Cancel)

    assert play.state.questions[question].closed == "expired"
    with pytest.raises(CommandRefused, match="already expired"):
        play.do(c.Answer, question_id=question, answer="yes")
    with pytest.raises(CommandRefused, match="no such question"):
        play.do(c.Answer, question_id="q-0", answer="yes")


# Steers.


def test_a_steer_goes_to_the_running_turn_and_is_delivered_there() -> None:
    play = Play(a_recipe()).begin()

    assert play.do(c.Steer, uuid="s1", text="Use tabs.") == ["steer.intended"]
    assert play.last(f.SteerIntended).turn_id == play.turn.turn_id
    assert play.do(c.EffectOver, effect="steer:s1", state="queued") == ["effect.ended"]
    assert play.state.steers[0].queued
    assert play.do(c.EffectOver, effect="steer:s1", state="delivered") == ["effect.ended"]
    assert play.state.steers == ()
    assert play.do(c.EffectOver, effect="steer:s1", state="delivered") == []


def test_a_steer_that_the_turn_took_up_is_recorded_with_its_end() -> None:
    play = Play(review_loop()).begin()
    for uuid in ("s1", "s2"):
        play.do(c.Steer, uuid=uuid, text=f"Text {uuid}")
    play.do(c.EffectOver, effect="steer:s2", state="queued")

    assert play.say("complete", delivered=("s1",))[:2] == ["effect.ended", "turn.ended"]
    play.begin()
    assert play.turn.carried == ("s2",)
    assert "Text s2" in play.turn.prompt and "Text s1" not in play.turn.prompt


def test_a_steer_that_comes_too_late_goes_into_the_next_prompt() -> None:
    play = Play(review_loop()).begin()
    play.do(c.Steer, uuid="s1", text="Use tabs.")
    play.do(c.Steer, uuid="s2", text="And spaces.")
    play.do(c.EffectOver, effect="steer:s1", state="too_late")
    play.say("complete")
    play.do(c.Steer, uuid="s3", text="And nothing.")

    assert play.last(f.SteerIntended).turn_id is None
    play.begin()
    assert play.turn.carried == ("s1", "s2", "s3")
    assert play.state.steers == ()


def test_steers_that_no_prompt_carried_are_listed_at_the_end() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Steer, uuid="s1", text="Use tabs.")
    play.do(c.EffectOver, effect="steer:s1", state="queued")
    play.do(c.Steer, uuid="s2", text="Hurry.")
    play.say("complete")

    assert play.last(f.RunEnded).undelivered == ("Use tabs.", "Hurry.")


def test_a_turn_that_will_come_to_its_own_end_can_still_be_steered() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Pause)
    play.do(c.Steer, uuid="s1", text="Use tabs.")
    play.do(c.Interrupt)
    play.do(c.Steer, uuid="s2", text="Use spaces.")

    assert [fact.turn_id for fact in play.all(f.SteerIntended)] == [play.turn.turn_id, None]


def test_a_plain_prompt_carries_nothing_that_was_added() -> None:
    play = Play()
    play.do(c.Steer, uuid="s1", text="And be brief.")
    play.begin()

    assert play.turn.prompt == "Say hello."
    play.reply("Hello.")
    assert play.last(f.RunEnded).undelivered == ("And be brief.",)


# Pause and resume.


def test_a_pause_in_a_turn_takes_hold_at_its_end() -> None:
    play = Play(review_loop()).begin()

    assert play.do(c.Pause) == ["stop.intended"]
    assert play.do(c.Pause) == []
    assert play.state.status == "running" and not play.state.stopping
    assert play.say("complete") == ["turn.ended", "outcome.parsed", "edge.taken", "run.paused"]
    assert play.state.status == "paused"
    assert play.do(c.Proceed) == []
    assert play.do(c.Resume) == ["run.resumed"]
    assert play.begin().turn.step == "review"


def test_a_pause_between_turns_takes_hold_at_once() -> None:
    play = Play(review_loop())
    play.say("complete")

    assert play.do(c.Pause) == ["run.paused"]
    assert play.do(c.Pause) == []
    assert play.state.status == "paused"


def test_a_pause_that_has_not_taken_hold_is_taken_back() -> None:
    play = Play(review_loop()).begin()
    play.do(c.Pause)

    assert play.do(c.Resume) == ["run.resumed"]
    play.say("complete")
    assert play.state.status == "running"


def test_resuming_a_run_that_goes_on_changes_nothing() -> None:
    play = Play(a_recipe()).begin()

    assert play.do(c.Resume) == []
    play.do(c.Interrupt)
    assert play.do(c.Resume) == []


def test_a_queued_run_that_is_paused_and_resumed_is_queued_again() -> None:
    play = Play(a_recipe())

    assert play.state.status == "queued"
    play.do(c.Pause)
    assert play.state.status == "paused"
    play.do(c.Resume)
    assert play.state.status == "queued"


def test_a_pause_waits_for_no_answer_and_an_answer_for_no_resume() -> None:
    play = gated()
    play.do(c.Pause)
    assert play.state.status == "waiting"
    play.answer("yes")
    assert play.state.status == "paused"
    play.do(c.Resume)
    assert play.begin().turn.step == "work"


def test_a_pause_lets_the_check_that_runs_end() -> None:
    play = Play(a_recipe({"work": a_step(checks=(a_check(), a_check()))}))
    play.say("complete")
    play.do(c.Pause)

    assert play.check() == ["check.ended"]
    assert not play.state.ready


def test_a_turn_cut_off_under_a_pause_goes_on_after_it() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Pause)

    assert play.over("broken") == ["turn.ended", "run.paused"]
    play.do(c.Resume)
    assert play.begin().turn.purpose == "interrupted"


def test_a_turn_that_ends_the_run_leaves_nothing_to_pause() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Pause)

    assert play.say("complete")[-1] == "run.ended"


# Interrupt.


def test_an_interrupt_pauses_and_resuming_sends_a_go_on_prompt_that_is_no_visit() -> None:
    play = Play(a_recipe()).begin()

    assert play.do(c.Interrupt) == ["stop.intended"]
    assert play.do(c.Interrupt) == []
    assert play.do(c.Pause) == []
    assert play.state.stopping
    assert play.over("interrupted") == ["turn.ended", "run.paused"]
    assert play.last(f.RunPaused).why == "interrupted"
    play.do(c.Resume)
    play.begin()
    assert (play.turn.purpose, play.turn.visit, play.turn.attempt) == ("go-on", 1, 1)
    assert (play.state.visits, play.state.step_count) == ({"work": 1}, 1)
    assert play.say("complete")[-1] == "run.ended"
    assert play.reason == "changes-committed"


def test_an_interrupt_of_a_turn_that_had_just_finished_asks_how_it_went() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Interrupt)

    assert play.say("complete") == ["turn.ended", "run.paused"]
    play.do(c.Resume)
    assert play.begin().turn.purpose == "go-on"


def test_an_interrupt_before_the_agent_had_the_prompt_sends_it_again() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Interrupt)
    play.over("interrupted", prompt_recorded=False)
    play.do(c.Resume)
    play.begin()

    assert "Do the work." in play.turn.prompt


def test_an_interrupt_does_not_count_as_a_turn_that_was_cut_off() -> None:
    play = Play(a_recipe())
    for _ in range(4):
        play.begin()
        play.do(c.Interrupt)
        play.over("interrupted")
        play.do(c.Resume)

    assert play.state.breaks == 0


def test_an_interrupt_overrules_a_pause() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Pause)

    assert play.do(c.Interrupt) == ["stop.intended"]
    assert play.state.stopping


def test_an_interrupt_between_turns_pauses() -> None:
    assert Play(a_recipe()).do(c.Interrupt) == ["run.paused"]


def test_an_interrupt_of_a_plain_prompt_ends_it() -> None:
    play = Play().begin()
    play.do(c.Interrupt)
    play.over("interrupted")

    assert play.reason == "user-requested"


# Cancel, and recipes switched off.


def test_a_cancel_in_a_turn_stops_it_and_ends_the_run() -> None:
    play = Play(review_loop()).begin()

    assert play.do(c.Cancel) == ["stop.intended"]
    assert play.do(c.Cancel) == []
    assert play.do(c.Interrupt) == []
    assert play.do(c.Pause) == []
    assert play.state.stopping
    assert play.say("complete") == ["turn.ended", "run.ended"]
    assert play.reason == "user-requested"


@pytest.mark.parametrize("reason", ["user-requested", "orchestration-disabled"])
def test_a_cancel_between_turns_ends_the_run_at_once(reason: str) -> None:
    play = Play(review_loop())
    play.say("complete")

    assert play.do(c.Cancel, reason=reason) == ["run.ended"]
    assert play.reason == reason
    assert play.state.exit is not None and play.state.exit.class_ == "cancelled"


def test_a_cancel_while_a_person_is_asked_closes_the_question() -> None:
    assert gated().do(c.Cancel) == ["question.closed", "run.ended"]


def test_a_cancel_overrules_an_interrupt() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Interrupt)

    assert play.do(c.Cancel) == ["stop.intended"]
    play.over("interrupted")
    assert play.reason == "user-requested"


def test_switching_recipes_off_lets_the_turn_finish_and_then_ends_the_run() -> None:
    play = Play(review_loop()).begin()

    assert play.do(c.Cancel, reason="orchestration-disabled") == ["stop.intended"]
    assert play.do(c.Cancel, reason="orchestration-disabled") == []
    assert not play.state.stopping
    assert play.say("complete") == ["turn.ended", "run.ended"]
    assert play.reason == "orchestration-disabled"


def test_an_interrupt_after_switching_recipes_off_stops_the_turn() -> None:
    play = Play(review_loop()).begin()
    play.do(c.Cancel, reason="orchestration-disabled")

    assert play.do(c.Interrupt) == ["stop.intended"]
    assert play.state.stopping
    play.over("interrupted")
    assert play.reason == "orchestration-disabled"


# After the end.


@pytest.mark.parametrize(
    ("make", "fields"),
    [
        (c.Pause, {}),
        (c.Resume, {}),
        (c.Interrupt, {}),
        (c.Cancel, {}),
        (c.Steer, {"uuid": "s1", "text": "Hello?"}),
        (c.NoteAside, {"run_id": "run-2", "session_id": "session-1"}),
    ],
)
def test_what_a_person_wants_of_a_run_that_is_over_is_refused(
    make: Any, fields: dict[str, Any]
) -> None:
    play = Play(a_recipe())
    play.say("complete")

    with pytest.raises(CommandRefused, match="has ended: changes-committed") as refused:
        play.do(make, **fields)
    assert (refused.value.kind, refused.value.data) == (
        "ended",
        {"id": "run-1", "by": "changes-committed"},
    )


def test_what_comes_in_after_the_end_is_dropped() -> None:
    play = Play(a_recipe()).begin()
    play.approve()
    turn = play.turn.turn_id
    play.do(c.Fault, detail="log entry 1")
    assert play.reason == "internal-error"

    assert play.over() == []
    assert play.approve(request="r2") == []
    assert play.do(c.TurnStartedSeen, turn_id=turn, pid=1, proc_start=1, group=1) == []
    assert play.do(c.ApprovalGone, request_id="r1") == []
    assert play.do(c.Proceed) == []
    assert play.do(c.CheckOver, index=0, passed=True) == []
    assert play.do(c.EffectOver, effect="worktree", state="made") == []
    assert play.do(c.LimitReset) == []
    assert play.do(c.AskRecovery, about="damage", text="?") == []
    assert play.do(c.Fault, detail="log entry 2") == []


def test_an_unattended_run_ends_at_a_gate_or_limit_of_its_own() -> None:
    assert gated(on_question="fail").reason == "clarification-needed"
    limits = Limits(max_step_visits=1, on_limit="ask")
    play = Play(a_recipe({"work": a_step(on={"again": to("work")})}, limits), on_question="fail")
    play.say("again")

    assert play.go().reason == "clarification-needed"
