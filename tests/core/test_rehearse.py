"""One step played with made-up replies: read, asked again and given up as in a run."""

from __future__ import annotations

import json

import msgspec
import pytest

from podiumd.core.analysis.rehearse import Accepted, Rejected, play_step
from podiumd.core.analysis.walk import SimulationError
from podiumd.core.recipe.model import Limits, Step
from tests.core.builders import a_check, a_recipe, a_step, leave, review_loop, to

NO_ISSUES = 'Fine.\n{"outcome": "no-issues"}'


def test_a_reply_with_an_outcome_takes_its_edge() -> None:
    played = play_step(review_loop(), "review", [NO_ISSUES])

    assert played.replies == (Accepted(True, "no-issues", None, "text", False),)
    assert (played.outcome, played.to, played.exit, played.unused) == (
        *("no-issues", "commit", None),
        0,
    )


def test_replies_without_one_are_rejected_until_one_has_it() -> None:
    played = play_step(review_loop(), "review", ["Hm.", '{"outcome": "done"}', NO_ISSUES, "More."])

    first, second, third = played.replies
    assert isinstance(first, Rejected)
    assert isinstance(second, Rejected)
    assert (first.error, first.excerpt, second.error) == ("no-json", "Hm.", "unknown-outcome")
    assert isinstance(third, Accepted)
    assert (played.outcome, played.unused) == ("no-issues", 1)


def test_the_step_is_given_up_after_its_retries() -> None:
    played = play_step(review_loop(Limits(max_retries=1)), "review", ["Hm."] * 3)

    assert [reply.ok for reply in played.replies] == [False, False]
    assert played.exit is not None
    assert (played.outcome, played.exit.reason, played.unused) == (
        *(None, "orchestration-error"),
        1,
    )


@pytest.mark.parametrize("replies", [[], ["Hm."]])
def test_replies_that_run_out_leave_the_step_open(replies: list[str]) -> None:
    played = play_step(review_loop(), "review", replies)

    assert (len(played.replies), played.outcome, played.to, played.exit) == (
        *(len(replies), None),
        *(None, None),
    )


def test_an_edge_out_of_the_recipe_ends_it_with_what_the_reply_said() -> None:
    reply = '{"outcome": "other", "otherDescription": "No compiler here"}'
    played = play_step(review_loop(), "work", [reply])

    assert played.exit is not None
    assert (played.outcome, played.to, played.exit.reason, played.exit.detail) == (
        *("other", None),
        *("user-provided-other", "No compiler here"),
    )


def test_neither_gate_nor_checks_nor_missing_details_stop_a_rehearsal() -> None:
    steps = {
        "work": a_step(on={"complete": to("last")}),
        "last": a_step(
            "{{last.work.detail}}",
            on={"complete": leave("changes-committed")},
            gate="Go?",
            checks=(a_check(), a_check("make", "lint")),
        ),
    }
    played = play_step(a_recipe(steps), "last", ['{"outcome": "Complete"}'])

    assert played.exit is not None
    assert (played.outcome, played.exit.reason) == ("complete", "changes-committed")


def test_only_a_step_with_a_prompt_has_replies() -> None:
    command = Step(kind="command", run=("make",), outcomes=("passed", "failed"))

    with pytest.raises(SimulationError, match="'build' has no prompt") as raised:
        play_step(a_recipe({"build": command}), "build", [NO_ISSUES])

    assert raised.value.step == "build"


def test_the_wire_shape_is_that_of_a_reply_read_alone() -> None:
    told = json.loads(msgspec.json.encode(play_step(review_loop(), "review", ["Hm.", NO_ISSUES])))

    assert told.keys() == {"replies", "outcome", "to", "exit", "unused"}
    assert told["replies"] == [
        {
            "ok": False,
            "error": "no-json",
            "message": "it holds no JSON object with an outcome",
            "excerpt": "Hm.",
        },
        {
            "ok": True,
            "outcome": "no-issues",
            "description": None,
            "source": "text",
            "repaired": False,
        },
    ]
