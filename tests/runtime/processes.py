"""The real processes of commands and checks, as tests look at them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trio

from podiumd.tools.process.processes import MARKER, Identity, with_entry

MOST_LOOKS = 100_000


async def marker_of(fifo: Path) -> str:
    """The marker of a command that says it, once it has begun."""
    return (await trio.to_thread.run_sync(fifo.read_text, abandon_on_cancel=True)).strip()


@contextmanager
def left_behind(marker: str) -> Iterator[subprocess.Popen[bytes]]:
    """What a killed daemon leaves of a command: a process with its marker."""
    with subprocess.Popen(["sleep", "600"], env={MARKER: marker}) as left:
        try:
            yield left
        finally:
            left.kill()


async def living(marker: str) -> list[Identity]:
    """The processes that carry a marker. One in the middle of an exec shows none for a moment."""
    for _ in range(MOST_LOOKS):
        found, undecided = with_entry(f"{MARKER}={marker}")
        if not undecided:
            return found
        await trio.lowlevel.checkpoint()
    raise AssertionError("some process never comes out of its exec")
