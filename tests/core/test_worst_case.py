"""The worst case: what it is by the rule, and that no run gets beyond it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from podiumd.core.analysis.check import check_recipe
from podiumd.core.analysis.worst_case import WorstCase, worst_case
from podiumd.core.findings import Notes
from podiumd.core.recipe.model import Check, Edge, Limits, Recipe, Step
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.toml_lines import TomlLines
from tests.core.builders import (
    Play,
    a_check,
    a_command,
    a_question,
    a_recipe,
    a_step,
    leave,
    review_loop,
    to,
)
from tests.examples import examples

ENDS = {"passed": leave("turn-complete"), "failed": leave("failed", "error")}


def turns(recipe: Recipe) -> int | None:
    return worst_case(recipe).turns


def loop(**limits: Any) -> Recipe:
    """Four steps, two of them in a cycle."""
    return review_loop(Limits(**limits))


def line(*steps: Step, **limits: Any) -> Recipe:
    """Steps one after the other, the last one exits."""
    names = [f"s{number}" for number in range(len(steps))]
    return a_recipe(dict(zip(names, steps, strict=True)), Limits(**limits))


def test_visits_count_for_each_reachable_step() -> None:
    assert turns(loop(max_step_visits=3)) == 3 * 4 * 4
    recipe = loop(max_step_visits=3)
    lost = {**recipe.steps, "lost": a_step()}
    assert turns(a_recipe(lost, recipe.limits)) == 3 * 4 * 4


def test_the_total_cuts_the_visits() -> None:
    assert turns(loop(max_step_visits=3, max_total_steps=7)) == 7 * 4
    assert turns(loop(max_step_visits=3, max_total_steps=100)) == 12 * 4
    assert turns(loop(max_total_steps=7)) == 7 * 4


def test_each_retry_is_a_turn() -> None:
    assert turns(loop(max_total_steps=7, max_retries=1)) == 7 * 2


def test_what_a_person_can_grant_counts() -> None:
    assert turns(loop(max_total_steps=7, on_limit="ask")) == 2 * 7 * 4
    assert turns(loop(max_step_visits=2, on_limit="ask")) == 2 * 2 * 4 * 4


def test_a_cycle_without_a_limit_has_no_worst_case() -> None:
    assert worst_case(loop(max_minutes=60)) == WorstCase(None, 60.0)


def test_without_a_cycle_the_longest_way_counts_once() -> None:
    fork = {
        "plan": a_step(on={"large": to("work"), "small": to("commit")}),
        "work": a_step(on={"complete": to("commit")}),
        "commit": a_step(),
        "ask": a_question(yes=to("commit")),
    }
    assert turns(a_recipe(fork)) == 3 * 4
    assert turns(a_recipe(fork, Limits(max_step_visits=5, max_total_steps=9))) == 3 * 4
    assert turns(a_recipe(fork, Limits(max_total_steps=2))) == 2 * 4


def test_restarts_begin_all_over() -> None:
    steps = {"work": a_step(on={"complete": to("@restart"), "done": leave("no-tasks-available")})}
    assert turns(a_recipe(steps)) == 21 * 4
    assert turns(a_recipe(steps, Limits(max_restarts=2, max_retries=1))) == 3 * 2
    assert turns(a_recipe(steps, Limits(max_restarts=2, on_limit="ask"))) == 5 * 4


def test_commands_and_questions_are_no_turns() -> None:
    steps = {
        "build": a_command(on={"passed": to("sure"), "failed": to("mend")}),
        "sure": a_question(yes=to("build")),
        "mend": a_step(on={"complete": to("build"), "done": leave("changes-committed")}),
    }
    assert turns(a_recipe(steps, Limits(max_step_visits=2))) == 2 * 4
    assert turns(a_recipe(steps, Limits(max_total_steps=5))) == 5 * 4
    assert turns(a_recipe({"build": a_command(on={**ENDS, "failed": to("build")})})) == 0


@pytest.mark.parametrize("kind", ["talk", "call"])
def test_conversations_and_calls_have_no_bound(kind: Any) -> None:
    step = Step(kind=kind, outcomes=("done",), on={"done": leave("turn-complete")})
    assert worst_case(a_recipe({"one": step})) == WorstCase(None, None)
    assert worst_case(a_recipe({"one": step}, Limits(max_minutes=5))) == WorstCase(None, 5.0)


def test_minutes_are_the_timeouts_of_turns_and_checks() -> None:
    checks = (Check(run=("a",), timeout_seconds=90), Check(run=("b",), timeout_seconds=30))
    step = a_step(timeout_minutes=10, checks=checks)
    assert worst_case(line(step)).minutes == 4 * 10 + 2
    assert worst_case(line(step, max_retries=1)).minutes == 2 * 10 + 2
    assert worst_case(line(step, max_minutes=5)).minutes == 5
    assert worst_case(line(step, max_minutes=5, on_limit="ask")).minutes == 10
    assert worst_case(line(step, max_minutes=500)).minutes == 42
    assert worst_case(line(a_step())).minutes is None


def test_the_minutes_of_a_command_are_bounded_always() -> None:
    assert worst_case(line(a_command(on=ENDS, timeout_minutes=2))).minutes == 2
    assert worst_case(line(a_command(on=ENDS))).minutes == 60
    assert worst_case(line(a_question(yes=leave("turn-complete")))).minutes == 0


def test_the_costliest_steps_are_counted_first() -> None:
    steps = {
        "short": a_step(on={"complete": to("long")}, timeout_minutes=1),
        "long": a_step(on={"complete": to("short"), "done": leave("done")}, timeout_minutes=9),
    }
    limits = Limits(max_step_visits=2, max_total_steps=3, max_retries=1)
    assert worst_case(a_recipe(steps, limits)).minutes == 2 * (9 + 9 + 1)


NAMES = ("one", "two", "three", "four")
KINDS = ("turn", "turn", "turn", "command", "gate")
EXITS = ("changes-committed", "implementation-blocked", "clarification-needed")


@st.composite
def machines(draw: st.DrawFn) -> Recipe:
    """Recipes of every kind of step, most of them sound."""
    names = NAMES[: draw(st.integers(1, len(NAMES)))]

    def edge() -> Edge:
        target = draw(st.sampled_from([*names, "@restart", *EXITS]))
        return leave(target) if target in EXITS else to(target)

    def step() -> Step:
        kind = draw(st.sampled_from(KINDS))
        if kind == "command":
            return a_command(on={"passed": edge(), "failed": edge()})
        if kind == "gate":
            return a_question(yes=edge(), no=edge())
        said = draw(st.sampled_from([("complete",), ("complete", "again"), ("complete", "other")]))
        checks = draw(st.booleans())
        on = {name: edge() for name in (*said, *(["checks-failed"] if checks else []))}
        gate = draw(st.sampled_from([None, "Go on?"]))
        return a_step(on=on, checks=(a_check(),) if checks else (), gate=gate)

    limits = Limits(
        max_step_visits=draw(st.none() | st.integers(1, 3)),
        max_total_steps=draw(st.none() | st.integers(1, 9)),
        max_retries=draw(st.integers(1, 2)),
        max_restarts=draw(st.integers(1, 2)),
        on_limit=draw(st.sampled_from(["exit", "ask"])),
    )
    return a_recipe({name: step() for name in names}, limits)


def errors(recipe: Recipe) -> list[str]:
    findings = check_recipe(recipe, Notes("r.toml", TomlLines(""))).findings
    return [finding.code for finding in findings if finding.level == "error"]


def walk(recipe: Recipe, chance: Random) -> Play:
    """Let everything happen that can, at random, until the run has ended."""
    play = Play(recipe)
    while play.go().state.exit is None:
        state = play.state
        if state.open_questions:
            play.answer(chance.choice([choice for choice, _ in play.question.choices]))
        elif state.turn is not None:
            said = chance.choice([*play.turn.outcomes, None, None])
            play.reply("Hm.") if said is None else play.say(said)
        elif state.next is not None and state.next.kind == "check":
            play.check(chance.random() < 0.6)
        else:
            play.ran(chance.random() < 0.6)
    return play


@settings(examples(150), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(machines(), st.integers(0, 2**32))
def test_a_recipe_without_errors_ends_within_its_worst_case(recipe: Recipe, seed: int) -> None:
    assume(not errors(recipe))
    most = turns(recipe)
    assert most is not None

    for number in range(3):
        play = walk(recipe, Random(seed + number))
        assert len(play.all(f.TurnIntended)) <= most


def test_a_walk_can_reach_the_worst_case() -> None:
    """The bound is no idle one: what says nothing useful for as long as it may gets there."""
    recipe = loop(max_step_visits=9, max_total_steps=3, max_retries=1)
    play = Play(recipe)
    for outcome in ("complete", "issues-found", "complete"):
        play.reply("Hm.")
        play.say(outcome)
    play.do(c.Proceed)
    assert play.reason == "max-total-steps"
    assert len(play.all(f.TurnIntended)) == turns(recipe)
