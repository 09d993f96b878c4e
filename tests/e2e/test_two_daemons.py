"""Two daemons of one user: they never work in one checkout, whatever is killed."""

from __future__ import annotations

import os
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
run = ["/bin/sh", "-c", "echo $$ > ../said; exec sleep 600"]

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


async def said(fifo: Path) -> str:
    return (await trio.to_thread.run_sync(fifo.read_text, abandon_on_cancel=True)).strip()


async def test_a_command_whose_daemon_was_killed_keeps_its_checkout(
    podium: PodiumDaemon, repo: GitRepo
) -> None:
    fifo = podium.machine.root / "said"
    os.mkfifo(fifo)
    recipe = podium.machine.recipe("waiting", WAITING)
    async with second(podium.machine) as other:
        other.machine.recipe("waiting", WAITING)
        start = {"recipe": "waiting", "working_directory": str(repo.path)}
        run = await podium.rpc("runs.start", recipe=recipe, working_directory=str(repo.path))
        first = await said(fifo)
        await podium.kill9()
        refusal = await other.refused("runs.start", **start)
        assert (refusal.code, refusal.data["holder"]["id"]) == (BUSY, run["run_id"])
        await podium.start()
        assert await said(fifo) != first, "ended and run again"
        assert (await other.refused("runs.start", **start)).code == BUSY
        stopped = await podium.rpc("runs.interrupt", run_id=run["run_id"])
        assert stopped["status"] == "paused"
        assert not [line for line in podium.children() if "sleep 600" in line]
        assert (await other.refused("runs.start", **start)).code == BUSY, "it is paused, not over"
        await podium.rpc("runs.cancel", run_id=run["run_id"])
        theirs = await other.rpc("runs.start", **start)
        await said(fifo)
        await other.rpc("runs.cancel", run_id=theirs["run_id"])


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
