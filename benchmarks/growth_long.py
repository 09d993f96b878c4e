"""What one long run and one long conversation cost, by their steps and messages.

A real daemon with the scripted agent walks them. CPU is the daemon's own: what git
takes is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.growth import Growth
from benchmarks.growth_state import make_repository
from benchmarks.measure import CACHE
from tests.real_daemon import RealDaemon, real_daemon

STEPS = (100, 1000, 2000)
MESSAGES = (200, 2000)
AROUND = 50
"""A step's cost is taken over so many before it."""
CALLS = 100
_TICK = os.sysconf("SC_CLK_TCK")

ROUNDS = """
format = 1
id = "rounds"
label = "Rounds"
description = "Two steps that hand over to each other"
initial = "ping"

[limits]
max_step_visits = 100000
max_total_steps = 100000

[steps.ping]
prompt = "Ping."

[steps.ping.on]
again = { to = "pong" }

[steps.pong]
prompt = "Pong."

[steps.pong.on]
again = { to = "ping" }
enough = { exit = "enough", class = "completed" }
"""

AGAIN = """
[[turns]]
text = "Done."
times = 0
outcome = { outcome = "again" }
"""

TALK = """
format = 1
id = "chat"
label = "A chat"
description = "A conversation without an end"
initial = "chat"

[steps.chat]
talk = true
opening = "Say hello."

[steps.chat.on]
over = { exit = "turn-complete" }
"""

ANSWERS = """
[[turns]]
text = "I see."
times = 0
"""


@contextmanager
def scripted_daemon(recipe: str, text: str, script: str) -> Iterator[tuple[RealDaemon, str]]:
    """A daemon with this recipe and script, and a directory to work in."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="podium-growth-", dir=CACHE) as directory:
        home, project = Path(directory, "home"), Path(directory, "project")
        (home / "recipes").mkdir(parents=True)
        make_repository(project)
        (home / "recipes" / f"{recipe}.toml").write_text(text)
        (home / "script.toml").write_text(script)
        config = f'agents.scripted.script = "{home / "script.toml"}"\n'
        with real_daemon(home, config=config) as daemon:
            yield daemon, str(project)


def cpu_ms(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / _TICK


def _written(pid: int) -> int:
    """What it, and what it has started, have given the system to write, in bytes."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar"))


def _memory(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def _row_kb(home: Path) -> float:
    with closing(sqlite3.connect(home / "state" / "facts.db")) as connection:
        (size,) = connection.execute("SELECT max(length(summary)) FROM runs").fetchone()
    return int(size) / 1024


def _steps(daemon: RealDaemon, directory: str) -> Iterator[int]:
    """Count the steps of a run as they end."""
    run = daemon.result(
        "runs.start", recipe="rounds", agent="scripted", working_directory=directory
    )
    events: list[dict[str, Any]] = daemon.result("runs.events", run_id=run["run_id"], follow=True)[
        "events"
    ]
    count = 0
    for event in events:
        count += event["type"] == "edge.taken"
    for line in daemon.answers:
        event = json.loads(line).get("params", {})
        if event.get("type") == "edge.taken":
            count += 1
            yield count


def measure_run(_options: argparse.Namespace) -> list[Growth]:
    """CPU and bytes of a step, and the row of the run, at each size."""
    cpu: dict[str, float] = {}
    row: dict[str, float] = {}
    total: dict[str, float] = {}
    began = 0.0
    with scripted_daemon("rounds", ROUNDS, AGAIN) as (daemon, directory):
        pid = daemon.process.pid
        before = _written(pid)
        for step in _steps(daemon, directory):
            if step + AROUND in STEPS:
                began = cpu_ms(pid)
            if step in STEPS:
                cpu[str(step)] = (cpu_ms(pid) - began) / AROUND
                row[str(step)] = _row_kb(daemon.home)
                total[str(step)] = (_written(pid) - before) / 1e6
            if step == STEPS[-1]:
                break
    return [
        Growth("a step", "CPU ms", cpu, 1.2),
        Growth("the row of a live run", "KB", row, most=2.0),
        Growth("written for all steps", "MB", total, most=200.0),
    ]


def measure_talk(_options: argparse.Namespace) -> list[Growth]:
    """CPU and memory of a prompt that is sent again and waited for, at each size."""
    found: dict[str, dict[str, float]] = {}
    with scripted_daemon("chat", TALK, ANSWERS) as (daemon, directory):
        run = daemon.result(
            "runs.start", recipe="chat", agent="scripted", working_directory=directory
        )

        def said(number: int) -> Any:
            return daemon.result(
                "sessions.prompt",
                text=f"Message {number}",
                session_id=run["session_id"],
                client_token=f"token-{number}",
                wait=True,
            )

        for number in range(MESSAGES[-1]):
            turn = said(number)
            assert (turn["run_id"], turn["text"]) == (run["run_id"], "I see."), turn
            if number + 1 in MESSAGES:
                for name, again in (("last", number), ("first", 0)):
                    cpu, memory = _again(daemon.process.pid, lambda again=again: said(again))
                    found.setdefault(f"the {name} message again", {})[str(number + 1)] = cpu
                    found.setdefault(f"memory of the {name}", {})[str(number + 1)] = memory
    return [
        Growth(name, "CPU ms", at, most=5.0)
        if name.endswith("again")
        else Growth(name, "MB", at, most=2.0)
        for name, at in found.items()
    ]


def _again(pid: int, call: Any) -> tuple[float, float]:
    """The daemon's CPU for a call, and by how much its memory rose above what it held."""
    call()
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # the highest is what it holds now
    held = _memory(pid, "VmRSS")
    began = cpu_ms(pid)
    for _ in range(CALLS):
        call()
    return (cpu_ms(pid) - began) / CALLS, _memory(pid, "VmHWM") - held
