"""``make restarts``: 50 kills under a held socket, 50 SIGTERM, 50 ``podium down``, agents at work.

Each round asserts what ``restarts`` promises, and the waits are printed: times belong to a machine
on which nothing else runs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import trio

from tests.e2e.install_claude import install
from tests.e2e.machine import Machine
from tests.fakes.model_server import ModelServer
from tests.service import restarts

Round = Callable[[Machine, ModelServer, int], Awaitable[list[float]]]
CAMPAIGN: dict[str, Round] = {
    "kill -9, to the first answer": restarts.killed,
    "SIGTERM, until it is gone": restarts.stopped,
    "podium down, until it is done": restarts.taken_down,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50, help="rounds of each kind")
    times = parser.parse_args().times
    claude = install()
    for name, play in CAMPAIGN.items():
        with tempfile.TemporaryDirectory(prefix="restarts-") as root, ModelServer() as model:
            machine = Machine(Path(root), Path(root) / "home", claude, model)
            machine.set_up()
            machine.configure()
            waits = trio.run(play, machine, model, times)
        print(
            f"{name:<32} {len(waits):>3} rounds  median {statistics.median(waits):5.2f} s"
            f"  worst {max(waits):5.2f} s",
            flush=True,
        )
    print("0 turns lost, 0 doubled, 0 connections refused, nothing left.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
