"""How long one durable fact takes, against a bare append and sync on the same disk.

    make bench-durable_fact
    python benchmarks/bench_durable_fact.py [--rounds N] [--facts N] [--directory DIR] [--json]

Both are measured in one run, in interleaved rounds: the store's ``append`` as the daemon calls it
(trio, the writer's thread, SQLite, checksum, the run's row), and a plain loop that appends a record
of the same size to a file and syncs it (``fdatasync``; ``F_FULLFSYNC`` on macOS). The figure is
the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import trio

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Figure, Result, arguments, median_ratio, percentile, run
from podiumd.store.facts import Store, open_store
from podiumd.store.records import NewFact, RunRow

GOAL, AIM = 6.0, 3.0
WARM_UP_FACTS = 50
PAYLOAD = json.dumps({"step": "review", "text": "x" * 200}).encode()
AT = "2026-01-02T03:04:05.678Z"
RUN = RunRow("run", "recipe", "running", "session", "/project", AT, None, PAYLOAD)
FACT = NewFact("step.entered", 1, AT, "session", PAYLOAD)
BARE, DURABLE = "append and sync", "durable fact"

Rounds = dict[str, list[list[float]]]


def _sync() -> Callable[[int], object]:
    """What makes a file's content durable on this system."""
    if sys.platform == "darwin":
        return lambda descriptor: fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    return os.fdatasync


def bare_round(path: Path, count: int) -> list[float]:
    """Microseconds of each append and sync."""
    sync = _sync()
    record = PAYLOAD + b"\n"
    taken = []
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for _ in range(count):
            begun = time.perf_counter()
            os.write(descriptor, record)
            sync(descriptor)
            taken.append((time.perf_counter() - begun) * 1e6)
    finally:
        os.close(descriptor)
    return taken


async def store_round(store: Store, count: int) -> list[float]:
    """Microseconds of each durable fact."""
    taken = []
    for _ in range(count):
        begun = time.perf_counter()
        await store.append(RUN, [FACT])
        taken.append((time.perf_counter() - begun) * 1e6)
    return taken


async def all_rounds(directory: Path, rounds: int, facts: int) -> Rounds:
    """Take the rounds of both in turn, warmed up."""
    taken: Rounds = {BARE: [], DURABLE: []}
    bare = directory / "bare.log"
    async with open_store(directory) as store:
        bare_round(bare, WARM_UP_FACTS)
        await store_round(store, WARM_UP_FACTS)
        for _ in range(rounds):
            taken[BARE].append(bare_round(bare, facts))
            taken[DURABLE].append(await store_round(store, facts))
    return taken


def _by_round(taken: Rounds, percent: int) -> Mapping[str, list[float]]:
    return {name: [percentile(one, percent) for one in rounds] for name, rounds in taken.items()}


def measure(options: argparse.Namespace) -> Result:
    """Measure, and compare the medians."""
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        taken = trio.run(all_rounds, Path(directory), options.rounds, options.facts)
    p50, p99 = _by_round(taken, 50), _by_round(taken, 99)
    ratio = median_ratio(p50[DURABLE], p50[BARE])
    return Result(
        figures=[Figure("durable fact, p50", ratio, "times a bare append and sync", GOAL, AIM)],
        header=[f"{options.rounds} rounds of {options.facts}", "p50 us", "p99 us"],
        rows=[[n, statistics.median(p50[n]), statistics.median(p99[n])] for n in taken],
        details={"p50_us": p50, "p99_us": p99},
    )


if __name__ == "__main__":
    parser = arguments(__doc__, 7)
    parser.add_argument("--facts", type=int, default=300, help="facts a round (300)")
    parser.add_argument("--directory", type=Path, help="a directory on the disk to measure")
    sys.exit(run("durable_fact", parser.parse_args(), measure))
