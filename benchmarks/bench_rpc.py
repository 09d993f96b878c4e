"""RPC over a Unix socket: this daemon's edge against vscode-jsonrpc on Node.

    make bench-rpc     python benchmarks/bench_rpc.py [--rounds N] [--json]

Both serve the same request, ``runs.list`` with two parameters and one run as its answer; ours
checks the envelope, every parameter and the caller's user id. A C program is the client, so that
the client is not the limit: once with one request at a time, once with 32 in flight. Needs ``cc``
and ``npm`` (the peer is installed once, into ``.cache``).
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import (
    CACHE,
    ROOT,
    CannotMeasure,
    Figure,
    Result,
    arguments,
    interleaved,
    median_ratio,
    run,
)

HERE = ROOT / "benchmarks"
PEER = "vscode-jsonrpc@10.0.0"
BODY = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 10_000_000,
        "method": "runs.list",
        "params": {"active": True, "limit": 10},
    }
)
REQUESTS = {1: 20_000, 32: 60_000}
LATENCY_GOAL, LATENCY_AIM, THROUGHPUT_GOAL = 1.2, 0.8, 3.0

Figures = dict[str, float]


def build_client() -> Path:
    """Compile the load client when its source is newer."""
    source, program = HERE / "rpc_load.c", CACHE / "rpc_load"
    CACHE.mkdir(parents=True, exist_ok=True)
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["cc", "-O2", "-Wall", "-o", program, source], check=True)
    return program


def install_peer() -> Path:
    """Install the pinned peer from the package registry; returns its directory."""
    home = CACHE / PEER
    if not (home / "node_modules" / "vscode-jsonrpc").exists():
        home.mkdir(parents=True, exist_ok=True)
        quiet = ["--silent", "--no-audit", "--no-fund"]
        subprocess.run(["npm", "install", *quiet, "--prefix", str(home), PEER], check=True)
    return home


@contextmanager
def served(command: list[str | Path], environment: dict[str, str]) -> Iterator[None]:
    """A server process that has said that it is ready."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=os.environ | environment, text=True
    ) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline().strip() != "ready":
                raise CannotMeasure(f"{command[0]} {command[1]} did not start")
            yield
        finally:
            process.terminate()


def one_round(client: Path, socket: Path, framing: str, depth: int) -> Figures:
    """One round against one server."""
    command = [str(client), str(socket), framing, str(depth), str(REQUESTS[depth]), BODY]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    figures: Figures = json.loads(done.stdout)
    return figures


def all_rounds(rounds: int) -> dict[str, list[Figures]]:
    """What each round gave, by contender and depth."""
    for program in ("cc", "node", "npm"):
        if shutil.which(program) is None:
            raise CannotMeasure(f"{program} is not on PATH: install it")
    client, peer = build_client(), install_peer()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ours: list[str | Path] = [sys.executable, HERE / "rpc_server.py", directory / "podium"]
        theirs: list[str | Path] = ["node", HERE / "rpc_peer.cjs", directory / "peer"]
        stack.enter_context(served(ours, {"PYTHONPATH": str(ROOT / "daemon")}))
        stack.enter_context(served(theirs, {"NODE_PATH": str(peer / "node_modules")}))
        contenders = {
            f"{name}, depth {depth}": functools.partial(
                one_round, client, directory / name, framing, depth
            )
            for depth in REQUESTS
            for name, framing in (("podium", "lines"), ("peer", "headers"))
        }
        return interleaved(contenders, rounds)


def measure(options: argparse.Namespace) -> Result:
    """Measure, and compare with the peer."""
    taken = all_rounds(options.rounds)

    def of(contender: str, key: str) -> list[float]:
        return [figures[key] for figures in taken[contender]]

    latency = median_ratio(of("podium, depth 1", "p50_ns"), of("peer, depth 1", "p50_ns"))
    many = median_ratio(of("podium, depth 32", "per_second"), of("peer, depth 32", "per_second"))
    rows: list[list[str | float]] = []
    for name in taken:
        p50, p99 = (statistics.median(of(name, key)) / 1000 for key in ("p50_ns", "p99_ns"))
        rows.append([name, p50, p99, statistics.median(of(name, "per_second"))])
    return Result(
        figures=[
            Figure("p50 at depth 1", latency, "of the peer's", LATENCY_GOAL, LATENCY_AIM),
            Figure("throughput at depth 32", many, "of the peer's", THROUGHPUT_GOAL, at_least=True),
        ],
        header=[f"{options.rounds} rounds, peer {PEER}", "p50 us", "p99 us", "requests/s"],
        rows=rows,
        details={"peer": PEER, "rounds": taken},
    )


if __name__ == "__main__":
    sys.exit(run("rpc", arguments(__doc__, 7).parse_args(), measure))
