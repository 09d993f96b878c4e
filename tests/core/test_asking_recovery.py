"""What a run asks a person when a part of its log was lost, and how it goes on from there."""

from __future__ import annotations

import pytest

from podiumd.core.decide.workflow import decide
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.fold import evolve
from podiumd.core.run.state import RunState
from tests.core.builders import (
    Play,
    a_check,
    a_recipe,
    a_step,
    review_loop,
)


def recovering(play: Play) -> Play:
    """A part of the run's log could not be read."""
    assert play.do(c.AskRecovery, about="damage", text="How shall it go on?", detail="fact 3") == [
        "question.opened"
    ]
    return play


def test_recovery_asks_about_a_matter_once() -> None:
    play = recovering(Play(a_recipe()))

    assert (play.question.kind, play.question.detail) == ("recover", "fact 3")
    assert play.do(c.AskRecovery, about="damage", text="How?") == []
    assert [choice for choice, _ in play.question.choices] == ["retry", "continue", "stop"]


@pytest.mark.parametrize("answer", ["retry", "continue"])
def test_recovery_of_a_run_between_steps_goes_on_with_the_next(answer: str) -> None:
    play = Play(review_loop())
    play.say("complete")
    recovering(play).answer(answer)

    assert play.begin().turn.step == "review"


@pytest.mark.parametrize("answer", ["retry", "continue"])
def test_recovery_of_a_queued_run_leaves_it_queued(answer: str) -> None:
    play = recovering(Play())
    play.answer(answer)

    assert play.state.status == "queued"
    assert play.begin().turn.prompt == "Say hello."


@pytest.mark.parametrize("answer", ["retry", "continue"])
def test_recovery_before_a_check_runs_the_check(answer: str) -> None:
    play = Play(a_recipe({"work": a_step(checks=(a_check(),))}))
    play.say("complete")
    recovering(play).answer(answer)

    assert play.check()[0] == "check.ended"


@pytest.mark.parametrize(("answer", "purpose"), [("retry", "again"), ("continue", "retry")])
def test_recovery_before_a_prompt_sends_the_steps_or_the_one_that_was_due(
    answer: str, purpose: str
) -> None:
    play = Play(a_recipe())
    play.reply("Hm.")
    recovering(play).answer(answer)

    assert play.begin().turn.purpose == purpose


@pytest.mark.parametrize("answer", ["retry", "continue"])
def test_recovery_leaves_a_turn_that_runs_alone(answer: str) -> None:
    play = recovering(Play(review_loop()).begin())
    play.answer(answer)
    play.say("complete")

    assert play.begin().turn.step == "review"


def test_stop_ends_the_run_with_the_turn_that_runs() -> None:
    play = recovering(Play(review_loop()).begin())

    assert play.answer("stop") == ["question.closed", "stop.intended"]
    play.over("interrupted")
    assert play.reason == "user-requested"


def test_an_unattended_run_that_cannot_be_recovered_ends_with_its_turn() -> None:
    play = Play(review_loop(), on_question="fail").begin()

    assert play.do(c.AskRecovery, about="damage", text="How shall it go on?") == [
        "question.opened",
        "stop.intended",
    ]
    play.over("interrupted")
    assert play.reason == "clarification-needed"


@pytest.mark.parametrize(("answer", "purpose"), [("retry", "again"), ("continue", "go-on")])
def test_a_log_that_lost_what_was_next_goes_on_as_a_person_says(answer: str, purpose: str) -> None:
    play = Play(review_loop())
    play.say("complete")
    state: RunState | None = None
    for data, at in play.stored:
        fact = f.decode(data)
        if not isinstance(fact, f.OutcomeParsed | f.EdgeTaken):
            state = evolve(state, fact, at)
    assert state is not None and state.next is None and state.turn is None

    at = play.stored[-1][1]
    for fact in decide(state, c.AskRecovery(at=at, about="damage", text="How?")):
        state = evolve(state, fact, at)
    (question,) = state.open_questions
    answered = c.Answer(at=at, question_id=question.question_id, answer=answer)
    for fact in decide(state, answered):
        state = evolve(state, fact, at)

    assert state.next is not None and state.next.purpose == purpose and state.ready
