"""Turns that wait for a person, fifty at once: what they cost the daemon's memory."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

import trio

from benchmarks.bench_idle import memory_mb
from tests.e2e.daemon import PodiumDaemon
from tests.fakes.model_server import ModelServer
from tests.faults.agent_scenario import AgentScenario, Language
from tests.faults.machines import FakeMachine

HELD: Final = 50
_SETTLE_SECONDS: Final = 2.0
_ASKING: Final = {"rules": [{"tools": [{"command": "true"}]}]}


async def mebibytes_each(language: Language) -> float:
    """Hold turns of the kit's fake, and return how much more memory the daemon has for each."""
    scenario = AgentScenario(agent=language)
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory, ModelServer() as model:
        root = Path(directory)
        machine = FakeMachine(root, root / "home", root / "fake", model)
        machine.set_up()
        machine.configure(agent=language, called=scenario.called, script=_ASKING)
        with (machine.podium_home / "config.toml").open("a") as file:
            file.write(f"[limits]\nmax_agents = {HELD}\n")
        async with PodiumDaemon(machine) as daemon:
            before = await _memory(daemon)
            for number in range(HELD):
                where = root / f"project-{number}"
                where.mkdir()
                await _held(daemon, scenario.called, where)
            after = await _memory(daemon)
    return (after - before) * 1e6 / (1 << 20) / HELD


async def _held(daemon: PodiumDaemon, agent: str, where: Path) -> None:
    asked = {"text": "Go on.", "agent": agent, "working_directory": str(where)}
    went = await daemon.rpc("sessions.prompt", **asked)
    async with daemon.follow(went["run_id"]) as feed:
        await feed.until("question.opened")


async def _memory(daemon: PodiumDaemon) -> float:
    await trio.sleep(_SETTLE_SECONDS)  # what is freed by then is no cost of what waits
    return memory_mb(daemon.pid, "Rss")
