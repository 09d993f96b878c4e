"""RPC over a Unix socket: this daemon's edge against vscode-jsonrpc on Node.

    python benchmarks/rpc.py [--rounds N] [--json]

Both serve the same request, ``runs.list`` with two parameters and one run as its answer; ours
checks the envelope, every parameter and the caller's user id. A C program is the client, so that
the client is not the limit. Rounds are interleaved; medians and their ratios are printed. Needs
``cc`` and ``npm`` (the peer is installed once, into ``.cache``).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / ".cache" / "benchmarks"
PEER = "vscode-jsonrpc@8.2.1"
BODY = json.dumps(
    {"jsonrpc": "2.0", "id": 10_000_000, "method": "runs.list", "params": {"active": True, "limit": 10}}
)
REQUESTS = {1: 20_000, 32: 60_000}
WARM_UP_ROUNDS = 2

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
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", home, PEER]
        subprocess.run(command, check=True)
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
                raise SystemExit(f"{command[0]} did not start")
            yield
        finally:
            process.terminate()


def measure(client: Path, socket: Path, framing: str, depth: int) -> Figures:
    """One round against one server."""
    command = [client, socket, framing, str(depth), str(REQUESTS[depth]), BODY]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    figures: Figures = json.loads(done.stdout)
    return figures


def compare(rounds: int) -> dict[str, dict[str, Figures]]:
    """Medians by contender and depth."""
    client, peer = build_client(), install_peer()
    taken: dict[tuple[str, int], list[Figures]] = {}
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        contenders = {
            "podium": (directory / "podium", "lines"),
            "vscode-jsonrpc": (directory / "peer", "headers"),
        }
        source = str(HERE.parent / "daemon")
        ours: list[str | Path] = [sys.executable, HERE / "rpc_server.py", directory / "podium"]
        theirs: list[str | Path] = ["node", HERE / "rpc_peer.cjs", directory / "peer"]
        stack.enter_context(served(ours, {"PYTHONPATH": source}))
        stack.enter_context(served(theirs, {"NODE_PATH": str(peer / "node_modules")}))
        for number in range(WARM_UP_ROUNDS + rounds):
            for depth in REQUESTS:
                for name, (path, framing) in contenders.items():
                    figures = measure(client, path, framing, depth)
                    if number >= WARM_UP_ROUNDS:
                        taken.setdefault((name, depth), []).append(figures)
    return {
        name: {
            str(depth): {
                key: statistics.median(figures[key] for figures in taken[name, depth])
                for key in taken[name, depth][0]
            }
            for depth in REQUESTS
        }
        for name in contenders
    }


def main() -> None:
    """Run, and print the table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    medians = compare(arguments.rounds)
    ours, theirs = medians["podium"], medians["vscode-jsonrpc"]
    ratios = {
        "latency_p50_depth_1": round(ours["1"]["p50_ns"] / theirs["1"]["p50_ns"], 3),
        "throughput_depth_32": round(ours["32"]["per_second"] / theirs["32"]["per_second"], 3),
    }
    if arguments.json:
        print(json.dumps({"peer": PEER, "rounds": arguments.rounds, "medians": medians} | ratios))
        return
    print(f"{'server':<16}{'depth':>6}{'p50 us':>10}{'p99 us':>10}{'req/s':>12}")
    for name, depths in medians.items():
        for depth, figures in depths.items():
            p50, p99 = figures["p50_ns"] / 1000, figures["p99_ns"] / 1000
            print(f"{name:<16}{depth:>6}{p50:>10.1f}{p99:>10.1f}{figures['per_second']:>12.0f}")
    print(f"p50 at depth 1: {ratios['latency_p50_depth_1']} of the peer (goal: at most 1.2)")
    print(f"throughput at depth 32: {ratios['throughput_depth_32']} of the peer (goal: 3 or more)")


if __name__ == "__main__":
    main()
