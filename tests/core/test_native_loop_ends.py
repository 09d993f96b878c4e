"""How the end of a native turn ends its run, and what is asked of people on the way."""

from __future__ import annotations

import pytest

from podiumd.core.recipe.model import Limits
from podiumd.core.reply.report import EndKind
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run import native_loop_commands as lc
from tests.core.builders import Play, a_recipe, a_step, leave, to
from tests.core.looped import Looped, read, run


def stopped(recipe_limits: Limits, **more: object) -> Looped:
    """A recipe's step whose native turn comes to its limit of two replies."""
    looped = Looped(max_iterations=2, recipe=a_recipe(limits=recipe_limits))
    for _ in range(2):
        looped.says(read())
        looped.over()
    looped.report()
    return looped


def test_the_limit_of_replies_ends_a_recipes_run_too() -> None:
    play = stopped(Limits()).play

    assert play.reason == "max-iterations"
    assert play.state.exit is not None
    assert play.state.exit.message == "max iterations (2) reached"


def test_a_recipe_that_asks_at_limits_asks_at_this_one_and_more_goes_on() -> None:
    looped = stopped(Limits(on_limit="ask"))
    play = looped.play
    assert play.question.text == "The limit max-iterations (2) is reached."
    play.answer("more")
    play.go()
    assert play.turn.purpose == "go-on"
    assert looped.loop.iterations == 0, "the same again"

    play.over("stopped", reason="max-iterations", limit=2)

    assert play.state.exit is not None
    assert play.state.exit.message == "max iterations (4) reached"


def test_a_recipe_that_asks_at_limits_ends_with_this_one_when_a_person_says_stop() -> None:
    play = stopped(Limits(on_limit="ask")).play
    play.answer("stop")

    assert play.reason == "max-iterations"


def test_a_turn_stopped_without_a_reason_is_an_error() -> None:
    play = Play().begin()
    play.over("stopped", detail="who knows")

    assert play.state.exit is not None
    assert (play.reason, play.state.exit.detail) == ("error", "who knows")


@pytest.mark.parametrize("kind", ["interrupted", "broken", "timeout", "done"])
def test_what_a_native_turn_did_is_told_however_it_ends(kind: EndKind) -> None:
    looped = Looped(commit=True)
    looped.wrote("a.py", None)
    looped.says(run(), cost_usd=0.25)
    looped.play.over(kind)

    ended = looped.last(f.TurnEnded)
    assert (ended.report.files, ended.report.commit) == ((("a.py", "created"),), None)
    assert (ended.cost_usd, looped.play.state.cost_usd) == (0.25, 0.25)


def test_the_answer_of_a_recipes_step_is_judged_as_any_agents() -> None:
    recipe = a_recipe({"work": a_step(on={"complete": leave("task-committed")})})
    looped = Looped(recipe=recipe)
    looped.reply('Done.\n```json\n{"outcome": "complete"}\n```')
    looped.report(texts=('Done.\n{"outcome": "complete"}',))

    assert looped.play.reason == "task-committed"


def test_the_next_turn_begins_its_loop_anew() -> None:
    recipe = a_recipe({"a": a_step(on={"complete": to("b")}), "b": a_step()})
    looped = Looped(recipe=recipe)
    looped.wrote()
    looped.reply("Well.")
    looped.report(structured={"outcome": "complete"})
    looped.play.go()

    assert looped.loop.settings is None
    assert looped.loop.files == ()


# Approvals of a turn that is entered once more.


def gone(play: Play) -> list[str]:
    return play.do(c.ReportAskerGone, turn_id=play.turn.turn_id)


def asking(looped: Looped, request_id: str = "r1") -> str:
    """The turn asks whether it may run a command; returns the question's id."""
    looped.play.approve("run_command", request_id, input={"command": "make"})
    return looped.play.question.question_id


def test_an_open_approval_of_a_turn_that_is_entered_once_more_keeps_its_id() -> None:
    looped = Looped()
    looped.says(run())
    question_id = asking(looped)

    assert gone(looped.play) == []
    assert asking(looped) == question_id
    assert len(looped.play.state.questions) == 1

    looped.play.answer("allow")
    assert [q.question_id for q in looped.play.state.undelivered_answers] == [question_id]


