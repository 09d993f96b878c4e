"""From an outcome to the next step or the end: checks first, then the edge."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.recipe.model import Edge, Recipe, Step
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from tests.core.builders import Play, a_check, a_recipe, a_step, leave, review_loop, to

LINT = a_check("make", "lint")
TEST = a_check("make", "the tests")


def checked(on: dict[str, Edge], *checks: object) -> Recipe:
    return a_recipe({"work": a_step(on=on, checks=checks or (LINT,)), "rest": a_step()})


def test_an_outcome_leads_to_the_next_step() -> None:
    play = Play(review_loop())

    assert play.say("complete") == ["turn.ended", "outcome.parsed", "edge.taken"]
    edge = play.last(f.EdgeTaken)
    assert (edge.step, edge.visit, edge.outcome, edge.to, edge.exit) == (
        *("work", 1, "complete"),
        *("review", None),
    )
    assert (edge.source, edge.attempts) == ("text", 1)
    assert play.history[0].step == "work"
    assert play.state.claim is None


def test_an_exit_ends_the_run_with_what_the_edge_says() -> None:
    on = {"complete": leave("half-done", "needs-user", "Have a look")}
    play = Play(a_recipe({"work": a_step(on=on)}))

    assert play.say("complete")[-2:] == ["edge.taken", "run.ended"]
    end = play.last(f.RunEnded).exit
    assert (end.reason, end.class_, end.message, end.detail) == (
        *("half-done", "needs-user"),
        *("Have a look", "Done."),
    )


def test_other_always_has_an_edge_and_its_description_is_the_detail() -> None:
    play = Play(review_loop())
    play.say("other")

    assert play.reason == "user-provided-other"
    assert play.last(f.RunEnded).exit.detail == "Something else"
    assert play.history[0].description == "Something else"


def test_the_structured_answer_is_told_from_words() -> None:
    play = Play(review_loop()).begin()
    play.over(structured={"outcome": "complete", "detail": "In two files."})
    parsed = play.last(f.OutcomeParsed)

    assert (parsed.source, parsed.detail, parsed.repaired) == (
        *("structured", "In two files."),
        False,
    )


def test_an_answer_that_had_to_be_repaired_is_marked() -> None:
    play = Play(review_loop())
    play.reply('{"outcome": "complete",}')

    assert play.last(f.OutcomeParsed).repaired


# Checks.


def test_a_check_that_passes_lets_the_outcome_stand() -> None:
    play = Play(checked({"complete": to("rest")}))

    assert play.say("complete") == ["turn.ended", "outcome.parsed"]
    assert play.history == []
    assert play.do(c.Proceed) == []
    assert play.check(seconds=2.0) == ["check.ended", "edge.taken"]
    assert play.last(f.CheckEnded).run == ("make", "lint")
    assert play.last(f.EdgeTaken).outcome == "complete"
    assert play.state.seconds == 3.0


def test_a_check_that_fails_overrules_the_agent() -> None:
    play = Play(checked({"complete": to("rest"), "checks-failed": to("work")}, LINT, TEST))
    play.say("complete")
    play.check()

    assert play.check(passed=False, exit_status=2, tail="E501") == ["check.ended", "edge.taken"]
    edge = play.last(f.EdgeTaken)
    assert (edge.outcome, edge.source, edge.to) == ("checks-failed", "check", "work")
    assert (edge.description, edge.detail) == ("make 'the tests': exit status 2", "E501")
    assert play.begin().turn.visit == 2


def test_a_failed_check_without_an_edge_ends_the_run() -> None:
    play = Play(checked({"complete": to("rest")}))
    play.say("complete")
    play.check(passed=False, exit_status=None)

    assert (play.reason, play.last(f.RunEnded).exit.detail) == (
        "checks-failed",
        "make lint: did not end",
    )


def test_checks_run_in_their_order_and_stop_at_the_first_that_fails() -> None:
    play = Play(checked({"complete": to("rest")}, LINT, TEST))
    play.say("complete")
    play.check(passed=False)

    assert [check.index for check in play.all(f.CheckEnded)] == [0]


def test_the_result_of_a_check_that_is_not_due_changes_nothing() -> None:
    play = Play(checked({"complete": to("rest")}, LINT, TEST))

    assert play.do(c.ReportCheckEnd, index=0, passed=True) == []
    play.say("complete")
    assert play.do(c.ReportCheckEnd, index=1, passed=True) == []
    play.check()
    assert play.do(c.ReportCheckEnd, index=0, passed=False) == []


@pytest.mark.parametrize(
    "edge",
    [
        leave("clarification-needed"),
        leave("implementation-blocked"),
        leave("asked", "needs-user"),
        leave("stuck", "blocked"),
    ],
)
def test_no_check_runs_where_a_person_is_needed(edge: Edge) -> None:
    assert Play(checked({"complete": edge})).say("complete")[-1] == "run.ended"


def test_checks_run_before_an_exit_that_is_no_persons_business() -> None:
    play = Play(checked({"complete": leave("changes-committed")}))
    play.say("complete")
    play.check()

    assert play.reason == "changes-committed"


def test_no_check_runs_after_other() -> None:
    play = Play(checked({"complete": to("rest"), "other": to("rest")}))

    assert play.say("other")[-1] == "edge.taken"


# What a step leaves for later prompts.


@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        ({"structured": {"outcome": "complete", "detail": "From detail."}}, "From detail."),
        (
            {"structured": {"outcome": "other", "otherDescription": "From description."}},
            "From description.",
        ),
        ({"texts": ('From prose\n{"outcome": "complete"}',)}, "From prose"),
    ],
)
def test_the_detail_of_a_step_is_the_first_that_exists(reply: dict[str, Any], detail: str) -> None:
    steps: dict[str, Step] = {
        "work": a_step("Before: '{{last.work.detail}}'", on={"complete": to("rest")}),
        "rest": a_step("After: '{{last.work.detail}}'"),
    }
    steps["work"].on["other"] = to("rest")
    play = Play(a_recipe(steps)).begin()

    assert play.turn.prompt.startswith("Before: ''")
    play.over(**reply)
    assert play.begin().turn.prompt.startswith(f"After: '{detail}'")


# Restart.


def test_a_restart_begins_anew_in_a_fresh_session_and_keeps_what_was_spent() -> None:
    on = {"committed": to("@restart"), "no-tasks": leave("no-tasks-available")}
    steps = {
        "start": a_step("{{last.work.detail}}Go.", on={"ready": to("work")}),
        "work": a_step(on=on, commits=True),
    }
    play = Play(a_recipe(steps), fork_from="session-0")
    play.say("ready", cost_usd=0.5)
    assert play.begin().turn.fork_from == "session-0"
    play.say("committed", cost_usd=0.25)

    assert (play.state.visits, play.state.step_count, play.state.restart) == ({}, 0, 1)
    play.begin(dirty=("a.py",))
    assert (play.turn.step, play.turn.visit, play.turn.fork_from) == ("start", 1, None)
    assert play.turn.session_id not in ("session-1", "session-0")
    assert play.turn.prompt.startswith("Go.")
    assert play.state.cost_usd == 0.75
    play.say("ready")
    assert play.begin().turn.session_id == play.state.main_session
    assert [visit.visit for visit in play.history] == [1, 1, 1]
