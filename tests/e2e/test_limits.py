"""Guardrails: a recipe that would go on for ever is stopped, and it does not look like success."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import LOOP, bash, held, when, word
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude

NEVER_GOOD = {"rules": [when("Work", word("complete")), when("Review", word("issues-found"))]}


@pytest.mark.parametrize(
    ("limit", "steps", "reason", "message"),
    [
        (
            "max_step_visits = 1",
            ["work", "review"],
            "max-step-visits-exceeded:work",
            "Recipe stopped: step 'work' visited too many times",
        ),
        (
            "max_total_steps = 2",
            ["work", "review"],
            "max-total-steps",
            "Recipe stopped: reached maximum step limit (2 steps)",
        ),
    ],
)
async def test_a_limit_of_steps_stops_before_the_step_that_would_exceed_it(
    podium: PodiumDaemon,
    repo: GitRepo,
    model_server: ModelServer,
    limit: str,
    steps: list[str],
    reason: str,
    message: str,
) -> None:
    model_server.load(NEVER_GOOD)
    recipe = podium.machine.recipe("loop", LOOP.replace("max_total_steps = 6", limit))
    said = await podium.cli("run", recipe, cwd=repo.path)
    run = await podium.only_run()
    assert said.code == 3 and f"⚠ {message} ({reason})" in said.out
    assert "podium run loop" in said.out, "how to run it again"
    assert [visit["step"] for visit in run["history"]] == steps and run["turns"] == len(steps)
    assert run["exit"]["category"] == run["exit"]["class"] == "guardrail"
    assert (run["exit"]["reason"], run["exit"]["message"]) == (reason, message)
    (line,) = podium.logged("Recipe stopped by guardrail")
    assert (line["reason"], line["category"]) == (reason, "guardrail")
    assert len(podium.logged("Limit hit")) == 1


async def test_a_review_that_finds_the_same_in_the_same_tree_is_pointed_out_as_it_happens(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """The built-in recipe; the fixes change nothing, and the third review would be the last."""
    found = word("issues-found", "1. [high] shop.py:1: the price is wrong.")
    fixes = [word("complete", f"Fixed, try {number}.") for number in (1, 2, 3)]
    model_server.load(
        {
            "rules": [
                when(
                    "Implement one task",
                    bash("echo 'price = 0' > shop.py"),
                    word("complete", "Made."),
                ),
                when("Perform a code review", found, found, found),
                when("Address the issues", *fixes),
            ]
        }
    )
    said = await podium.cli("run", "implement-and-review", cwd=repo.path)
    assert said.code == 3, said
    told = [line.strip() for line in said.out.splitlines() if "no progress" in line]
    same = "with the same findings, and the working tree is the same"
    assert told == [
        f"⚠ no progress: visit {visit} of 'code-review' ended as visit 1 did, {same}"
        for visit in (2, 3)
    ]
    run = await podium.only_run()
    shown = await podium.cli("runs", "show", run["run_id"])
    assert "⚠ no progress: visit 3 of 'code-review'" in shown.out
    assert [(line["step"], line["visit"]) for line in podium.logged("No progress")] == [
        ("code-review", 2),
        ("code-review", 3),
    ]


async def test_the_time_of_a_run_ends_the_turn_that_is_running(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"default": held(word("complete", "Thinking. " * 20))})
    recipe = podium.machine.recipe("loop", LOOP.replace("[limits]", "[limits]\nmax_minutes = 0.02"))
    async with podium.running(recipe, repo.path) as feed:
        run = await feed.end()
    assert (run["exit"]["reason"], run["exit"]["category"]) == ("max-minutes", "guardrail")
    assert run["exit"]["message"] == "Recipe stopped by safety limit: max-minutes"
    assert feed.data("turn.ended")[0]["report"]["kind"] == "timeout"
    assert podium.children() == []
    assert await podium.rpc("sessions.locks") == []
