"""A slice of the walks campaign (``make walks``), and that it would notice what it looks for."""

from __future__ import annotations

import sys
from random import Random

import pytest

from podiumd.core.analysis.simulate import simulate
from podiumd.core.analysis.worst_case import worst_case
from podiumd.core.recipe.model import Limits, Recipe
from tests.core import walks
from tests.core.builders import a_command, a_recipe, a_step, leave, review_loop, to
from tests.core.random_recipes import draw
from tests.core.walks import MOODS, Broken, Tally, campaign, hold_simulation, hold_to, walk
from tests.long import sampled

WORST = MOODS[-1]


def bounded() -> Recipe:
    return review_loop(Limits(max_step_visits=2, max_retries=1))


@pytest.mark.parametrize(("seed", "count"), sampled([(1, 30), (2, 60), (2, 300)]))
def test_random_recipes_that_check_clean_end_within_their_worst_case(seed: int, count: int) -> None:
    tally = campaign(seed=seed, count=count)

    assert tally.clean == count
    assert tally.with_calls > count / 6 and tally.with_cycles > count / 2
    assert tally.at_the_bound > count / 15
    assert {"completed", "guardrail", "needs-user", "error", "checks-failed"} <= set(tally.ends)
    assert {"unbounded-cycle", "trapped-cycle", "no-exit", "unreachable-step"} <= set(tally.errors)


def test_a_recipe_is_drawn_again_by_its_seed() -> None:
    assert draw("1/7") == draw("1/7") != draw("1/8")


def test_an_understated_worst_case_is_noticed() -> None:
    play = walk(bounded(), Random(1), WORST)
    stated = worst_case(bounded())
    assert stated.turns is not None
    hold_to(play, stated)
    with pytest.raises(Broken, match="turns, and 3 were stated"):
        hold_to(play, type(stated)(turns=3, minutes=None))
    with pytest.raises(Broken, match="and None were stated"):
        hold_to(play, type(stated)(turns=None, minutes=None))
    with pytest.raises(Broken, match="minutes, and 1 were stated"):
        hold_to(play, type(stated)(turns=stated.turns, minutes=1.0))


def test_a_run_that_does_not_end_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = a_recipe(
        {
            "a": a_step(on={"complete": to("b")}),
            "b": a_command(on={"failed": to("a"), "passed": to("a")}),
        }
    )
    monkeypatch.setattr(walks, "most_entries", lambda _recipe: 50)
    with pytest.raises(Broken, match="more than 50 steps were entered, and it goes on"):
        walk(endless, Random(1), MOODS[1]._replace(unheard=0.0))


def test_a_simulation_that_does_not_end_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    open_ended = simulate(bounded(), ["complete"])
    with pytest.raises(Broken, match="did not end after 1 steps"):
        hold_simulation(bounded(), open_ended)
    ended = simulate(bounded(), ["complete", "no-issues", "committed"])
    hold_simulation(bounded(), ended)
    monkeypatch.setattr(walks, "most_entries", lambda _recipe: 2)
    with pytest.raises(Broken, match="took 3 steps of 2"):
        hold_simulation(bounded(), ended)


def test_how_many_steps_are_allowed_is_counted_apart_from_the_worst_case() -> None:
    assert walks.most_entries(bounded()) == 8
    ask = review_loop(Limits(max_step_visits=2, max_total_steps=3, on_limit="ask"))
    assert walks.most_entries(ask) == 6
    straight = a_recipe({"a": a_step(on={"complete": to("b")}), "b": a_step()})
    assert walks.most_entries(straight) == 2
    again = a_recipe(
        {"a": a_step(on={"more": to("@restart"), "done": leave("turn-complete")})},
        Limits(max_restarts=4),
    )
    assert walks.most_entries(again) == 5


def test_the_command_says_what_it_saw_or_which_recipe_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["walks", "--count", "3"])
    assert walks.main() == 0
    assert "3 checked clean" in capsys.readouterr().out

    def worse(_play: object, _worst: object) -> None:
        raise Broken("9 turns")

    monkeypatch.setattr(walks, "hold_to", worse)
    assert walks.main() == 1
    assert "FAILED: recipe 1/0: 9 turns" in capsys.readouterr().err


def test_a_tally_of_nothing_can_be_told() -> None:
    assert "errors of the others: none" in Tally().report(0.0)
