"""What a recipe says about a step reaches the real agent: sessions, tools, checks, gates."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import ASKING, LOOP, when, word
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude

SESSIONS = """
initial = "work"

[steps.work]
prompt = "Work on it."

[steps.work.on]
complete = { to = "judge" }

[steps.judge]
prompt = "Judge it."
session = "fresh"
tools = "read-only"

[steps.judge.on]
complete = { to = "doubt" }

[steps.doubt]
prompt = "Doubt it."
session = "fork"
tools = "none"

[steps.doubt.on]
complete = { exit = "turn-complete", class = "completed" }
"""

QUESTION = {
    "question": "Which shop?",
    "header": "Shop",
    "options": [
        {"label": "Old", "description": "The old one"},
        {"label": "New", "description": "The new one"},
    ],
    "multiSelect": False,
}


async def test_a_step_has_the_session_and_the_tools_that_the_recipe_gives_it(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"default": word("complete")})
    recipe = podium.machine.recipe("sessions", SESSIONS)
    async with podium.running(recipe, repo.path) as feed:
        run = await feed.end()
    work, judge, doubt = model_server.requests
    assert run["exit"]["reason"] == "turn-complete"
    assert len({work.session, judge.session, doubt.session}) == 3
    assert "Work on it." not in judge.anywhere, "a fresh session knows nothing"
    assert "Work on it." in doubt.anywhere, "a fork knows what its origin knows"
    assert "Judge it." not in doubt.anywhere
    assert "Bash" in work.tools and "Read" in judge.tools
    assert not {"Bash", "Write", "Edit"} & set(judge.tools)
    assert not {"Bash", "Write", "Edit", "Read", "Agent"} & set(doubt.tools)


async def test_the_agents_own_question_is_answered_by_an_option(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    call = {"name": "AskUserQuestion", "input": {"questions": [QUESTION]}}
    model_server.load({"turns": [{"tools": [call]}, word("complete")]})
    async with podium.running(podium.machine.recipe("asking", ASKING), repo.path) as feed:
        asked = await feed.until("question.opened")
        assert (asked["kind"], asked["text"]) == ("ask", "Which shop?")
        assert [choice["id"] for choice in asked["choices"]] == ["Old", "New"]
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="New")
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete"
    result = model_server.requests[1].result
    assert "Which shop?" in result and "New" in result


# -- what the agent's last word is taken for, and the four ends of a recipe on the wire


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
