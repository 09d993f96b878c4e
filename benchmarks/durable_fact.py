"""How long one durable fact takes, against a bare append and sync on the same disk.

    python benchmarks/durable_fact.py [--rounds N] [--facts N] [--directory DIR] [--json]

Both are measured in one run, in interleaved rounds: the store's ``append`` as the daemon calls it
(trio, the writer's thread, SQLite, checksum, the run's row), and a plain loop that appends a record
of the same size to a file and syncs it (``fdatasync``; ``F_FULLFSYNC`` on macOS). The figure is
the ratio of the medians; exit status 1 when it is over the goal.
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
from collections.abc import Callable
from pathlib import Path

import trio

try:
    from podiumd.store.facts import Store, open_store
except ModuleNotFoundError:  # run from a checkout that is not installed
    sys.path.insert(0, str(Path(__file__).parent.parent / "daemon"))
    from podiumd.store.facts import Store, open_store

from podiumd.store.records import NewFact, RunRow

GOAL = 6.0
WARM_UP_FACTS = 50
PAYLOAD = json.dumps({"step": "review", "text": "x" * 200}).encode()
AT = "2026-01-02T03:04:05.678Z"
RUN = RunRow("run", "recipe", "running", "session", "/project", AT, None, PAYLOAD)
FACT = NewFact("step.entered", 1, AT, "session", PAYLOAD)


def _sync() -> Callable[[int], object]:
    """What makes a file's content durable on this system."""
    if sys.platform == "darwin":
        return lambda descriptor: fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    return os.fdatasync


def bare_round(path: Path, count: int) -> list[float]:
    """Seconds of each append and sync."""
    sync = _sync()
    record = PAYLOAD + b"\n"
    taken = []
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for _ in range(count):
            begun = time.perf_counter()
            os.write(descriptor, record)
            sync(descriptor)
            taken.append(time.perf_counter() - begun)
    finally:
        os.close(descriptor)
    return taken


async def store_round(store: Store, count: int) -> list[float]:
    """Seconds of each durable fact."""
    taken = []
    for _ in range(count):
        begun = time.perf_counter()
        await store.append(RUN, [FACT])
        taken.append(time.perf_counter() - begun)
    return taken


async def measure(directory: Path, rounds: int, facts: int) -> dict[str, list[list[float]]]:
    """Interleaved rounds of both; the first of each is not counted."""
    taken: dict[str, list[list[float]]] = {"append and sync": [], "durable fact": []}
    bare = directory / "bare.log"
    async with open_store(directory) as store:
        bare_round(bare, WARM_UP_FACTS)
        await store_round(store, WARM_UP_FACTS)
        for _ in range(rounds):
            taken["append and sync"].append(bare_round(bare, facts))
            taken["durable fact"].append(await store_round(store, facts))
    return taken


def _microseconds(values: list[float], quantile: int) -> float:
    return statistics.quantiles(values, n=100)[quantile - 1] * 1e6


def summary(taken: dict[str, list[list[float]]]) -> dict[str, object]:
    """Medians over the rounds, and the ratio of the two."""
    p50 = {name: [_microseconds(one, 50) for one in rounds] for name, rounds in taken.items()}
    p99 = {name: [_microseconds(one, 99) for one in rounds] for name, rounds in taken.items()}
    ratios = [
        fact / bare for fact, bare in zip(p50["durable fact"], p50["append and sync"], strict=True)
    ]
    return {
        "benchmark": "durable_fact",
        "p50_us": {name: round(statistics.median(values), 1) for name, values in p50.items()},
        "p99_us": {name: round(statistics.median(values), 1) for name, values in p99.items()},
        "ratio": round(statistics.median(ratios), 2),
        "ratio_range": [round(min(ratios), 2), round(max(ratios), 2)],
        "goal": GOAL,
    }


def main() -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each (default 7)")
    parser.add_argument("--facts", type=int, default=300, help="facts a round (default 300)")
    parser.add_argument("--directory", type=Path, help="a directory on the disk to measure")
    parser.add_argument("--json", action="store_true", help="add one line of JSON")
    options = parser.parse_args()
    if options.rounds < 1 or options.facts < 2:
        parser.error("--rounds must be at least 1 and --facts at least 2")
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        taken = trio.run(measure, Path(directory), options.rounds, options.facts)
    result = summary(taken)
    p50, p99, ratio = result["p50_us"], result["p99_us"], result["ratio"]
    assert isinstance(p50, dict)
    assert isinstance(p99, dict)
    assert isinstance(ratio, float)
    print(f"{'median of ' + str(options.rounds) + ' rounds':<24}{'p50 us':>10}{'p99 us':>10}")
    for name in taken:
        print(f"{name:<24}{p50[name]:>10}{p99[name]:>10}")
    print(f"{'ratio of p50':<24}{ratio:>10}   (goal: at most {GOAL})")
    if options.json:
        print(json.dumps(result))
    return 0 if ratio <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
