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
