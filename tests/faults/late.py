"""An agent that has not read its prompt yet when its daemon dies."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import trio

from podiumd.drivers.agent_process import PIPE


async def read_late(gate: Path, turns: Path, kill: Callable[[], None]) -> None:
    """Kill the daemon once its agent waits at the gate, before its prompt, and let the agent go on
    when something more was written to it."""
    opened = await trio.to_thread.run_sync(gate.open, "wb", abandon_on_cancel=True)
    with opened:
        kill()
        gate.unlink()  # once
        turn = max(turns.iterdir(), key=lambda path: (path / PIPE).stat().st_mtime_ns)
        # Its own reader has read all that was there: what comes now is the next daemon's.
        pipe = os.open(turn / PIPE, os.O_RDONLY | os.O_NONBLOCK)
        try:
            await trio.lowlevel.wait_readable(pipe)
        finally:
            os.close(pipe)