def test_an_open_approval_of_a_turn_that_begins_anew_is_superseded() -> None:
    """Not of the native agent: nothing tells what it will do then."""
    play = Play(a_recipe()).begin()
    play.approve("Bash", "r1")
    (question,) = play.state.open_questions

    assert gone(play) == ["question.closed"]

    assert play.state.questions[question.question_id].closed == "superseded"


def test_an_approval_of_something_else_takes_the_place_of_the_open_one() -> None:
    looped = Looped()
    looped.says(run())
    first = asking(looped)
    gone(looped.play)

    second = asking(looped, "r2")

    assert second != first
    assert [q.closed for q in looped.play.state.questions.values()] == ["superseded", None]


def test_an_approval_that_is_not_asked_for_again_is_superseded() -> None:
    """The mode is another one by now: the turn goes on without a word."""
    looped = Looped()
    looped.says(run())
    asking(looped)
    gone(looped.play)

    assert looped.tell(lc.PlanAction(index=0)) == ["question.closed", "action.intended"]

    (question,) = looped.play.state.questions.values()
    assert question.closed == "superseded"


def test_an_answer_that_comes_before_the_turn_asks_again_is_for_that_question() -> None:
    looped = Looped()
    looped.says(run())
    question_id = asking(looped)
    gone(looped.play)
    looped.play.answer("deny")

    assert looped.play.approve("run_command", "r1", input={"command": "make"}) == []

    assert [q.question_id for q in looped.play.state.undelivered_answers] == [question_id]


def test_an_answer_that_was_delivered_and_not_acted_on_is_asked_for_again() -> None:
    looped = Looped()
    looped.says(run())
    first = asking(looped)
    question = looped.play.question
    looped.play.answer("allow")
    looped.play.delivered(question)
    gone(looped.play)

    assert asking(looped) != first
    assert looped.play.question.closed is None


def test_an_answer_that_was_not_delivered_serves_once_for_the_same_call() -> None:
    looped = Looped()
    play = looped.play
    looped.says(run())
    play.approve("run_command", "r1", input={"command": "make"})
    play.answer("deny", note="not now", by="phone")
    assert [q.answer for q in play.state.undelivered_answers] == ["deny"]

    assert gone(play) == ["effect.ended"]

    assert not play.state.undelivered_answers
    assert gone(play) == [], "once is enough"
    play.approve("run_command", "r2", input={"command": "make all"})
    play.answer("allow")
    play.approve("run_command", "r3", input={"command": "make"})
    third = list(play.state.questions.values())[-1]
    assert (third.answer, third.note, third.by) == ("deny", "not now", "phone")
    play.approve("run_command", "r4", input={"command": "make"})
    assert play.question.request_id == "r4"


def test_an_answer_that_was_delivered_is_used_up() -> None:
    looped = Looped()
    play = looped.play
    looped.says(run())
    play.approve("run_command", "r1", input={"command": "make"})
    question = play.question
    play.answer("allow")
    play.delivered(question)

    assert gone(play) == []

    play.approve("run_command", "r2", input={"command": "make"})
    assert play.question.request_id == "r2"


def test_an_answer_on_its_way_serves_no_second_call_of_the_same_turn() -> None:
    looped = Looped()
    play = looped.play
    play.approve("run_command", "r1", input={"command": "make"})
    play.answer("allow")
    play.approve("run_command", "r2", input={"command": "make"})

    assert play.question.request_id == "r2"


def test_questions_of_other_turns_stay_as_they_are() -> None:
    looped = Looped()
    play = looped.play
    play.approve("run_command", "r1")

    assert play.do(c.ReportAskerGone, turn_id="another") == []
    assert play.question.request_id == "r1"


def test_a_commit_that_no_turn_made_is_no_news() -> None:
    looped = Looped()

    assert looped.tell(lc.ReportCommitEnd(state="committed", sha="c0ffee")) == []
