"""Two daemons of one user: they never work in one checkout, whatever is killed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.stories import LOOP, bash, held, word
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

pytestmark = pytest.mark.claude

WAITING = """
initial = "wait"

[steps.wait]
run = ["sleep", "600"]

[steps.wait.on]
passed = { exit = "waited", class = "completed" }
failed = { exit = "not-waited", class = "error" }
"""

BUSY = -32001
LONG = "Thinking about it. " * 20


@dataclass(frozen=True)
class Elsewhere(Machine):
    """The same person's second, private PODIUM_HOME."""

    @property
    def podium_home(self) -> Path:
        return self.root / "elsewhere"


@asynccontextmanager
async def second(machine: Machine) -> AsyncIterator[PodiumDaemon]:
    """A daemon of the same user beside the first."""
    other = Elsewhere(machine.root, machine.home, machine.claude, machine.model)
    other.set_up()
    other.configure()
    podium = PodiumDaemon(other, PODIUM_HOME=str(other.podium_home))
    await podium.start()
    try:
        yield podium
    finally:
        with trio.CancelScope(shield=True):
            await podium.stop()


async def test_an_agent_whose_daemon_was_killed_keeps_its_checkout(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [held(bash("true", LONG)), word("blocked")]})
    async with second(podium.machine) as other:
        other.machine.recipe("waiting", WAITING)
        async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
            run_id = feed.seen[0]["run_id"]
            await holding(model_server, "half")
            await podium.kill9()
        start = {"recipe": "waiting", "working_directory": str(repo.path)}
        refusal = await other.refused("runs.start", **start)
        assert (refusal.code, refusal.data["holder"]["id"]) == (BUSY, run_id)
        await podium.start()
        async with podium.follow(run_id) as feed:
            model_server.release("half")
            run = await feed.end()
        assert run["exit"]["reason"] == "implementation-blocked" and run["turns"] == 1
