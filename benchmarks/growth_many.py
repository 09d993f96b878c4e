"""What many runs at once cost, and what the search for a turn's processes costs beside many.

Fifty runs of ten turns of 50 ms with the scripted agent, each in a repository of its own, while a
client asks for pings. ``--against`` measures another checkout too, round by round with this one,
with the same Python and the same libraries: the ratios are of what was measured together. CPU is
the daemon's own and, beside it, that of the programs it has started.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.growth import Growth
from benchmarks.growth_state import make_repository
from benchmarks.measure import CACHE, ROOT, CannotMeasure, interleaved, percentile
from benchmarks.ping_pong import ping_pong
from tests.real_daemon import RealDaemon, real_daemon

RUNS = 50
STEPS = 10
PING_SECONDS = 0.01
RUNS_SECONDS = 300.0
AGENTS, CHILDREN = 50, 20
TIME_GOAL, PING_GOAL = 0.5, 0.33
"""The goals against another checkout: of its time for a step, and of its ping p95."""

_TICK = os.sysconf("SC_CLK_TCK")

HEAD = """
format = 1
id = "many"
label = "Many"
description = "Two steps that hand over to each other, ten times"
"""

SCRIPT = """
[[turns]]
text = "Done."
times = 0
delay_ms = 50
outcome = { outcome = "again" }
"""


class Round(NamedTuple):
    """One round of one checkout, in milliseconds; ``step`` is the time that passes for a step."""

    step: float
    cpu: float
    children: float
    ping_p50: float
    ping_p95: float


def _cpu_ms(pid: int) -> tuple[float, float]:
    """Its own, and that of the programs it has started and collected."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own, children = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
    return own * 1000 / _TICK, children * 1000 / _TICK


