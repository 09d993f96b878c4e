"""Indexes a tree of Claude Code's sessions once, in a process of its own, and says what it took.

    python benchmarks/index_once.py STATE PROJECTS [watched | memory]     (Linux)

Prints one JSON object. ``seconds`` are from the opening of the index until every session is known
and stored, without the start of Python and the imports. With ``watched`` it goes on until all is
watched too and what changed meanwhile is read: ``watched_seconds``, from the same start. With
``memory`` it notes the most memory that this process and those it starts ever have together:
``peak_mb`` (PSS: what they share counts once), in megabytes of 10**6 bytes.
"""

import gc

gc.disable()  # as the daemon imports, until ``freeze``

# ruff: noqa: E402
import json
import re
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import trio

from podiumd.sessions.index.tree import Root
from podiumd.sessions.transcripts import open_transcripts
from podiumd.store.records import Ledger

gc.freeze()
gc.enable()


class NoLedgers:
    """A store in which no transcript was ever rewritten."""

    async def ledger(self, session_id: str) -> Ledger | None:
        return None

    async def ledgers_gone(self) -> list[Ledger]:
        return []

    async def save_ledgers(self, ledgers: Sequence[Ledger]) -> None:
        raise AssertionError("no transcript is rewritten here")

    async def forget_ledger(self, session_id: str, ours: str) -> None:
        raise AssertionError("no session is forgotten here")


async def index_once(state: Path, projects: Path, watched: bool) -> dict[str, float]:
    """Run the daemon's own service until its first look is over, or until all is watched."""
    began = time.perf_counter()
    async with open_transcripts(state, [Root("claude", projects)], NoLedgers()) as transcripts:
        await transcripts.complete()
        said = {"seconds": time.perf_counter() - began}
        if watched:
            async with transcripts._follower._sweeping:
                said["watched_seconds"] = time.perf_counter() - began
    return said


class Memory(threading.Thread):
    """Looks at the memory of this process and its children every few milliseconds."""

    peak_mb = 0.0

    def run(self) -> None:
        while True:
            self.peak_mb = max(self.peak_mb, _memory_mb())
            # A peak of several processes at once is known to no counter: it is sampled.
            time.sleep(0.02)


def _memory_mb() -> float:
    own = Path("/proc/self")
    children = [pid for path in own.glob("task/*/children") for pid in _text(path).split()]
    maps = [_text(path / "smaps_rollup") for path in (own, *(Path("/proc") / c for c in children))]
    return sum(int(size) for text in maps for size in _PSS.findall(text)) * 1024 / 1e6


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended
        return ""


_PSS = re.compile(r"^Pss:\s+([0-9]+) kB$", re.MULTILINE)


if __name__ == "__main__":
    state, projects, *mode = sys.argv[1:]
    memory = Memory(daemon=True)
    if mode == ["memory"]:
        memory.start()
    said = trio.run(index_once, Path(state), Path(projects), mode == ["watched"])
    if mode == ["memory"]:
        said["peak_mb"] = memory.peak_mb
    print(json.dumps(said))
