"""A turn that was cut off goes on by itself, twice; where it must not, a person decides."""

from __future__ import annotations

import pytest

from podiumd.core.decide import turns
from podiumd.core.prompts import prompts
from podiumd.core.reply.outcome import outcome_block
from podiumd.core.reply.report import EndKind
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from tests.core.builders import TREE, Play, a_recipe, a_step, review_loop

IRREVERSIBLE = {"work": a_step(irreversible=True)}
BLOCK = outcome_block(("complete", "other"))


@pytest.mark.parametrize("kind", ["broken", "interrupted"])
def test_a_turn_that_was_cut_off_goes_on_twice_by_itself_and_then_asks(kind: EndKind) -> None:
    play = Play(a_recipe()).begin()
    for _ in range(turns.MAX_BREAKS):
        assert play.over(kind) == ["turn.ended"]
        assert play.begin().turn.purpose == "interrupted"
        assert play.turn.visit == 1

    assert play.over(kind, detail="the process died") == ["turn.ended", "question.opened"]
    assert (play.question.kind, play.question.about) == ("recover", "broken-off")
    assert (play.question.text, play.question.detail) == (
        "The turn was cut off 3 times.",
        "the process died",
    )


def test_a_new_visit_may_be_cut_off_again() -> None:
    play = Play(review_loop())
    for outcome in ("complete", "no-issues", "committed"):
        for _ in range(turns.MAX_BREAKS):
            play.begin().over("broken")
        play.say(outcome)

    assert play.reason == "changes-committed"


def test_a_prompt_that_the_agent_never_recorded_is_told_again() -> None:
    play = Play(a_recipe()).begin()
    play.over("broken", prompt_recorded=False)

    assert play.begin().turn.prompt == (
        f"{prompts.INTERRUPTED}\n\n{prompts.ORIGINAL}\n\nDo the work.\n\n{BLOCK}"
    )
    again = play.turn.prompt
    play.over("broken", prompt_recorded=False)
    assert play.begin().turn.prompt == again


def test_an_irreversible_step_that_was_cut_off_always_asks() -> None:
    play = Play(a_recipe(IRREVERSIBLE)).begin(tree=TREE)

    assert play.over("broken") == ["turn.ended", "question.opened"]
    assert play.question.text == "Step 'work' was cut off and must not be repeated unseen."
    assert play.question.detail.startswith("Git cannot report the changes here")


@pytest.mark.parametrize(
    ("before", "now", "detail"),
    [
        (
            f.TreeMark(head="c0ffee", digest="d1"),
            f.TreeMark(head="decaf", digest="d2"),
            "HEAD was c0ffee before the step and is decaf now. The working tree has changed.",
        ),
        (
            f.TreeMark(head=None, digest="d0"),
            f.TreeMark(head=None, digest="d0"),
            "HEAD was unborn before the step and is unborn now. The working tree is as it was.",
        ),
        (
            None,
            None,
            "Git cannot report the changes here: inspect the directory before you answer.",
        ),
    ],
)
def test_the_question_shows_the_tree_before_the_step_and_now(
    before: f.TreeMark | None, now: f.TreeMark | None, detail: str
) -> None:
    play = Play(a_recipe(IRREVERSIBLE)).begin(tree=before)
    play.over("broken", tree=now)

    assert play.question.detail == detail


@pytest.mark.parametrize(
    ("answer", "purpose", "prompt"),
    [("retry", "again", "Do the work."), ("continue", "go-on", prompts.GO_ON)],
)
def test_a_person_decides_how_a_step_goes_on(answer: str, purpose: str, prompt: str) -> None:
    play = Play(a_recipe(IRREVERSIBLE)).begin()
    play.over("broken")
    play.answer(answer)
    play.begin()

    assert (play.turn.purpose, play.turn.prompt) == (purpose, f"{prompt}\n\n{BLOCK}")
    assert (play.turn.visit, play.turn.attempt) == (1, 1)
    assert play.say("complete")[-1] == "run.ended"


def test_going_on_tells_the_prompt_that_the_agent_never_recorded() -> None:
    play = Play(a_recipe(IRREVERSIBLE)).begin()
    play.over("broken", prompt_recorded=False)
    play.answer("continue")

    assert "Do the work." in play.begin().turn.prompt


def test_a_person_stops_a_step_that_was_cut_off() -> None:
    play = Play(a_recipe(IRREVERSIBLE)).begin()
    play.over("broken")

    assert play.answer("stop") == ["question.closed", "run.ended"]
    assert play.reason == "user-requested"


@pytest.mark.parametrize(
    ("answer", "prompt"), [("retry", "Say hello."), ("continue", prompts.PLAIN_GO_ON)]
)
def test_a_plain_prompt_that_was_cut_off_goes_on_as_a_person_says(answer: str, prompt: str) -> None:
    play = Play().begin()
    for _ in range(turns.MAX_BREAKS):
        play.over("broken")
        assert play.begin().turn.prompt == prompts.INTERRUPTED
    play.over("broken")
    play.answer(answer)

    assert play.begin().turn.prompt == prompt


def test_words_that_died_with_the_agent_are_said_again_in_the_next_prompt() -> None:
    """It had taken them up, and its record lacks them: once more, however often that is told."""
    play = Play(a_recipe()).begin()
    play.do(c.Steer, uuid="s1", text="Mind it.")
    play.do(c.ReportEffectEnd, effect="steer:s1", state="delivered")
    assert play.state.steers == ()
    lost = {"effect": "steer:s1", "state": "lost", "detail": "Mind it."}
    assert play.do(c.ReportEffectEnd, **lost) == ["effect.ended"]
    assert play.do(c.ReportEffectEnd, **lost) == []
    play.over("broken")
    assert play.begin().turn.carried == ("s1",)
    assert play.turn.prompt.startswith(prompts.INTERRUPTED) and "Mind it." in play.turn.prompt
