"""What callers feel while the daemon makes its index of sessions, and whether that is right."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import CannotMeasure
from benchmarks.session_daemon import Client, session_daemon
from benchmarks.session_tree import Tree

COMPLETE_SECONDS = 60.0

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("daemon.ping", {}),
    ("sessions.list", {"limit": 50}),
    ("runs.list", {"limit": 10}),
)


class Waits(NamedTuple):
    """Calls while the index was built: each one's time in seconds, and what else was seen."""

    calls: list[float]
    complete_seconds: float
    peak_mb: float
    wrong: int


async def while_indexing(tree: Tree) -> Waits:
    """Call a daemon that has just started, until it knows all sessions."""
    began, calls = time.perf_counter(), []
    async with session_daemon(tree.home) as daemon:
        with Client(daemon.machine.socket) as client:
            for method, params in itertools.cycle(CALLS):
                asked = time.perf_counter()
                answer = client.call(method, **params)
                calls.append(time.perf_counter() - asked)
                listing = method == "sessions.list"
                if listing and answer["total"] >= len(tree.manifest.sessions):
                    break
                if asked - began > COMPLETE_SECONDS:
                    raise CannotMeasure("the index was not complete in a minute")
            seconds = time.perf_counter() - began
            return Waits(calls, seconds, _peak_mb(daemon.pid), differing(client, tree))


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def differing(client: Client, tree: Tree) -> int:
    """How many sessions the daemon does not list as the manifest has them."""
    listed: dict[str, tuple[str, int]] = {}
    before: dict[str, Any] = {}
    while rows := client.call("sessions.list", limit=1000, **before)["sessions"]:
        for row in rows:
            listed[row["session_id"]] = (row["working_directory"], row["message_count"])
        before = {"before": rows[-1]["last_modified"]}
    true = {one.session_id: (one.cwd, one.messages) for one in tree.manifest.sessions}
    return sum(1 for key in listed.keys() | true.keys() if listed.get(key) != true.get(key))
