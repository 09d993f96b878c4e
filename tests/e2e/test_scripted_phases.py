"""A conversation in phases that a script plays: no model, no agent, and no call is made twice."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from podiumd.tools.failpoints import VARIABLE
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.native_rig import native_machine, project
from tests.e2e.phases_rig import ASK, CALLS, RECIPE, used
from tests.e2e.rpc_client import Json


def call(name: str, expect: str = "done", **args: object) -> Json:
    return {"tool": name, "args": args, "expect": expect}


QUESTION = {key: value for key, value in ASK.items() if key != "action"}
TURNS: list[Json] = [
    {"when": "^Begin with", "text": "Hello.", "tools": [call("ask", **QUESTION)]},
    {
        "when": "The answer: A shop",
        "text": "On.",
        "tools": [
            call("transition", "refused", to="nowhere"),
            call("transition", "refused", to="agreed"),
            call("save", key="goal", value="a shop"),
            call("transition", to="agreed"),
        ],
    },
    {
        "when": "^Set up",
        "tools": [
            call("save", key="config", value={"role": "a grocer"}),
            call("transition", to="finish"),
        ],
    },
    {"when": "^Say what", "text": "A shop was made."},
]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with native_machine(tmp_path) as made:
        script = tmp_path / "turns.json"
        script.write_text(json.dumps({"turns": TURNS}))
        settings = made.podium_home / "config.toml"
        settings.write_text(f'{settings.read_text()}\n[agents.scripted]\nscript = "{script}"\n')
        made.recipe("phases", RECIPE)
        yield made


@pytest.fixture
def repo(machine: Machine) -> GitRepo:
    return project(machine)


@pytest.mark.parametrize(
    "point",
    [
        None,
        "tool.after-recorded:1",
        "tool.before-call:2",
        "tool.after-recorded:2",
        "tool.after-answer:4",
        "tool.after-recorded:5",
        "turn.before-ended:2",
        "tool.before-call:6",
        "tool.after-recorded:7",
        "turn.after-ended:4",
    ],
)
async def test_a_script_plays_a_whole_conversation_through_a_crash(
    machine: Machine, repo: GitRepo, point: str | None
) -> None:
    asks = point == "tool.after-recorded:1"  # the only one before the question
    daemon = PodiumDaemon(machine, **{VARIABLE: point})
    await daemon.start()
    run = await daemon.rpc(
        "runs.start", recipe="phases", working_directory=str(repo.path), agent="scripted"
    )
    if not asks:
        await answer(daemon, run["run_id"])
    if point is None:
        await daemon.stop()
    else:
        assert await daemon.wait() == -signal.SIGKILL
    async with PodiumDaemon(machine) as podium, podium.follow(run["run_id"]) as feed:
        if asks:
            await answer(podium, run["run_id"])
        ended = await feed.end()
    assert ended["exit"]["reason"] == "conversation-complete", ended
    assert ended["ctx"] == {"goal": "a shop", "config": {"role": "a grocer"}}
    assert used(feed.data("tool.used")) == CALLS
    assert [one["step"] for one in feed.data("step.entered")] == ["goal", "configure", "finish"]
    assert len(feed.data("turn.intended")) == 4


async def answer(podium: PodiumDaemon, run_id: str) -> None:
    """Answer the question of the first phase."""
    async with podium.follow(run_id) as feed:
        asked = await feed.until("question.opened")
        await podium.rpc("questions.answer", question_id=asked["question_id"], answer="shop")
