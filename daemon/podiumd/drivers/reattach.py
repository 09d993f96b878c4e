"""Remains of a turn: its living process, and the content of its spool. For all agents that are
processes."""

from __future__ import annotations

import sys
from pathlib import Path

import trio

from podiumd.drivers.agent_process import PIPE, SPOOL
from podiumd.drivers.base import PendingTurn
from podiumd.drivers.dialect import Dialect
from podiumd.drivers.spool import SpoolReader
from podiumd.tools.process.processes import Identity, alive, settled_carriers


async def find_agent(pending: PendingTurn) -> Identity | None:
    """Return the turn's living agent process: the recorded one, else the one with the marker
    that has the turn's pipe as its stdin (the agent's own children carry the marker too).

    Where the recorded one is dead the turn may have been begun once more, with a pipe of its own,
    by a daemon that died before it had stored the new process.
    """
    pipe = Path(pending.directory, PIPE)
    if pending.pid is not None and pending.proc_start is not None:
        recorded = Identity(pending.pid, pending.proc_start)
        if alive(recorded):
            return recorded
        if not _later_than(recorded, pipe):
            return None
    marked = sorted(await settled_carriers(pending.turn_id), key=lambda one: one.start)
    return next((one for one in marked if _reads(one, pipe)), None)


async def replay(pending: PendingTurn, dialect: Dialect) -> bool:
    """Have the dialect read the whole spool; returns whether its last line is cut."""
    try:
        spool = SpoolReader(Path(pending.directory, SPOOL))
    except FileNotFoundError:
        return False
    try:
        while not spool.at_end:
            for line in spool.read():
                dialect.feed(line.data)
            await trio.lowlevel.checkpoint()
        return spool.partial
    finally:
        spool.close()


if sys.platform == "linux":

    def _later_than(_identity: Identity, _pipe: Path) -> bool:
        return True  # what reads a pipe of an earlier attempt does not read this one

    def _reads(identity: Identity, pipe: Path) -> bool:
        try:
            return Path(f"/proc/{identity.pid}/fd/0").samefile(pipe)
        except OSError:
            return False

else:

    def _later_than(identity: Identity, pipe: Path) -> bool:
        """Return whether the pipe was made after the process, and so for another; both in ms."""
        try:
            return pipe.stat().st_birthtime * 1000 > identity.start + 1
        except OSError:
            return False

    def _reads(_identity: Identity, _pipe: Path) -> bool:
        return True  # not known here: the earliest of the marked is the agent
