"""What can be read off a state; the fold that makes it has tests of its own."""

from __future__ import annotations

from msgspec.structs import replace

from podiumd.core.decide.decision import part_id
from podiumd.core.recipe.model import Limits
from podiumd.core.run import commands as c
from tests.core.builders import Play, a_recipe, a_step


def test_a_run_is_queued_until_its_turn_comes() -> None:
    play = Play(a_recipe())

    assert play.stands("queued") and play.state.ready
    play.do(c.Proceed)
    assert play.stands("running")


def test_a_run_waits_while_a_question_is_open() -> None:
    play = Play(a_recipe({"work": a_step(gate="Shall I?")})).go()

    assert play.stands("waiting") and not play.state.ready
    play.answer("yes")
    assert play.stands("running") and play.state.ready


def test_a_run_is_over_for_good() -> None:
    play = Play(a_recipe()).begin()
    play.say("complete")

    assert play.stands("ended") and not play.state.ready
    assert not play.state.stopping


def test_a_running_turn_leaves_nothing_else_to_do() -> None:
    play = Play(a_recipe()).begin()

    assert not play.state.ready and play.stands("running")


def test_a_plain_prompt_has_no_recipe_step_or_limits() -> None:
    state = Play().begin().state

    assert (state.recipe, state.current, state.limits) == (None, None, Limits())


def test_the_current_step_is_the_one_that_was_entered_last() -> None:
    recipe = a_recipe()
    play = Play(recipe)

    assert play.state.current is None
    assert play.begin().state.current == recipe.steps["work"]


def test_answers_are_due_to_the_running_turn_alone() -> None:
    play = Play(a_recipe()).begin()
    play.approve()
    play.answer("allow")
    counts = [len(play.state.undelivered_answers)]
    play.over("broken")
    counts.append(len(play.state.undelivered_answers))
    play.begin()
    counts.append(len(play.state.undelivered_answers))

    assert counts == [1, 0, 0]


def test_after_a_gap_nothing_is_named_as_something_before_it() -> None:
    state = Play(a_recipe()).begin().state

    names = {part_id(replace(state, gaps=gaps), "turn", 1) for gaps in range(3)}
    assert len(names) == 3 and part_id(state, "turn", 1) in names
