"""What sessions cost, however many there are; and one session, however long it is."""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import trio

from benchmarks.growth import Growth
from benchmarks.index_once import NoLedgers
from benchmarks.measure import CannotMeasure
from benchmarks.session_records import encoded
from benchmarks.session_tree import Spec, Tree, cached
from podiumd.sessions.index.tree import Root
from podiumd.sessions.transcripts import open_transcripts
from tests.real_daemon import RealDaemon, real_daemon

SESSIONS = (2_000, 20_000, 100_000)
FILES_A_MB = 100
"""Transcripts of 10 KB in the mean."""

MESSAGES = (2_000, 20_000, 200_000)
WORDS = "words and words " * 50
ASKED = 100
FORKS = 21

SETTLED_SECONDS, SETTLED_SHARE = 3.0, 0.02
_TICK = os.sysconf("SC_CLK_TCK")

Figures = dict[str, float]


# -- many sessions ------------------------------------------------------------------------------


def _cpu_of(pid: int) -> float:
    """CPU of a process and of those of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICK


def _mb(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024 / 1e6
    raise LookupError(field)


def _settled(daemon: RealDaemon, sessions: int) -> float:
    """CPU until it knows all sessions, watches them and has nothing more to do.

    No event tells that, so its CPU is looked at now and then, which costs it nothing.
    """
    while daemon.result("sessions.list", limit=1)["total"] < sessions:
        time.sleep(SETTLED_SECONDS / 10)
    before = -1.0
    while (now := _cpu_of(daemon.process.pid)) - before > SETTLED_SECONDS * SETTLED_SHARE:
        before = now
        time.sleep(SETTLED_SECONDS)
    return now


def _asked(daemon: RealDaemon, tree: Tree) -> Iterator[tuple[str, float]]:
    """CPU of what is asked about sessions, the first of each left out: it fills caches."""
    middle = tree.manifest.sessions[len(tree.manifest.sessions) // 2]
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "a list of 20 sessions": ("sessions.list", {"limit": 20}),
        "those of a directory": ("sessions.list", {"limit": 20, "working_directory": middle.cwd}),
        "a session by a short id": ("sessions.get", {"session_id": middle.session_id[:13]}),
        "a page of messages": ("sessions.messages", {"session_id": middle.session_id}),
    }
    for name, (method, params) in calls.items():
        daemon.result(method, **params)
        began = _cpu_of(daemon.process.pid)
        for _ in range(ASKED):
            daemon.result(method, **params)
        yield name, (_cpu_of(daemon.process.pid) - began) * 1000 / ASKED


def _with_daemon(tree: Tree, home: Path) -> Figures:
    count, told = len(tree.manifest.sessions), Figures()
    place = str(tree.home)
    with real_daemon(home, CLAUDE_CONFIG_DIR=place) as daemon:
        told["first index, CPU of all processes"] = _settled(daemon, count)
        told["memory when settled"] = _mb(daemon.process.pid, "VmRSS")
        told["memory at most, first index"] = _mb(daemon.process.pid, "VmHWM")
        told |= _asked(daemon, tree)
    with real_daemon(home, CLAUDE_CONFIG_DIR=place) as daemon:
        told["restart, CPU until settled"] = _settled(daemon, count)
        told["memory when settled, restart"] = _mb(daemon.process.pid, "VmRSS")
        told["memory at most, restart"] = _mb(daemon.process.pid, "VmHWM")
    told["index.db"] = (home / "state" / "index.db").stat().st_size / 1e6
    return told


async def _looks(tree: Tree, state: Path) -> Figures:
    """What the look now and then costs while all is watched, also as a share of a processor."""
    root = Root("claude", tree.projects)
    async with open_transcripts(state, [root], NoLedgers()) as transcripts:
        await transcripts.complete()
        follower = transcripts._follower
        async with follower._sweeping:
            pass  # the second look, once all is watched
        await follower._sweep()
        cost, pause = follower._cost, follower._pause
    return {"a look at all of them": cost, "looks, of one processor": 100 * cost / pause}


def _sessions(count: int) -> Figures:
    tree = cached(Spec(files=count, mb=count // FILES_A_MB))
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory:
        home = Path(directory) / "home"
        return _with_daemon(tree, home) | trio.run(_looks, tree, home / "state")


# -- one long session ----------------------------------------------------------------------------


def _uuid(number: int) -> str:
    return str(uuid.UUID(int=number << 64 | 0x4000 << 48 | number))


def _record(number: int, parent: int) -> bytes:
    """Every fourth is no message."""
    kind = ("user", "assistant", "assistant", "system")[number % 4]
    content = WORDS if kind == "user" else [{"type": "text", "text": WORDS}]
    told = {} if kind == "system" else {"message": {"role": kind, "content": content}}
    return encoded({"type": kind, "uuid": _uuid(number), "parentUuid": _uuid(parent), **told})


async def _forks(messages: int, place: Path) -> float:
    """CPU ms of a prompt more that follows a record which is no message."""
    path = place / "projects" / "-app" / f"{_uuid(1)}.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.writelines(_record(number, number - 1) for number in range(1, messages * 4 // 3))
    root, took = Root("claude", place / "projects"), list[float]()
    async with open_transcripts(place / "state", [root], NoLedgers()) as transcripts:
        await transcripts.messages(path.stem, None, 1)
        for number in range(FORKS):
            with path.open("ab") as file:
                file.write(_record(4 * (messages + number), 3 + 4 * number))
            began = time.process_time_ns()
            await transcripts._follower.look_again(path.stem)
            took.append((time.process_time_ns() - began) / 1e6)
            newest = (await transcripts.messages(path.stem, None, 1)).messages[0]
            if not msgspec.json.decode(newest)["forks_from"]:
                raise CannotMeasure("a fork's origin was not found")
    return statistics.median(took)


def _fork_ms(messages: int) -> float:
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory:
        return trio.run(_forks, messages, Path(directory))


# -- all of it -----------------------------------------------------------------------------------

GOALS: dict[str, tuple[str, float | None, float | None]] = {
    "first index, CPU of all processes": ("s", None, None),
    "restart, CPU until settled": ("s", None, None),
    "memory when settled": ("MB", None, 100.0),
    "memory when settled, restart": ("MB", None, 100.0),
    "memory at most, first index": ("MB", None, None),
    "memory at most, restart": ("MB", None, None),
    "index.db": ("MB", None, None),
    "a look at all of them": ("CPU s", None, None),
    "looks, of one processor": ("%", None, 0.5),
    "a list of 20 sessions": ("CPU ms", None, None),
    "those of a directory": ("CPU ms", 2.0, None),
    "a session by a short id": ("CPU ms", 2.0, None),
    "a page of messages": ("CPU ms", 2.0, None),
}
"""Of each figure of many sessions its unit, and what bounds the last: against the first, itself."""


def measure(options: argparse.Namespace) -> list[Growth]:
    """Measure with 2,000, 20,000 and 100,000 sessions, and one of so many messages."""
    del options
    taken = {f"{count:,}": _sessions(count) for count in SESSIONS}
    told = [
        Growth(name, unit, {size: taken[size][name] for size in taken}, goal, most)
        for name, (unit, goal, most) in GOALS.items()
    ]
    forks = {f"{count:,} messages": _fork_ms(count) for count in MESSAGES}
    return [*told, Growth("a prompt that follows no message", "CPU ms", forks, None, 50.0)]
