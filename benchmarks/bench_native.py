"""What the native agent's loop costs beside the model and the commands, and what a patch costs.

    make bench-native     python benchmarks/bench_native.py [--rounds N] [--json]

A private daemon plays turns with a scripted model, one action a reply: readings of a file, patches
of it, commands. A bare script makes the same calls and nothing else: it reads and numbers the file,
writes it anew beside itself, flushed and renamed, runs ``sh -c`` with a look at the tree (``git
status``) before and after. What the daemon takes beyond that is divided by the number of actions.
In it is all that the loop does: the request is put together, the reply is taken apart, everything
is stored before and after it is done (two or three durable facts an action), the session's file is
written, what a command has left is looked for. The goal is for the mean of all kinds.

For the patch, a file of 100,000 lines is patched in ten places and written; beside it stands
reading the same file and writing it, which lasts as well.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import trio

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import (
    CannotMeasure,
    Figure,
    Result,
    arguments,
    interleaved,
    median_ratio,
    percentile,
    run,
)
from podiumd.tools.agent.edit import do_plan, plan_patch
from podiumd.tools.agent.workspace import Workspace
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import Machine
from tests.e2e.native_rig import NO_CLAUDE, act, configure
from tests.fakes.model_server import ModelServer

GOAL_MS, GOAL_RATIO = 10.0, 3.0
ACTIONS = 40
"""Actions of one turn; a turn does one kind of them."""

LINES, PATCHED_LINES = 200, 100_000
KINDS = ("read", "patch", "command")
LOOK = ["git", "status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all"]


def action(kind: str, number: int) -> dict[str, Any]:
    """The ``number``-th action of a turn."""
    if kind == "read":
        return {"action": "read_file", "path": "file.txt"}
    if kind == "command":
        return {"action": "run_command", "command": ":"}
    line = {"line": 7, "type": "replace", "content": [f"patch {number}"]}
    return {"action": "patch", "file": "file.txt", "operations": [line]}


def bare(kind: str, where: Path) -> float:
    """The same calls and nothing else; returns the seconds that they took."""
    path = where / "file.txt"
    began = time.perf_counter()
    for number in range(ACTIONS):
        if kind == "command":
            for line in (LOOK, ["/bin/sh", "-c", ":"], LOOK):
                subprocess.run(line, cwd=where, check=True, capture_output=True)
            continue
        data = path.read_bytes()
        hashlib.sha256(data).hexdigest()
        lines = data.split(b"\n")
        if kind == "read":
            "\n".join(f"{at}\t{line.decode()}" for at, line in enumerate(lines, 1))
            continue
        lines[6] = f"patch {number}".encode()
        write(path, b"\n".join(lines))
    return time.perf_counter() - began


def write(path: Path, data: bytes) -> None:
    """Write a file anew so that it lasts: beside itself, flushed, renamed, the name flushed."""
    draft = path.with_suffix(".draft")
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


async def turn(daemon: PodiumDaemon, where: Path, kind: str) -> float:
    """Play one turn; returns the seconds from its first request to its end."""
    replies = [{"text": act(action(kind, number))} for number in range(ACTIONS)]
    script = daemon.machine.root / "replies.json"
    script.write_text(json.dumps({"replies": [*replies, {"text": "Done."}]}))
    sent = await daemon.rpc(
        "sessions.prompt", text="Go.", agent="native", working_directory=str(where)
    )
    async with daemon.follow(sent["run_id"]) as feed:
        ended = await feed.end()
        at = {event["type"]: event["at"] for event in feed.seen if "seq" in event}
    if ended["exit"]["reason"] != "turn-complete":
        raise CannotMeasure(f"a turn ended {ended['exit']}")
    times = [datetime.fromisoformat(at[name]) for name in ("loop.started", "loop.ended")]
    return (times[1] - times[0]).total_seconds()


async def all_turns(rounds: int) -> dict[str, dict[str, list[float]]]:
    """Play all rounds in one daemon, the bare script between them."""
    taken: dict[str, dict[str, list[float]]] = {kind: {"ours": [], "bare": []} for kind in KINDS}
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as root, ModelServer() as model:
        machine = Machine(Path(root), Path(root) / "home", NO_CLAUDE, model)
        machine.set_up()
        machine.configure()
        settings = {"mode": "allow-all", "commit": False, "max_iterations": 2 * ACTIONS}
        script = str(machine.root / "replies.json")
        configure(machine, "scripted", model=script, **settings)
        where = machine.repository().path
        (where / "file.txt").write_text("a line of the file\n" * LINES)
        async with PodiumDaemon(machine) as daemon:
            for number in range(1 + rounds):
                for kind in KINDS:
                    ours = await turn(daemon, where, kind)
                    alone = await trio.to_thread.run_sync(bare, kind, where)
                    if number:  # the first round warms up
                        taken[kind]["ours"].append(ours)
                        taken[kind]["bare"].append(alone)
    return taken


def patching(rounds: int) -> dict[str, list[float]]:
    """Seconds for the patch of a large file, and for reading and writing it."""
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as root:
        path = Path(root) / "large.txt"
        path.write_text("".join(f"line {at} of a large file\n" for at in range(PATCHED_LINES)))
        workspace = Workspace(root)
        lines = range(5_000, PATCHED_LINES, PATCHED_LINES // 10)
        operations = [{"line": at, "type": "insert", "content": ["new"]} for at in lines]

        def patch() -> None:
            do_plan(workspace, plan_patch(workspace, "large.txt", operations))

        def read_and_write() -> None:
            write(path, path.read_bytes())

        return interleaved({"ours": timed(patch), "bare": timed(read_and_write)}, 5 * rounds)


def timed(act: Callable[[], None]) -> Callable[[], float]:
    """The same, telling how many seconds it took."""

    def once() -> float:
        began = time.perf_counter()
        act()
        return time.perf_counter() - began

    return once


def measure(options: argparse.Namespace) -> Result:
    """Measure, and sum up by kind of action."""
    taken = trio.run(all_turns, options.rounds)
    patch = patching(options.rounds)
    middle: list[float] = []
    rows: list[list[str | float]] = []
    for kind, times in taken.items():
        pairs = zip(times["ours"], times["bare"], strict=True)
        over = [(ours - alone) / ACTIONS * 1000 for ours, alone in pairs]
        both = (percentile([one / ACTIONS * 1000 for one in times[who]], 50) for who in times)
        rows.append([f"{kind}, an action", *both, percentile(over, 50)])
        middle.append(percentile(over, 50))
    both = (percentile([one * 1000 for one in patch[who]], 50) for who in ("ours", "bare"))
    ratio = median_ratio(patch["ours"], patch["bare"])
    rows.append([f"patch of {PATCHED_LINES} lines", *both, ratio])
    return Result(
        figures=[
            Figure("loop, overhead an action", sum(middle) / len(middle), "ms", GOAL_MS),
            Figure("patch, against reading and writing", ratio, "times", GOAL_RATIO),
        ],
        header=["", "ours ms", "bare ms", "more"],
        rows=rows,
        details={"seconds": taken, "patch_seconds": patch},
    )


if __name__ == "__main__":
    options = arguments(__doc__, 5).parse_args()
    sys.exit(run("native", options, measure))