def _one_round(checkout: Path, runs: int = RUNS) -> Round:
    """Start a daemon from the checkout and let it conduct so many runs at once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="podium-many-", dir=CACHE) as directory:
        home = Path(directory, "home")
        (home / "recipes").mkdir(parents=True)
        (home / "recipes" / "many.toml").write_text(HEAD + ping_pong(STEPS))
        (home / "script.toml").write_text(SCRIPT)
        places = [make_repository(Path(directory, f"project-{n}")) for n in range(runs)]
        config = f'agents.scripted.script = "{home / "script.toml"}"\nlimits.max_agents = 64\n'
        source = str(checkout / "daemon")
        with real_daemon(home, config=config, PYTHONPATH=source) as daemon:
            return _conduct(daemon, places)


def _conduct(daemon: RealDaemon, places: list[Path]) -> Round:
    pid = daemon.process.pid
    daemon.result("events.subscribe", types=["run.ended", "edge.taken"])
    own, children = _cpu_ms(pid)
    began = time.monotonic()
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(str(daemon.home / "podium.sock"))
        other.settimeout(RUNS_SECONDS)
        for place in places:
            params = {"recipe": "many", "agent": "scripted", "working_directory": str(place)}
            request = {"jsonrpc": "2.0", "id": 1, "method": "runs.start", "params": params}
            other.sendall(json.dumps(request).encode() + b"\n")
        pings, steps = _pinged(daemon, other, len(places))
    seconds = time.monotonic() - began
    own, children = (now - then for now, then in zip(_cpu_ms(pid), (own, children), strict=True))
    return Round(
        step=seconds * 1000 / steps,
        cpu=own / steps,
        children=children / steps,
        ping_p50=percentile(pings, 50),
        ping_p95=percentile(pings, 95),
    )


def _pinged(daemon: RealDaemon, other: socket.socket, runs: int) -> tuple[list[float], int]:
    """Ping until all runs have ended; returns the milliseconds of each, and the steps taken."""
    pings: list[float] = []
    told: dict[str, int] = {"edge.taken": 0, "run.ended": 0}
    feed = b""
    daemon.rpc.setblocking(False)
    with socket.socket(socket.AF_UNIX) as third, third.makefile("rb") as answers:
        third.connect(str(daemon.home / "podium.sock"))
        third.settimeout(RUNS_SECONDS)
        ping = b'{"jsonrpc": "2.0", "id": 1, "method": "daemon.ping"}\n'
        deadline = time.monotonic() + RUNS_SECONDS
        while told["run.ended"] < runs:
            if time.monotonic() > deadline:
                raise CannotMeasure(f"the runs did not end: {told}")
            began = time.perf_counter()
            third.sendall(ping)
            answers.readline()
            pings.append((time.perf_counter() - began) * 1000)
            ready, _, _ = select.select([daemon.rpc, other], [], [], PING_SECONDS)
            if other in ready:
                other.recv(1 << 20)
            if daemon.rpc in ready:
                feed += daemon.rpc.recv(1 << 20)
                *lines, feed = feed.split(b"\n")
                for line in lines:
                    kind = json.loads(line).get("params", {}).get("type")
                    if kind in told:
                        told[kind] += 1
            time.sleep(PING_SECONDS / 2)
    daemon.rpc.setblocking(True)
    return pings, told["edge.taken"]


@contextmanager
def _agents() -> Iterator[None]:
    """So many agents at work, each with its children: all wait, and end with this process."""
    children = (
        f"for one in $(seq {CHILDREN}); do sleep 1000 & done; echo ready; read line; kill -KILL 0"
    )
    started: list[subprocess.Popen[bytes]] = []
    try:
        for number in range(AGENTS):
            one = subprocess.Popen(
                ["sh", "-c", children],
                env={"PATH": os.environ["PATH"], "PODIUM_TURN": f"bench-{number}"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            started.append(one)
        for one in started:
            assert one.stdout is not None
            one.stdout.readline()
        yield
    finally:
        for one in started:
            one.communicate()


def _sweeps(checkout: Path) -> dict[str, float]:
    """What the search for a turn's processes costs in the code of a checkout."""
    told = subprocess.run(
        [sys.executable, "-P", ROOT / "benchmarks" / "sweep_once.py"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(checkout / "daemon")},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(told.stdout)
    return found


ROUNDS: Mapping[str, tuple[str, float | None]] = {
    "step": ("ms", TIME_GOAL),
    "cpu": ("CPU ms", None),
    "children": ("CPU ms", None),
    "ping_p50": ("ms", None),
    "ping_p95": ("ms", PING_GOAL),
}
NAMES = {
    "step": f"{RUNS} runs: time for a step",
    "cpu": f"{RUNS} runs: the daemon, a step",
    "children": f"{RUNS} runs: its programs, a step",
    "ping_p50": f"{RUNS} runs: ping p50",
    "ping_p95": f"{RUNS} runs: ping p95",
    "carriers": f"beside {AGENTS} x {CHILDREN} processes: one search",
    "sweep": "the same: a turn's end",
    "sweep_of_50": "the same: one of 50 that end at once",
    "held": "the same: 50 at once hold others up, most",
}


def measure(options: argparse.Namespace) -> list[Growth]:
    """Fifty runs at once, then the search for processes beside a thousand; the last figure of each
    is this checkout's, the first that of ``--against`` where one is given."""
    checkouts = {"this": ROOT}
    if options.against is not None:
        checkouts = {options.against.name or "other": options.against.resolve(), **checkouts}
    for where in checkouts.values():
        if not (where / "daemon" / "podiumd").is_dir():
            raise CannotMeasure(f"'{where}' is no checkout of Podium")
    rounds = interleaved(
        {name: partial(_one_round, where) for name, where in checkouts.items()},
        options.rounds,
        warm_up=0,
    )
    with _agents():
        sweeps = interleaved(
            {name: partial(_sweeps, where) for name, where in checkouts.items()},
            options.rounds,
            warm_up=0,
        )
    told = []
    for field, (unit, goal) in ROUNDS.items():
        at = {
            name: statistics.median(getattr(one, field) for one in taken)
            for name, taken in rounds.items()
        }
        told.append(Growth(NAMES[field], unit, at, goal if len(at) > 1 else None))
    for field in ("carriers", "sweep", "sweep_of_50", "held"):
        at = {
            name: statistics.median(one[field] for one in taken) for name, taken in sweeps.items()
        }
        told.append(Growth(NAMES[field], "CPU ms", at))
    return told
