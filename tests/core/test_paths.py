"""The ways out of a step, and the paths through a recipe."""

from __future__ import annotations

import json

import msgspec

from podiumd.core.recipe.model import Recipe, Step
from podiumd.core.recipe.paths import (
    MOST_PATHS,
    Way,
    checked_outcomes,
    outcomes_of,
    simple_paths,
    ways_out,
)
from tests.core.builders import a_check, a_recipe, a_step, leave, review_loop, to


def ends(recipe: Recipe) -> list[tuple[list[str], str | None]]:
    """Outcomes and exit reason of each path."""
    return [
        ([hop.outcome for hop in path.trace], path.exit.reason if path.exit is not None else None)
        for path in simple_paths(recipe).paths
    ]


def dense(steps: int) -> Recipe:
    """Every step leads to every other one, and the last one out."""
    names = [f"s{number}" for number in range(steps)]
    edges = {f"to-{name}": to(name) for name in names}
    made = {name: Step(kind="call", on=edges, outcomes=tuple(edges)) for name in names}
    out = {**edges, "out": leave("changes-committed")}
    made[names[-1]] = Step(kind="call", on=out, outcomes=tuple(out))
    return a_recipe(made)


# Ways out.


def test_a_turn_leads_out_by_its_outcomes_and_by_those_that_others_decide() -> None:
    step = a_step(
        on={"complete": to("review"), "checks-failed": to("work"), "stuck": leave("odd", "error")},
        checks=(a_check(),),
        gate="Go?",
    )

    def exit_by(outcome: str, reason: str, class_: str, *, implied: bool) -> Way:
        return msgspec.convert(
            {"outcome": outcome, "to": None, "exit": reason, "class": class_, "implied": implied},
            Way,
        )

    assert outcomes_of(step) == ("complete", "stuck", "other", "checks-failed", "declined")
    assert ways_out(step) == (
        Way(outcome="complete", to="review", exit=None, class_=None, implied=False),
        exit_by("stuck", "odd", "error", implied=False),
        exit_by("other", "user-provided-other", "needs-user", implied=True),
        Way(outcome="checks-failed", to="work", exit=None, class_=None, implied=False),
        exit_by("declined", "gate-declined", "needs-user", implied=True),
    )
    assert json.loads(msgspec.json.encode(ways_out(step)[1])) == {
        "outcome": "stuck",
        "to": None,
        "exit": "odd",
        "class": "error",
        "implied": False,
    }


def test_checks_run_after_outcomes_that_hand_nothing_over() -> None:
    on = {
        "complete": to("work"),
        "committed": leave("changes-committed"),
        "blocked": leave("implementation-blocked"),
        "unclear": leave("odd", "needs-user"),
        "other": to("work"),
    }
    outcomes = tuple(on)

    checked = Step(kind="turn", on=on, outcomes=outcomes, checks=(a_check(),))
    unhandled = Step(kind="turn", outcomes=("complete",), checks=(a_check(),))

    assert checked_outcomes(checked) == ("complete", "committed")
    assert checked_outcomes(a_step(on=on)) == ()
    assert checked_outcomes(unhandled) == ("complete",)


def test_the_no_of_an_ask_may_be_written_as_declined() -> None:
    choices = ("yes", "no")
    plain = Step(kind="gate", ask="?", choices=choices, outcomes=choices, on={"yes": to("work")})
    written = msgspec.structs.replace(plain, on={**plain.on, "declined": to("work")})

    assert [(way.outcome, way.exit, way.implied) for way in ways_out(plain)] == [
        ("yes", None, False),
        ("no", "gate-declined", True),
    ]
    assert [(way.outcome, way.to, way.implied) for way in ways_out(written)] == [
        ("yes", "work", False),
        ("no", "work", False),
    ]


def test_an_outcome_without_an_edge_leads_nowhere() -> None:
    assert ways_out(Step(kind="call", outcomes=("done",))) == ()


# Paths.


def test_every_simple_path_is_listed_the_shortest_first() -> None:
    assert ends(review_loop()) == [
        (["blocked"], "implementation-blocked"),
        (["other"], "user-provided-other"),
        (["complete", "other"], "user-provided-other"),
        (["complete", "no-issues", "committed"], "changes-committed"),
        (["complete", "no-issues", "other"], "user-provided-other"),
        (["complete", "issues-found", "other"], "user-provided-other"),
    ]
    assert simple_paths(review_loop()).complete


def test_a_restart_ends_a_path_without_an_exit() -> None:
    recipe = a_recipe({"work": a_step(on={"complete": to("@restart")}, gate="Go?")})
    (first, *_) = simple_paths(recipe).paths

    assert ends(recipe) == [
        (["complete"], None),
        (["other"], "user-provided-other"),
        (["declined"], "gate-declined"),
    ]
    assert first.trace[0].to == "@restart"


def test_the_exit_of_a_path_is_the_one_of_a_run() -> None:
    recipe = a_recipe({"work": a_step(on={"complete": leave("odd", "blocked", "Sorry.")})})
    end = simple_paths(recipe).paths[0].exit

    assert end is not None
    assert (end.reason, end.class_, end.message) == ("odd", "blocked", "Sorry.")


def test_paths_beyond_a_bound_are_left_out_and_it_says_so() -> None:
    most = simple_paths(review_loop(), most=6)
    cut = simple_paths(review_loop(), most=5)

    assert (len(most.paths), most.complete) == (6, True)
    assert (len(cut.paths), cut.complete) == (5, False)
    assert cut.paths == most.paths[:5]


def test_a_dense_machine_is_given_up_in_time() -> None:
    whole, dense_one = simple_paths(dense(6)), simple_paths(dense(40))

    # Every order of any number of the four steps between the first and the last.
    assert (len(whole.paths), whole.complete) == (1 + 4 + 12 + 24 + 24, True)
    assert 0 < len(dense_one.paths) < MOST_PATHS
    assert not dense_one.complete
