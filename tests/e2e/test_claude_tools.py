"""Podium's tools and hooks in the real agent's own conversation, and a daemon that dies over them.

The agent saves a value, uses a tool that a hook lets pass and one that it refuses, asks the
person, tries another tool after that, and goes on with the answer.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.rpc_client import Json
from tests.e2e.stories import bash, when
from tests.fakes.model_server import ModelServer

pytestmark = [pytest.mark.claude, pytest.mark.slow]

RECIPE = """
initial = "plan"

[context]
goal = "string"

[steps.plan]
talk = true
system = "Find out what is to be built."
opening = "Begin."
allow = ["Bash"]

[steps.plan.on]
agreed = { exit = "conversation-complete", class = "completed", requires = ["goal"] }

[[steps.plan.hooks]]
event = "before-tool"
match = "Bash"
run = ["sh", "-c", "! grep -q forbidden || { echo 'Only in docs.' >&2; exit 2; }"]
"""
POINTS = [
    *("handshake.before-write:2", "handshake.after-write:3"),
    *("tool.before-reply", "tool.after-recorded", "tool.after-reply"),
    *("hook.before-run", "hook.after-run", "hook.before-settle:2", "hook.after-settle:2"),
]


def use(tool: str, **args: Any) -> dict[str, Any]:
    return {"tools": [{"name": f"mcp__podium__{tool}", "input": args}]}


STORY = {
    "rules": [
        when(
            "Begin",
            use("save", key="goal", value="a house"),
            bash("echo x >> effects"),
            bash("echo forbidden > made"),
            use("ask", question="Is that it?", options=["Yes", "No"]),
            bash("touch after"),
            {"text": "I have asked."},
        ),
        when(".*Yes", use("transition", to="agreed", summary="A house"), {"text": "Agreed."}),
    ]
}


async def begin(podium: PodiumDaemon, repo: GitRepo) -> str:
    podium.machine.model.load(STORY)
    recipe = podium.machine.recipe("talked", RECIPE)
    run = await podium.rpc("runs.start", recipe=recipe, working_directory=str(repo.path))
    run_id: str = run["run_id"]
    return run_id


async def see_through(podium: PodiumDaemon, run_id: str) -> list[Json]:
    """Answer the question and follow the run to its end; returns the facts of its tools."""
    async with podium.follow(run_id) as feed:
        question = await feed.until("question.opened")
        await podium.rpc("questions.answer", question_id=question["question_id"], answer="Yes")
        ended = await feed.end()
        assert ended["exit"]["reason"] == "conversation-complete"
        return feed.data("tool.used")


def check(repo: GitRepo, model: ModelServer, used: list[Json]) -> None:
    assert [(one["tool"], one["success"]) for one in used] == [
        ("save", True),
        ("ask", True),
        ("transition", True),
    ]
    assert (repo.path / "effects").read_text() == "x\n"
    assert not (repo.path / "made").exists() and not (repo.path / "after").exists()
    results = [request.result for request in model.requests]
    assert len(results) == 8, results
    assert "goal" in results[1] and results[3].endswith("Only in docs.")
    assert "You have asked the person a question" in results[5]


async def test_an_agent_is_served_asked_at_hooks_and_quiet_after_its_question(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    run_id = await begin(podium, repo)
    check(repo, model_server, await see_through(podium, run_id))
    assert (await podium.rpc("runs.get", run_id=run_id))["ctx"] == {"goal": "a house"}


AGREE = (use("transition", to="agreed"), {"text": "Agreed."})
LONG = """
initial = "plan"

[context]
goal = "string"

[steps.plan]
talk = true
auto = true

[steps.plan.on]
agreed = { to = "build", requires = ["goal"] }

[steps.build]
talk = true
opening = "Build it."
system = "What is to be built: {{ctx.goal}}"
"""


async def test_a_phase_may_be_told_more_than_an_argument_can_hold(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """Twice what Linux lets one argument be; and nobody else on the machine can read it."""
    goal = "a house, " * 28 * 1024 + "that is all"
    model_server.load(
        {
            "rules": [
                when("Begin", use("save", key="goal", value=goal), *AGREE),
                when("Build it", {"text": "Built."}),
            ]
        }
    )
    recipe = podium.machine.recipe("long", LONG)
    run = await podium.rpc("runs.start", recipe=recipe, working_directory=str(repo.path))
    async with podium.follow(run["run_id"]) as feed:
        ended = await feed.end()
    assert ended["exit"]["reason"] == "conversation-complete"
    assert goal in model_server.requests[-1].system


@pytest.mark.parametrize("point", POINTS)
async def test_a_daemon_that_dies_over_a_tool_or_a_hook_does_nothing_twice(
    machine: Machine, repo: GitRepo, model_server: ModelServer, point: str
) -> None:
    podium = PodiumDaemon(machine, PODIUM_FAILPOINT=point)
    async with podium:
        run_id = await begin(podium, repo)
        await podium.wait()
        podium._environment.clear()  # the next one is to live
        await podium.start()
        used = await see_through(podium, run_id)
    check(repo, model_server, used)
