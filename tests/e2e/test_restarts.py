"""The daemon dies, and nothing is lost: turns go on without it, and the next one takes them up."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.spools import until_written
from tests.e2e.stories import ASKING, LOOP, bash, held, when, word
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

pytestmark = pytest.mark.claude


LONG = "Thinking about it. " * 20
ONCE = bash("echo ran >> made", LONG)


@pytest.mark.long(
    "tests/runtime/test_recovery.py::test_a_turn_that_ended_while_no_daemon_looked_is_adopted"
)
async def test_what_the_agent_did_alone_is_adopted_and_the_run_goes_on(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """The daemon is killed in the middle of each turn and stays away until the agent is done."""
    rules = [
        when("Work", held(ONCE, "work"), word("complete")),
        when("Review", held(bash("echo looked >> made", LONG), "review"), word("no-issues")),
    ]
    model_server.load({"rules": rules})
    start = {"recipe": podium.machine.recipe("loop", LOOP), "working_directory": str(repo.path)}
    run_id = (await podium.rpc("runs.start", **start))["run_id"]
    for step in ("work", "review"):
        async with podium.follow(run_id) as feed:
            turn = await feed.until("turn.intended", step=step)
            await holding(model_server, step)
        await podium.kill9()
        model_server.release(step)
        await until_written(podium.machine, turn["turn_id"])
        await podium.start()
    run = await podium.ended(run_id)
    assert run["exit"]["reason"] == "turn-complete"
    assert (run["turns"], run["step_count"]) == (2, 2)
    assert (repo.path / "made").read_text() == "ran\nlooked\n"
    prompts = podium.machine.prompts(run["session_id"], repo.path)
    assert [prompt.partition("\n")[0] for prompt in prompts] == ["Work on it.", "Review it."]


async def test_an_approval_outlives_its_daemon_and_its_tool_runs_once(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [ONCE, word("complete")]})
    async with podium.running(podium.machine.recipe("asking", ASKING), repo.path) as feed:
        run_id = feed.seen[0]["run_id"]
        asked = await feed.until("question.opened")
    await podium.restart()
    (listed,) = await podium.rpc("questions.list")
    assert listed["question_id"] == asked["question_id"]
    await podium.rpc("questions.answer", question_id=asked["question_id"], answer="allow")
    async with podium.follow(run_id) as feed:
        run = await feed.end()
    assert run["exit"]["reason"] == "turn-complete"
    assert (repo.path / "made").read_text() == "ran\n"
    assert len(feed.data("question.opened")) == 1
    assert len(model_server.requests) == 2
