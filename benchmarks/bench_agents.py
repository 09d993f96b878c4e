"""Turns of Codex under Podium against the same in a shell, and what a turn that waits costs.

    make bench-agents     python benchmarks/bench_agents.py [--rounds N] [--json]

Five turns of one conversation: ``codex exec`` and four ``codex exec resume``, a recipe of Podium's
in one session, and five bare app-servers, in turn, with the native binary and with npm's launcher.
The model is scripted and answers at once, so all that is left is what a turn costs beside it. Then
fifty turns of the kit's fake agent wait for a person at once, with each protocol (Linux).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import trio

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import held_turns
from benchmarks.codex_turns import TURNS, Turns, launcher
from benchmarks.measure import CannotMeasure, Figure, Result, arguments, median_ratio, run
from benchmarks.private_daemon import ALWAYS_AGAIN
from tests.codex.machine import CodexMachine
from tests.e2e import install_codex
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.install_claude import InstallError
from tests.fakes.model_server import ModelServer
from tests.faults.agent_plan import LANGUAGES

GOAL, AIM, HELD_MIB = 1.15, 1.0, 3.0
WARM_UP_ROUNDS: Final = 1
WAYS: Final = ("shell", "podium", "bare")
Taken = dict[str, list[float]]


def native() -> Path:
    """Return the pinned binary. Raises ``CannotMeasure``."""
    given = os.environ.get(install_codex.VARIABLE)
    try:
        return Path(given).resolve() if given else install_codex.install()
    except InstallError as error:
        raise CannotMeasure(f"codex could not be installed: {error}") from error


@asynccontextmanager
async def turns_with(program: Path) -> AsyncIterator[Turns]:
    """Prepare a home, a project and a daemon for one program."""
    with (
        tempfile.TemporaryDirectory(prefix="podium-bench-") as directory,
        ModelServer(ALWAYS_AGAIN) as model,
    ):
        root = Path(directory)
        machine = CodexMachine(root, root / "home", program, model)
        machine.set_up()
        machine.configure()
        async with PodiumDaemon(machine) as daemon:
            yield Turns(daemon, machine, machine.repository())


async def compared(rounds: int, programs: dict[str, Path]) -> dict[str, Taken]:
    """Take the seconds of five turns in each way, in turn."""
    taken = {name: {way: list[float]() for way in WAYS} for name in programs}
    async with (
        turns_with(programs["native"]) as with_native,
        turns_with(programs["npm"]) as with_npm,
    ):
        for number in range(WARM_UP_ROUNDS + rounds):
            for name, turns in (("native", with_native), ("npm", with_npm)):
                for way in WAYS:
                    began = time.monotonic()
                    await getattr(turns, way)()
                    if number >= WARM_UP_ROUNDS:
                        taken[name][way].append(time.monotonic() - began)
    return taken


async def held() -> dict[str, float]:
    """Measure what the daemon has for each turn that waits, in MiB."""
    return {language: await held_turns.mebibytes_each(language) for language in LANGUAGES}


def measure(options: argparse.Namespace) -> Result:
    """Measure, and compare."""
    binary = native()
    programs = {"native": binary, "npm": launcher(binary)}
    taken = trio.run(compared, options.rounds, programs)
    each = trio.run(held)
    figures = [
        Figure(
            f"{TURNS} turns against 'codex exec', {name}",
            median_ratio(times["podium"], times["shell"]),
            "times",
            GOAL,
            AIM,
        )
        for name, times in taken.items()
    ]
    figures += [
        Figure(f"memory for a turn that waits, {language}", size, "MiB", HELD_MIB)
        for language, size in each.items()
    ]
    rows: list[list[str | float]] = [
        [name, *(statistics.median(times[way]) for way in WAYS)] for name, times in taken.items()
    ]
    return Result(
        figures=figures,
        header=[f"{TURNS} turns", *(f"{way} s" for way in WAYS)],
        rows=rows,
        details={"seconds": taken, "held_mib": each},
    )


if __name__ == "__main__":
    sys.exit(run("agents", arguments(__doc__, 5).parse_args(), measure))
