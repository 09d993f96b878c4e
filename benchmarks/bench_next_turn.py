"""From the end of one step to the beginning of the next: how long the daemon takes in between.

    make bench-next_turn     python benchmarks/bench_next_turn.py [--rounds N] [--json]   (Linux)

A private daemon plays a recipe of two steps that hand over to each other, with the real agent and
a scripted model. Measured from the line in the agent's spool that says it is idle to the moment
when the next agent is spawned (its exec), with the first line waiting in its FIFO. What happens
is seen from outside, by a process that watches files (``turn_watch``); the daemon is as ever.

The parts, in their order: ``notice`` the idle line and write the end of session; ``exit`` of the
agent, its own work and then the kernel's, which gives back its memory; ``sweep`` for what it left,
until its end is stored; ``decide`` the next step and store that; ``prepare`` the next turn until
its prompt waits; ``spawn`` until the exec.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import trio

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import ROOT, CannotMeasure, Figure, Result, arguments, percentile, run
from benchmarks.ping_pong import ping_pong
from benchmarks.private_daemon import ALWAYS_AGAIN, private_daemon
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo

GOAL_MS = 50.0
TRANSITIONS = 20
"""How often one round, which is one run, goes from a step to the next."""

RUN_SECONDS = 120.0
PARTS = ("notice", "exit", "sweep", "decide", "prepare", "spawn")
OWN, WHOLE = "all but the exit", "whole"


class Seen(NamedTuple):
    """One event of ``turn_watch``."""

    at: float
    what: str
    turn: str


@contextmanager
def watching(daemon: PodiumDaemon) -> Iterator[list[Seen]]:
    """Watch the daemon's files; the list is filled at the end."""
    state = daemon.machine.podium_home / "state"
    script = ROOT / "benchmarks" / "turn_watch.py"
    program: list[str | Path] = [sys.executable, "-S", script, state, daemon.machine.claude]
    seen: list[Seen] = []
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as watch:
        assert watch.stdout is not None
        if watch.stdout.readline() != b"ready\n":
            raise CannotMeasure("the files of the daemon cannot be watched (inotify is needed)")
        try:
            yield seen
        finally:
            told, _ = watch.communicate()
            seen += [Seen(*event) for event in json.loads(told)]


async def one_run(daemon: PodiumDaemon, where: GitRepo, recipe: str) -> list[dict[str, float]]:
    """Play the recipe once; returns the parts of each transition in milliseconds."""
    with watching(daemon) as seen:
        with trio.move_on_after(RUN_SECONDS):
            asked = {"recipe": recipe, "working_directory": str(where.path)}
            started = await daemon.rpc("runs.start", **asked)
            async with daemon.follow(started["run_id"]) as feed:
                while (event := await feed.next())["type"] != "run.ended":
                    pass
    turns = [event.turn for event in seen if event.what == "made"]
    if len(turns) != TRANSITIONS + 1 or event["type"] != "run.ended":
        raise CannotMeasure(f"{len(turns)} turns were seen where {TRANSITIONS + 1} were due")
    return [parts(seen, *pair) for pair in itertools.pairwise(turns)]


def parts(seen: list[Seen], old: str, new: str) -> dict[str, float]:
    """Take one transition apart."""

    def times(what: str, turn: str = "") -> list[float]:
        return [event.at for event in seen if (event.what, event.turn) == (what, turn)]

    (made,) = times("made", new)
    idle = [at for at in times("idle", old) if at <= made][-1]
    exited = [at for at in times("closed", old) if at <= made][-1]
    told = next(at for at in times("line", old) if at >= idle)
    stored = next(at for at in times("stored") if at >= exited)
    spawned = next(at for at in times("program") if at >= made)
    # On a busy machine the watch on a new directory can come too late to see the first line.
    line = min([spawned, *times("line", new)])
    taken = [
        (later - earlier) * 1000
        for earlier, later in itertools.pairwise((idle, told, exited, stored, made, line, spawned))
    ]
    found = dict(zip(PARTS, taken, strict=True))
    whole = sum(taken)
    return {**found, OWN: whole - found["exit"], WHOLE: whole}


async def all_runs(rounds: int) -> list[dict[str, float]]:
    """Play all rounds in one daemon."""
    found = []
    async with private_daemon(ALWAYS_AGAIN) as daemon:
        recipe = daemon.machine.recipe("ping-pong", ping_pong(TRANSITIONS + 1))
        where = daemon.machine.repository()
        for _ in range(rounds):
            found += await one_run(daemon, where, recipe)
    return found


def measure(options: argparse.Namespace) -> Result:
    """Measure, and sum up by part."""
    if sys.platform != "linux":
        raise CannotMeasure("this needs inotify, which is Linux's")
    found = trio.run(all_runs, options.rounds)
    taken = {name: [one[name] for one in found] for name in (*PARTS, OWN, WHOLE)}
    whole = taken[WHOLE]
    rows: list[list[str | float]] = []
    for name, times in taken.items():
        share = f"{sum(times) / sum(whole):.0%}"
        rows.append([name, percentile(times, 50), percentile(times, 95), max(times), share])
    return Result(
        figures=[Figure("idle to next turn, p95", percentile(whole, 95), "ms", GOAL_MS)],
        header=[f"{len(found)} transitions", "p50 ms", "p95 ms", "max ms", "share"],
        rows=rows,
        details={"transitions_ms": found},
    )


if __name__ == "__main__":
    options = arguments(__doc__, 3, f"runs of {TRANSITIONS} transitions each").parse_args()
    sys.exit(run("next_turn", options, measure))
