"""The hard limits: what is refused, what may be asked, and that once is once."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.decide import limits
from podiumd.core.recipe.model import Limits, Recipe
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from tests.core.builders import Play, a_check, a_recipe, a_step, leave, to

VISITS = "max-step-visits-exceeded:work"


def endless(**bounds: Any) -> Recipe:
    """A step that leads to itself until it says it is complete."""
    on = {"again": to("work"), "complete": leave("changes-committed")}
    return a_recipe({"work": a_step(on=on)}, Limits(**bounds))


def hit(play: Play) -> tuple[str, float]:
    fact = play.last(f.LimitHit)
    return fact.limit, fact.count


def message_of(play: Play) -> str:
    assert play.state.exit is not None
    return play.state.exit.message


def test_visits_are_limited() -> None:
    play = Play(endless(max_step_visits=2))
    play.say("again")
    play.say("again")

    assert play.do(c.Proceed) == ["limit.hit", "run.ended"]
    assert (play.reason, hit(play)) == (VISITS, (VISITS, 2))
    assert message_of(play) == "Recipe stopped: step 'work' visited too many times"
    assert play.state.visits == {"work": 2}


def test_steps_are_limited_in_total() -> None:
    play = Play(endless(max_total_steps=2))
    play.say("again")
    play.say("again")
    play.go()

    assert (play.reason, hit(play)) == ("max-total-steps", ("max-total-steps", 2))
    assert message_of(play) == "Recipe stopped: reached maximum step limit (2 steps)"
    assert play.state.step_count == 2


def test_the_total_is_tested_before_the_visits() -> None:
    play = Play(endless(max_total_steps=1, max_step_visits=1))
    play.say("again")

    assert play.go().reason == "max-total-steps"


def test_a_retry_is_no_step() -> None:
    play = Play(endless(max_total_steps=1, max_step_visits=1))
    play.reply("Hm.")
    play.say("complete")

    assert play.reason == "changes-committed"


def test_time_is_limited_before_the_next_prompt() -> None:
    play = Play(endless(max_minutes=1.0)).begin()
    play.wait(30).say("again")
    assert play.begin().turn.seconds_left == 29.0
    play.wait(60).say("again")

    assert play.go().reason == "max-minutes"
    assert message_of(play) == "Recipe stopped by safety limit: max-minutes"


def test_a_check_takes_time_too() -> None:
    step = a_step(on={"again": to("work")}, checks=(a_check(),))
    play = Play(a_recipe({"work": step}, Limits(max_minutes=1.0)))
    play.say("again")
    play.check(seconds=60.0)

    assert play.go().reason == "max-minutes"


def test_a_turn_that_used_up_the_time_hits_the_limit_and_not_an_error() -> None:
    play = Play(endless(max_minutes=1.0)).begin()

    assert play.wait(60).over("timeout") == ["turn.ended", "limit.hit", "run.ended"]
    assert (play.reason, hit(play)) == ("max-minutes", ("max-minutes", 1.0))


def test_money_is_limited_before_the_next_prompt() -> None:
    play = Play(endless(max_cost_usd=1.0))
    play.say("again", cost_usd=0.75)
    assert play.begin().turn.budget_usd == 0.25
    play.say("again", cost_usd=0.3)

    assert play.go().reason == "max-cost"


def test_a_turn_that_used_up_its_budget_hits_the_limit() -> None:
    play = Play(endless(max_cost_usd=1.0)).begin()
    play.over("budget", cost_usd=1.01)

    assert (play.reason, hit(play)) == ("max-cost", ("max-cost", 1.0))


def test_without_limits_nothing_is_left_to_count() -> None:
    state = Play().state

    assert (limits.seconds_left(state), limits.budget_left(state)) == (None, None)


def test_the_limits_are_the_recipes_unless_others_were_given() -> None:
    recipe = endless(max_total_steps=1)

    assert Play(recipe).state.limits == Limits(max_total_steps=1)
    assert Play(recipe, limits=Limits(max_total_steps=9)).state.limits.max_total_steps == 9


# Asking.


def ask(play: Play, about: str) -> None:
    """The run asks about the limit, with both choices."""
    assert play.state.status == "waiting"
    assert (play.question.kind, play.question.about) == ("limit", about)
    assert [choice for choice, _ in play.question.choices] == ["more", "stop"]


def test_more_steps_are_granted_once_and_the_same_again() -> None:
    play = Play(endless(max_total_steps=2, on_limit="ask"))
    for _ in range(2):
        play.say("again")
    ask(play.go(), "max-total-steps")
    assert play.question.text == "The limit max-total-steps (2) is reached."
    play.answer("more")
    for _ in range(2):
        play.say("again")

    assert play.do(c.Proceed) == ["limit.hit", "run.ended"]
    assert (play.state.step_count, hit(play)) == (4, ("max-total-steps", 4))
    assert message_of(play) == "Recipe stopped: reached maximum step limit (4 steps)"


def test_more_visits_are_granted_to_that_step_alone() -> None:
    on = {"again": to("work"), "next": to("rest")}
    steps = {"work": a_step(on=on), "rest": a_step(on={"again": to("rest")})}
    play = Play(a_recipe(steps, Limits(max_step_visits=1, on_limit="ask")))
    play.say("again")
    play.go()
    play.answer("more")
    play.say("next")
    play.say("again")

    ask(play.go(), "max-step-visits-exceeded:rest")


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("max-total-steps", "Recipe stopped: reached maximum step limit (1 steps)"),
        (VISITS, "Recipe stopped: step 'work' visited too many times"),
    ],
)
def test_stop_ends_with_the_limits_reason(reason: str, message: str) -> None:
    bound = "max_total_steps" if reason == "max-total-steps" else "max_step_visits"
    play = Play(endless(on_limit="ask", **{bound: 1}))
    play.say("again")
    play.go()

    assert play.answer("stop") == ["question.closed", "run.ended"]
    assert (play.reason, message_of(play)) == (reason, message)


def test_more_time_goes_on_with_the_step_that_ran_out() -> None:
    play = Play(endless(max_minutes=1.0, on_limit="ask")).begin()
    play.wait(60).over("timeout")
    ask(play, "max-minutes")
    play.answer("more")
    assert play.begin().turn.purpose == "go-on"
    assert play.turn.seconds_left == 59.0
    play.wait(60).over("timeout")

    assert (play.reason, hit(play)) == ("max-minutes", ("max-minutes", 2.0))


def test_more_money_goes_on_with_the_step_that_ran_out() -> None:
    play = Play(endless(max_cost_usd=1.0, on_limit="ask")).begin()
    play.over("budget", cost_usd=1.25)
    ask(play, "max-cost")
    play.answer("more")

    assert play.begin().turn.budget_usd == 0.75
    play.over("budget", cost_usd=0.75)
    assert play.reason == "max-cost"


def test_more_time_before_a_prompt_sends_that_prompt() -> None:
    play = Play(endless(max_minutes=1.0, on_limit="ask")).begin()
    play.wait(60).say("again")
    ask(play.go(), "max-minutes")
    play.answer("more")

    assert (play.begin().turn.purpose, play.turn.visit) == ("step", 2)


# Restarts.


def restarting(**bounds: Any) -> Recipe:
    on = {"committed": to("@restart"), "no-tasks": leave("no-tasks-available")}
    return a_recipe({"work": a_step(on=on)}, Limits(**bounds))


def test_restarts_are_limited() -> None:
    play = Play(restarting(max_restarts=2, max_step_visits=1))
    for _ in range(2):
        play.say("committed", cost_usd=0.5)

    assert play.say("committed")[-2:] == ["limit.hit", "run.ended"]
    assert (play.reason, hit(play)) == ("max-restarts", ("max-restarts", 2))
    assert play.state.cost_usd == 1.0
    assert len(play.all(f.StepEntered)) == 3


def test_more_restarts_are_granted_once() -> None:
    play = Play(restarting(max_restarts=1, on_limit="ask"))
    play.say("committed")
    play.say("committed")
    ask(play, "max-restarts")
    play.answer("more")
    play.say("committed")

    assert (play.reason, hit(play)) == ("max-restarts", ("max-restarts", 2))
    assert len(play.all(f.StepEntered)) == 3
