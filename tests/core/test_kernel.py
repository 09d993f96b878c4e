"""Approvals, the agent's own questions, and what counts as an answer."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.decide.decision import MOST_WAITING
from podiumd.core.recipe.model import Limits
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.commands import CommandRefused
from tests.core.builders import Play, a_recipe, a_step, leave, review_loop, to

PLAN = {"plan": "1. Look. 2. Leap."}
COLOURS = {"questions": [{"question": "Which colour?", "options": [{"label": "Red"}, "?", {}]}]}


def gated(**more: Any) -> Play:
    """A run whose only step waits behind a gate."""
    return Play(a_recipe({"work": a_step(gate="Shall I?")}), **more).go()


# What people say.


def test_as_many_messages_wait_as_may_and_one_more_is_refused() -> None:
    play = Play(a_recipe()).begin()
    for number in range(MOST_WAITING):
        play.do(c.Steer, uuid=f"s{number}", text="Mind it.")
    with pytest.raises(CommandRefused, match="256 messages wait") as refused:
        play.do(c.Steer, uuid="one-more", text="Mind it.")
    assert refused.value.why == c.NoRoom() and len(play.state.steers) == MOST_WAITING
    play.do(c.ReportEffectEnd, effect="steer:s7", state="delivered")

    assert play.do(c.Steer, uuid="one-more", text="Mind it.") == ["steer.intended"]


# Approvals.


def test_an_approval_is_a_question_and_its_answer_waits_for_the_agent() -> None:
    play = Play(a_recipe()).begin()

    assert play.approve(description="List files") == ["question.opened"]
    question = play.question
    assert (question.kind, question.text) == ("approval", "May the agent use Bash? ls")
    assert [choice for choice, _ in question.choices] == ["allow", "deny", "always-like", "always"]
    assert play.stands("waiting")
    assert play.answer("allow", note="once", by="cli") == ["question.closed"]
    assert [q.question_id for q in play.state.undelivered_answers] == [question.question_id]
    assert play.delivered(question) == ["effect.ended"]
    assert play.state.undelivered_answers == ()
    assert play.delivered(question) == []
    assert play.stands("running")


@pytest.mark.parametrize(
    ("tool", "call", "text"),
    [
        ("Bash", {"command": "rm -r build"}, "May the agent use Bash? rm -r build"),
        ("Write", {"file_path": "a.py", "content": "x"}, "May the agent use Write? a.py"),
        ("mcp__x__y", {"n": 1}, "May the agent use mcp__x__y?"),
        ("Bash", {"command": "y" * 301}, f"May the agent use Bash? {'y' * 300}… (301 characters)"),
    ],
)
def test_an_approval_says_what_the_call_does_and_not_what_the_model_claims(
    tool: str, call: dict[str, Any], text: str
) -> None:
    play = Play(a_recipe()).begin()
    play.approve(tool, input=call, description="Nothing of note")

    assert play.question.text == text


def test_an_approval_shows_the_whole_call_beside_the_models_description() -> None:
    play = Play(a_recipe()).begin()
    play.approve("Bash", input={"command": "ls", "timeout": 5}, description="List files")

    assert play.question.detail == ('List files\n{\n  "command": "ls",\n  "timeout": 5\n}')


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


def test_what_wants_out_of_the_sandbox_is_answered_by_leave_for_that_alone() -> None:
    play = Play(review_loop()).begin()
    for number, tool in enumerate(("Bash", "Edit"), 1):
        play.approve(tool, f"r{number}")
        play.answer("always")

    given = {"command": "touch x", "sandbox": "outside"}
    assert play.approve("Escalate", "r3", input=given) == ["question.opened"]
    assert play.question.text == "May the agent go outside the sandbox? touch x"
    assert [choice for choice, _ in play.question.choices] == ["allow", "deny", "always"]
    play.answer("always")
    assert play.approve("Escalate", "r4", input={}) == ["question.opened", "question.closed"]


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

    assert play.do(c.ReportApproval, **late) == []
    play.begin()
    assert play.do(c.ReportApproval, **late) == []


def test_an_approval_whose_process_is_gone_is_superseded() -> None:
    play = Play(a_recipe()).begin()
    play.approve()
    question = play.question

    assert play.over("broken")[0] == "question.closed"
    assert play.state.questions[question.question_id].closed == "superseded"
    with pytest.raises(CommandRefused) as refused:
        play.do(c.Answer, question_id=question.question_id, answer="allow")
    assert refused.value.why == c.QuestionOver(question.question_id, by=None)


def test_an_approval_that_the_agent_takes_back_is_superseded() -> None:
    play = Play(a_recipe()).begin()
    play.approve(request="r1")
    play.approve(request="r2")

    assert play.do(c.ReportApprovalGone, request_id="r1") == ["question.closed"]
    assert play.question.request_id == "r2"
    assert play.do(c.ReportApprovalGone, request_id="r1") == []


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
    assert play.state.exit.detail == "May the agent use Bash? ls"


def test_an_unattended_run_that_is_being_interrupted_is_left_to_pause() -> None:
    play = Play(a_recipe(), on_question="fail").begin()
    play.do(c.Interrupt)

    assert play.approve() == ["question.opened"]
    play.over("interrupted")
    assert play.stands("paused")


# The agent's own questions.


@pytest.mark.parametrize(
    ("tool", "asked", "text", "choices"),
    [
        ("ExitPlanMode", PLAN, "1. Look. 2. Leap.", ["yes", "no"]),
        ("AskUserQuestion", COLOURS, "Which colour?", ["Red"]),
        ("AskUserQuestion", {"questions": [{}, "?", {"question": "B"}]}, "1. \n2. B", []),
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
    assert refused.value.why == c.WrongValue("answer")
    assert play.answer("Blue") == ["question.closed"]


def test_always_for_commands_like_this_allows_the_rule_that_was_shown_and_no_more() -> None:
    play = Play(a_recipe()).begin()
    play.approve(input={"command": "git diff --stat"})
    question = play.question
    assert dict(question.choices)["always-like"] == (
        "Always in this run: commands that begin with 'git diff'"
    )
    play.answer("always-like")

    assert play.state.always == {"Bash(git diff:*)"}
    # The agent knows the rule; what it asks about nevertheless is not covered by it.
    assert play.approve(request="r2", input={"command": "git diff; id"}) == ["question.opened"]
    assert [choice for choice, _ in play.question.choices] == ["allow", "deny", "always"]
    assert play.question.allowed == "" and play.question.rule == ""


@pytest.mark.parametrize("answer", ["always", "more", "yes", "continue"])
def test_an_answer_to_the_agent_means_nothing_to_the_run(answer: str) -> None:
    play = Play(a_recipe()).begin()
    play.approve("AskUserQuestion", input=COLOURS, asks_person=True)
    play.answer(answer)

    assert (play.state.always, play.state.granted) == (frozenset(), frozenset())
    assert not play.state.accepted_dirty and not play.state.accepted_foreign


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
    assert play.stands("waiting")


def test_the_second_answer_is_refused_and_names_who_gave_the_first() -> None:
    play = gated()
    question = play.question.question_id
    play.answer("yes", by="phone")

    with pytest.raises(CommandRefused, match="already answered") as refused:
        play.do(c.Answer, question_id=question, answer="no")
    assert refused.value.why == c.QuestionOver(question, by="phone")


def test_an_answer_to_no_question_is_refused() -> None:
    with pytest.raises(CommandRefused, match="no such question") as refused:
        gated().do(c.Answer, question_id="q-0", answer="yes")
    assert refused.value.why == c.UnknownQuestion("q-0")


def test_a_question_that_outlives_its_run_is_expired() -> None:
    play = gated()
    question = play.question.question_id
    play.do(c.Cancel)

    assert play.state.questions[question].closed == "expired"
    with pytest.raises(CommandRefused, match="already expired"):
        play.do(c.Answer, question_id=question, answer="yes")
    with pytest.raises(CommandRefused, match="no such question"):
        play.do(c.Answer, question_id="q-0", answer="yes")


def test_an_unattended_run_ends_at_a_gate_or_limit_of_its_own() -> None:
    assert gated(on_question="fail").reason == "clarification-needed"
    limits = Limits(max_step_visits=1, on_limit="ask")
    play = Play(a_recipe({"work": a_step(on={"again": to("work")})}, limits), on_question="fail")
    play.say("again")

    assert play.go().reason == "clarification-needed"
