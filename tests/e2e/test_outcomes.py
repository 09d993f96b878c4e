"""What the agent's last word is taken for, and the four ends of a recipe on the wire."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import LOOP, when, word
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude

PRAYER = {"text": "It should be fine now, I think."}
RETRY = "Please respond again with JSON per the instructions."
BLOCK = '{"outcome": "<outcome>"}'


@pytest.mark.long(
    "tests/runtime/test_recipes.py::test_the_built_in_recipe_goes_from_start_to_commit_with_the_scripted_agent"
)
async def test_a_recipe_that_completes_says_so_on_the_wire_and_in_the_log(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load(
        {"rules": [when("Work", word("complete")), when("Review", word("no-issues"))]}
    )
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run = await feed.end()
    assert run["exit"] == {
        "reason": "turn-complete",
        "category": "completed",
        "class": "completed",
        "message": "Turn complete",
        "detail": run["exit"]["detail"],
    }
    assert [found["source"] for found in feed.data("outcome.parsed")] == ["structured"] * 2
    (line,) = podium.logged("Recipe completed")
    assert (line["reason"], line["category"], line["class"]) == (
        *("turn-complete", "completed", "completed"),
    )
    assert [(one["from"], one["outcome"], one["to"]) for one in podium.logged("Transition")] == [
        ("work", "complete", "review"),
        ("review", "no-issues", "exit:turn-complete"),
    ]


async def test_an_invalid_reply_is_asked_again_in_the_same_session_and_is_no_step(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    rules = [
        when("Work", PRAYER, PRAYER),  # the CLI itself asks once more for the schema's tool
        when(RETRY, word("blocked", detail="No key.")),
    ]
    model_server.load({"rules": rules})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run = await feed.end()
    (invalid,) = feed.data("outcome.invalid")
    assert (invalid["error"], invalid["attempt"]) == ("no-json", 1)
    assert (run["exit"]["reason"], run["exit"]["class"]) == ("implementation-blocked", "blocked")
    assert run["step_count"] == 1 and run["visits"] == {"work": 1} and run["turns"] == 2
    assert [(visit["outcome"], visit["attempts"]) for visit in run["history"]] == [("blocked", 2)]
    first, again = podium.machine.prompts(run["session_id"], repo.path)
    assert again.startswith(RETRY) and BLOCK in again and BLOCK in first
    assert len({request.session for request in model_server.requests}) == 1


@pytest.mark.long(
    "tests/runtime/test_recipes.py::test_a_reply_without_an_outcome_is_asked_for_again_three_times"
)
@pytest.mark.parametrize(
    ("limits", "replies"), [("max_total_steps = 6", 4), ("max_total_steps = 6\nmax_retries = 1", 2)]
)
async def test_replies_that_are_never_json_end_the_run_as_an_error(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, limits: str, replies: int
) -> None:
    """Four replies by default, two with one retry: category error, a message for people."""
    model_server.load({"default": PRAYER})
    recipe = podium.machine.recipe("loop", LOOP.replace("max_total_steps = 6", limits))
    said = await podium.cli("run", recipe, cwd=repo.path)
    run = await podium.only_run()
    assert said.code == 1
    assert "✗ Recipe failed: could not parse agent response (orchestration-error)" in said.out
    assert run["exit"]["category"] == run["exit"]["class"] == "error"
    assert run["exit"]["reason"] == "orchestration-error"
    assert run["exit"]["message"] == "Recipe failed: could not parse agent response"
    assert run["turns"] == replies and run["step_count"] == 1
    lines = podium.logged("Outcome invalid")
    assert [line["attempt"] for line in lines] == list(range(1, replies + 1))
    assert {line["level"] for line in lines} == {"warning"}
    assert podium.logged("Recipe failed")[0]["reason"] == "orchestration-error"


@pytest.mark.long(
    "tests/core/test_turns.py::test_an_unknown_outcome_is_retried_too_and_stands_in_the_detail_at_the_end"
)
async def test_a_word_that_is_no_outcome_of_the_step_is_kept_as_the_detail(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """The schema is the recipe's, so the agent may say what only another step can end with."""
    model_server.load({"default": word("no-issues")})
    recipe = podium.machine.recipe("loop", LOOP.replace("[limits]", "[limits]\nmax_retries = 1"))
    async with podium.running(recipe, repo.path) as feed:
        run = await feed.end()
    assert (run["exit"]["reason"], run["exit"]["detail"]) == ("orchestration-error", "no-issues")
    assert {found["error"] for found in feed.data("outcome.invalid")} == {"unknown-outcome"}
    line = podium.logged("Unexpected outcome")[0]
    assert (line["returned"], line["expected"]) == ("no-issues", ["complete", "blocked", "other"])


@pytest.mark.long(
    "tests/core/test_edges.py::test_other_always_has_an_edge_and_its_description_is_the_detail"
)
async def test_other_without_an_edge_hands_the_run_to_its_person(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"default": word("other", otherDescription="Which of the two shops?")})
    said = await podium.cli("run", podium.machine.recipe("loop", LOOP), cwd=repo.path)
    run = await podium.only_run()
    assert said.code == 4
    assert "⚠ Recipe exited by user choice (user-provided-other)" in said.out
    assert (run["exit"]["category"], run["exit"]["class"]) == ("completed", "needs-user")
    assert run["history"][0]["description"] == "Which of the two shops?"


@pytest.mark.long(
    "tests/core/test_outcome.py::test_structured_output_without_an_outcome_leaves_the_text_to_say_it"
)
async def test_a_model_that_ignores_the_schema_is_heard_in_its_text(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """The CLI nudges it and keeps its last words only; the answer stands in an earlier message."""
    answer = {"text": 'I could not.\n\n```json\n{"outcome": "blocked"}\n```'}
    model_server.load({"turns": [answer, {"text": "As I said."}]})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run = await feed.end()
    (parsed,) = feed.data("outcome.parsed")
    assert (parsed["outcome"], parsed["source"], parsed["repaired"]) == ("blocked", "text", False)
    assert run["turns"] == 1 and len(model_server.requests) == 2
