"""The daemon is killed, stopped and taken down again and again, with turns at work and clients.

Each function plays ``times`` rounds and returns the seconds that each took; what it promises is
asserted in every round. ``campaign`` plays them at length, the tests a few rounds.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.rpc_client import connected
from tests.e2e.stories import Turn, bash, held, when, word
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
from tests.service.held import HeldDaemon

TURNS = 5
CLIENTS = 4
SETTINGS = {"PODIUM_LIMITS_MAX_AGENTS": str(TURNS)}

RECIPE = """
initial = "work"

[params.number]
type = "integer"

[steps.work]
prompt = "Work on {{number}}."
allow = ["Bash"]

[steps.work.on]
complete = { exit = "turn-complete", class = "completed" }
"""

GATE = "half"


def _script() -> dict[str, list[dict[str, object]]]:
    """Every turn stops half way through its first answer, then writes once and is done."""
    first: Turn = held(bash("echo ran >> made", "Thinking about it. " * 20), GATE)
    return {
        "rules": [when(f"Work on {number}[.]", first, word("complete")) for number in range(TURNS)]
    }


class Workplace:
    """Five repositories, each with a run at work in it."""

    def __init__(self, machine: Machine, model: ModelServer) -> None:
        self.machine = machine
        self._model = model
        self._recipe = machine.recipe("work", RECIPE)
        self._repositories: list[GitRepo] = []
        self._runs: list[str] = []
        model.load(_script())

    async def begin(self, podium: PodiumDaemon) -> None:
        """Start all runs; return when every agent is in the middle of its answer."""
        for number in range(TURNS):
            repository = self.machine.repository(f"project-{number}")
            self._repositories.append(repository)
            run = await podium.rpc(
                "runs.start",
                recipe=self._recipe,
                working_directory=str(repository.path),
                params={"number": number},
            )
            self._runs.append(run["run_id"])
        await holding(self._model, GATE, TURNS)

    async def finish(self, podium: PodiumDaemon) -> None:
        """Let the agents go on: every turn ends well, its work is there, and there once."""
        self._model.release(GATE)
        for run_id, repository in zip(self._runs, self._repositories, strict=True):
            run = await podium.ended(run_id)
            assert run["exit"]["reason"] == "turn-complete", run
            assert (run["turns"], run["step_count"]) == (1, 1), run
            assert (repository.path / "made").read_text() == "ran\n"
            prompts = self.machine.prompts(run["session_id"], repository.path)
            assert len(prompts) == 1, prompts


class Clients:
    """Clients that connect, ask and leave, without a pause. What they met is counted."""

    def __init__(self, socket: Path) -> None:
        self.met: Counter[str] = Counter()
        self._socket = socket

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            await trio.lowlevel.checkpoint()
            try:
                async with connected(self._socket) as connection:
                    await connection.call("daemon.ping", {})
            except (trio.BrokenResourceError, BrokenPipeError, ConnectionResetError):
                self.met["lost"] += 1  # it had been taken by the daemon that was killed
            except OSError as error:
                self.met[f"refused: {error.strerror}"] += 1
            else:
                self.met["answered"] += 1

    def check(self) -> None:
        """Nobody was refused, and somebody was answered."""
        refused = {what: n for what, n in self.met.items() if what.startswith("refused")}
        assert refused == {}, self.met
        assert self.met["answered"] > 0


async def _first_answer(podium: PodiumDaemon) -> tuple[float, int]:
    """How long a client that comes now waits for the next daemon, and what that took up."""
    began = trio.current_time()
    status = await podium.rpc("daemon.status")
    assert status["runs_active"] == TURNS, status
    return trio.current_time() - began, int(status["taken_up"])


@asynccontextmanager
async def _held(machine: Machine) -> AsyncIterator[HeldDaemon]:
    podium = HeldDaemon(machine, **SETTINGS)
    try:
        async with podium:
            yield podium
    finally:
        podium.let_go()


async def killed(machine: Machine, model: ModelServer, times: int) -> list[float]:
    """kill -9 while the socket is held: seconds from each death to the next first answer."""
    place, clients, waits = Workplace(machine, model), Clients(machine.socket), []
    async with _held(machine) as podium:
        await place.begin(podium)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(podium.supervise)
            for _ in range(CLIENTS):
                nursery.start_soon(clients.run)
            for _ in range(times):
                before = podium.pid
                podium.kill()
                await podium.exited()
                seconds, taken_up = await _first_answer(podium)
                assert taken_up == TURNS and podium.pid != before
                waits.append(seconds)
            nursery.cancel_scope.cancel()
        await place.finish(podium)
    clients.check()
    return waits


async def stopped(machine: Machine, model: ModelServer, times: int) -> list[float]:
    """SIGTERM: seconds until the daemon is gone. Its turns go on."""
    place, waits = Workplace(machine, model), []
    async with PodiumDaemon(machine, **SETTINGS) as podium:
        await place.begin(podium)
        agents = set(podium.agents())
        assert len(agents) == TURNS, podium.living()
        for _ in range(times):
            began = trio.current_time()
            assert await podium.stop(signal.SIGTERM) == 0
            waits.append(trio.current_time() - began)
            assert not machine.socket.exists()
            assert set(podium.agents()) == agents
            await podium.start()
            assert (await _first_answer(podium))[1] == TURNS
        await place.finish(podium)
    return waits


async def taken_down(machine: Machine, model: ModelServer, times: int) -> list[float]:
    """``podium down`` with a turn at work: seconds it took. Nothing of it is left."""
    waits = []
    repository = machine.repository()
    for number in range(times):
        gate = f"down-{number}"
        model.load({"rules": [when(f"Wait {number}[.]", held(bash("true", "Well. " * 40), gate))]})
        async with PodiumDaemon(machine) as podium:
            await podium.rpc(
                "sessions.prompt",
                text=f"Wait {number}.",
                working_directory=str(repository.path),
            )
            await holding(model, gate)
            began = trio.current_time()
            said = await podium.cli("down")
            waits.append(trio.current_time() - began)
            assert said.code == 0, said
            assert await podium.wait() == 0
            assert podium.living() == []
            assert not machine.socket.exists()
            assert str(machine.root) not in Path("/proc/net/unix").read_text()
    return waits
