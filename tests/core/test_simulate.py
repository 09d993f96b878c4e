"""Walking through a recipe without an agent: deterministic, and by the rules of a real run."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from podiumd.core.analysis.simulate import (
    MOST_UNASKED,
    ImpossibleOutcome,
    Trace,
    simulate,
)
from podiumd.core.analysis.walk import SimulationError
from podiumd.core.recipe.expand import expand
from podiumd.core.recipe.model import Limits, Param, Recipe, Step
from podiumd.core.recipe.paths import Hop, simple_paths
from tests.core.builders import a_check, a_recipe, a_step, leave, review_loop, to
from tests.core.conversations import a_talk, phases
from tests.core.machines import entries_of, random_walk, sound_recipes
from tests.examples import examples


def outcomes_taken(trace: Trace) -> list[str]:
    return [hop.outcome for hop in trace.trace]


def reason(trace: Trace) -> str | None:
    return trace.exit.reason if trace.exit is not None else None


def an_ask(*choices: str, **on: str) -> Step:
    """A step that asks; each keyword is an outcome that leads to a step."""
    edges = {outcome: to(target) for outcome, target in on.items()}
    return Step(kind="gate", ask="Well?", choices=choices, outcomes=choices, on=edges)


# Outcomes.


def test_outcomes_are_taken_one_a_step_to_the_exit() -> None:
    trace = simulate(review_loop(), ["complete", "no-issues", "committed"])

    assert trace.trace == (
        Hop("work", "complete", "review"),
        Hop("review", "no-issues", "commit"),
        Hop("commit", "committed", None),
    )
    assert trace.exit is not None
    assert (trace.exit.reason, trace.exit.class_, trace.exit.detail) == (
        *("changes-committed", "completed"),
        None,
    )


@pytest.mark.parametrize("outcomes", [[], ["complete"], ["complete", "issues-found", "complete"]])
def test_with_too_few_outcomes_there_is_no_exit(outcomes: list[str]) -> None:
    trace = simulate(review_loop(), outcomes)

    assert (outcomes_taken(trace), trace.exit) == (outcomes, None)


def test_a_wrong_outcome_is_named_with_the_step_and_what_it_allows() -> None:
    with pytest.raises(ImpossibleOutcome) as raised:
        simulate(review_loop(), ["complete", "committed"])

    assert (raised.value.step, raised.value.outcome) == ("review", "committed")
    assert raised.value.allowed == ("no-issues", "issues-found", "other")
    assert str(raised.value) == (
        "outcome 2: step 'review' cannot end with 'committed'; expected one of: no-issues, "
        "issues-found, other"
    )


def test_outcomes_left_over_at_the_exit_are_told() -> None:
    trace = simulate(review_loop(), ["blocked", "complete", "complete"])

    assert (reason(trace), trace.unused) == ("implementation-blocked", ("complete", "complete"))


def test_other_is_always_possible_and_says_nothing_of_its_own() -> None:
    trace = simulate(review_loop(), ["other"])

    assert trace.exit is not None
    assert (trace.exit.reason, trace.exit.class_, trace.exit.detail) == (
        *("user-provided-other", "needs-user"),
        None,
    )


def test_the_wire_shape_is_trace_and_exit() -> None:
    whole = json.loads(msgspec.json.encode(simulate(review_loop(), ["blocked"])))

    assert whole["trace"] == [{"step": "work", "outcome": "blocked", "to": None}]
    assert whole.keys() == {"trace", "exit"}
    assert whole["exit"] == {
        "reason": "implementation-blocked",
        "category": "completed",
        "class": "blocked",
        "message": "Implementation blocked - cannot proceed",
        "detail": None,
    }
    assert msgspec.to_builtins(simulate(review_loop(), []))["exit"] is None


def test_variables_without_a_value_stand_for_themselves() -> None:
    params = {"issue": Param(type="integer"), "note": Param(type="string", default="")}
    step = a_step("{{note}}", gate="Fix {{issue}} of {{ctx.goal}}?")

    trace = simulate(a_recipe({"fix": step}, params=params, context={"goal": ""}), ["complete"])

    assert reason(trace) == "changes-committed"


# Checks.


def checked_recipe() -> Recipe:
    steps = {
        "work": a_step(
            on={
                "unclear": leave("clarification-needed"),
                "complete": to("commit"),
                "checks-failed": to("work"),
            },
            checks=(a_check(), a_check("make", "lint")),
        ),
        "commit": a_step(checks=(a_check(),)),
    }
    return a_recipe(steps, Limits(max_step_visits=3))


def test_checks_pass() -> None:
    trace = simulate(checked_recipe(), ["complete", "complete"])

    assert (outcomes_taken(trace), reason(trace)) == (["complete"] * 2, "changes-committed")


def test_checks_fail_where_the_list_says_so() -> None:
    trace = simulate(checked_recipe(), ["checks-failed", "complete", "checks-failed"])

    assert trace.trace[0] == Hop("work", "checks-failed", "work")
    assert (outcomes_taken(trace)[2], reason(trace)) == ("checks-failed", "checks-failed")
    assert trace.exit is not None
    assert trace.exit.detail is None


def test_checks_that_never_run_cannot_fail() -> None:
    step = a_step(on={"stuck": leave("implementation-blocked")}, checks=(a_check(),))

    with pytest.raises(ImpossibleOutcome) as raised:
        simulate(a_recipe({"work": step}), ["checks-failed"])

    assert raised.value.allowed == ("stuck", "other")


def test_a_step_may_call_an_outcome_of_its_own_checks_failed() -> None:
    step = Step(
        kind="call",
        recipe="another",
        outcomes=("checks-failed",),
        on={"checks-failed": leave("implementation-blocked")},
    )

    assert reason(simulate(a_recipe({"call": step}), ["checks-failed"])) == (
        "implementation-blocked"
    )


# People.


def gated_recipe(**on: str) -> Recipe:
    edges = {outcome: to(target) for outcome, target in on.items()}
    first = a_step(on={"complete": to("commit")})
    return a_recipe({"work": first, "commit": a_step(gate="Commit?", on=edges or None)})


@pytest.mark.parametrize("listed", [["complete"], ["yes", "complete"]])
def test_a_gate_is_answered_with_yes(listed: list[str]) -> None:
    trace = simulate(gated_recipe(), ["complete", *listed])

    assert (outcomes_taken(trace), reason(trace)) == (["complete"] * 2, "changes-committed")


@pytest.mark.parametrize("word", ["no", "declined"])
def test_a_gate_is_declined_where_the_list_says_so(word: str) -> None:
    trace = simulate(gated_recipe(), ["complete", word])

    assert (trace.trace[-1], reason(trace)) == (Hop("commit", "declined", None), "gate-declined")


def test_a_word_that_the_step_itself_may_end_with_is_no_answer_to_its_gate() -> None:
    recipe = gated_recipe(yes="work", no="work")

    assert outcomes_taken(simulate(recipe, ["complete", "no", "complete", "declined"])) == [
        *("complete", "no", "complete", "declined"),
    ]


def test_an_ask_is_answered_with_yes_or_as_listed() -> None:
    recipe = a_recipe(
        {"ask": an_ask("no", "yes", "later", yes="work", later="ask"), "work": a_step()},
        Limits(max_step_visits=5),
    )

    assert outcomes_taken(simulate(recipe, [])) == ["yes"]
    assert outcomes_taken(simulate(recipe, ["later", "yes", "complete"])) == [
        *("later", "yes", "complete"),
    ]
    for word in ("no", "declined"):
        trace = simulate(recipe, ["later", word])
        assert (trace.trace[-1], reason(trace)) == (Hop("ask", "no", None), "gate-declined")


def test_an_ask_that_knows_no_yes_needs_an_answer() -> None:
    recipe = a_recipe({"ask": an_ask("left", "right", left="work", right="work"), "work": a_step()})

    assert simulate(recipe, []) == Trace((), None)
    assert outcomes_taken(simulate(recipe, ["right"])) == ["right"]
    with pytest.raises(ImpossibleOutcome, match="expected one of: left, right"):
        simulate(recipe, ["declined"])


# Commands, calls, conversations.


@pytest.mark.parametrize("outcome", ["passed", "failed"])
def test_a_command_takes_the_next_outcome(outcome: str) -> None:
    on = {"passed": to("work"), "failed": leave("implementation-blocked")}
    command = Step(kind="command", run=("make",), on=on, outcomes=tuple(on))
    recipe = a_recipe({"command": command, "work": a_step()})

    trace = simulate(recipe, [outcome])

    assert outcomes_taken(trace) == [outcome]
    assert reason(trace) == (None if outcome == "passed" else "implementation-blocked")
    with pytest.raises(ImpossibleOutcome, match="expected one of: passed, failed"):
        simulate(recipe, ["complete"])


def test_calls_and_conversations_end_as_listed() -> None:
    steps = {
        "talk": Step(kind="talk", on={"done": to("call")}, outcomes=("done",)),
        "call": Step(
            kind="call",
            recipe="another",
            gate="Call it?",
            on={"design-committed": leave("design-committed")},
            outcomes=("design-committed",),
        ),
    }

    trace = simulate(a_recipe(steps), ["done", "design-committed"])

    assert (len(trace.trace), reason(trace)) == (2, "design-committed")
    assert simulate(a_recipe(steps), []).trace == ()


def test_the_last_phase_of_a_conversation_ends_without_being_listed() -> None:
    outcomes = [*("agreed", "ready", "other-goal"), *("agreed", "ready", "written")]
    trace = simulate(phases(), outcomes)

    assert outcomes_taken(trace) == [*outcomes, "conversation-complete"]
    assert (reason(trace), trace.unused) == ("conversation-complete", ())
    assert simulate(phases(), [*outcomes, "conversation-complete"]).unused == ()
    assert simulate(phases(), [*outcomes, "more"]).unused == ("more",)


def test_the_last_phase_may_have_an_opening_and_may_be_part_of_a_caller() -> None:
    steps = {
        "talk": a_talk({"done": to("rest")}),
        "rest": a_talk(opening="Bye."),
    }
    onward = {**steps, "rest": a_talk({"x": to("talk")}), "end": a_step()}
    called = replace(a_recipe(steps), id="called")
    call = Step(kind="call", recipe="called", on={"conversation-complete": to("work")})
    caller = expand(a_recipe({"talk": call, "work": a_step()}), lambda _id: called)

    assert reason(simulate(a_recipe(steps), ["done"])) == "conversation-complete"
    assert simulate(a_recipe(steps), ["done", "conversation-complete"]).unused == ()
    assert reason(simulate(caller, ["done", "complete"])) == "changes-committed"
    with pytest.raises(ImpossibleOutcome, match="expected one of: x"):
        simulate(a_recipe(onward), ["done", "conversation-complete"])


# Limits.


def test_visits_total_and_restarts_are_limited_as_in_a_run() -> None:
    loop = {"work": a_step(on={"again": to("work"), "over": to("@restart")})}

    def ends(limits: Limits, *outcomes: str) -> tuple[int, str | None]:
        trace = simulate(a_recipe(loop, limits), outcomes)
        return len(trace.trace), reason(trace)

    assert ends(Limits(max_step_visits=2), *["again"] * 9) == (
        *(2,),
        "max-step-visits-exceeded:work",
    )
    assert ends(Limits(max_total_steps=3), *["again"] * 9) == (3, "max-total-steps")
    assert ends(Limits(max_total_steps=1, max_restarts=2), *["over"] * 9) == (3, "max-restarts")
    assert ends(Limits(max_total_steps=3), "again") == (1, None)


def test_a_limit_that_asks_stops_unless_more_is_listed() -> None:
    recipe = a_recipe(
        {"work": a_step(on={"again": to("work"), "complete": leave("changes-committed")})},
        Limits(max_total_steps=1, on_limit="ask"),
    )

    assert reason(simulate(recipe, ["again"])) == "max-total-steps"
    assert simulate(recipe, ["again", "stop", "again"]).unused == ("again",)
    assert reason(simulate(recipe, ["again", "more", "complete"])) == "changes-committed"
    assert reason(simulate(recipe, ["again", "more", "again"])) == "max-total-steps"


def test_gates_that_go_round_without_end_are_an_error() -> None:
    steps = {"work": a_step(on={"complete": to("ask")}), "ask": an_ask("yes", "no", yes="ask")}

    with pytest.raises(SimulationError, match=f"round in gates: {MOST_UNASKED} .* is 'ask'"):
        simulate(a_recipe(steps), ["complete"])


# What holds for every recipe.


@examples(200)
@given(sound_recipes(), st.lists(st.integers(), min_size=20, max_size=20))
def test_a_sound_recipe_ends_within_its_limits_whatever_the_outcomes(
    recipe: Recipe, seeds: list[int]
) -> None:
    for seed in seeds:
        trace = simulate(recipe, random_walk(recipe, seed))
        lives = entries_of(recipe, [(hop.step, hop.to) for hop in trace.trace])
        limits = recipe.limits

        assert trace.exit is not None
        assert len(lives) - 1 <= limits.max_restarts + 1
        for life in lives:
            assert max(life.values(), default=0) <= (limits.max_step_visits or 10**9)
            assert sum(life.values()) <= (limits.max_total_steps or 10**9)


@given(sound_recipes())
def test_every_simple_path_ends_in_simulation_as_it_says(recipe: Recipe) -> None:
    unlimited = msgspec.structs.replace(recipe, limits=Limits())
    for path in simple_paths(unlimited).paths:
        trace = simulate(unlimited, [hop.outcome for hop in path.trace])

        assert trace.trace[: len(path.trace)] == path.trace
        if path.exit is not None:
            assert (trace.exit, trace.unused) == (path.exit, ())
