"""The output of a run's turns, which lies on the disk until the run ends: bounded together.

No due work reads the output of a turn whose end is stored: it is kept for the inspection of a run
that failed. So beyond the bound the oldest goes, and the log and the turn's directory state it. A
crash in between leaves more than the bound until the next turn of the run has ended.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path

import trio

from podiumd.core.run.facts import TurnIntended
from podiumd.core.run.state import RunState
from podiumd.drivers.agent_process import ERRORS, SPOOL
from podiumd.runtime.context import Context
from podiumd.runtime.fact_reader import turn_ids
from podiumd.tools.failpoints import failpoint
from podiumd.tools.files.private_file import write_private

MEBIBYTE = 1 << 20

NOTE = "removed.txt"
"""Stands in a turn's directory in place of its output."""


class Spools:
    """The output of one run's turns that are over, counted as each of them ends."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._kept: deque[tuple[Path, int]] | None = None
        self._bytes = 0

    async def ended(self, state: RunState, intent: TurnIntended) -> None:
        """Count in a turn whose end is stored, and remove the oldest output beyond the bound."""
        agent = self._context.agents.get(intent.agent)
        if agent is not None and not agent.driver.capabilities.survives_daemon:
            return  # it is played in the daemon and has no spool
        turn_id = intent.turn_id
        directory = self._context.turn_directory(turn_id)
        if self._kept is None:  # the first end that this daemon sees: there may be earlier ones
            ids = await turn_ids(self._context.store, state.start.run_id)
            earlier = [self._context.turn_directory(one) for one in ids if one != turn_id]
        else:
            earlier = []
        sizes = await trio.to_thread.run_sync(_sizes, [*earlier, directory])
        self._kept = self._kept or deque()
        self._kept += sizes
        self._bytes += sum(size for _, size in sizes)
        most = self._context.limits().run_spool_megabytes
        over: list[Path] = []
        while self._bytes > most * MEBIBYTE and len(self._kept) > 1:
            oldest, size = self._kept.popleft()
            self._bytes -= size
            over.append(oldest)
        if over:
            setting = f"limits.run_spool_megabytes = {most}"
            await trio.to_thread.run_sync(_remove, over, setting)
            run_id = state.start.run_id
            self._context.log(
                "Output of earlier turns removed",
                "warning",
                run_id=run_id,
                turns=len(over),
                reason=f"the turns of this run have written more than {setting} (MiB) allows",
            )


def _sizes(directories: list[Path]) -> list[tuple[Path, int]]:
    """Measure the output of each turn in bytes, of those that have any."""
    found = []
    for directory in directories:
        size = 0
        for name in (SPOOL, ERRORS):
            try:
                size += (directory / name).stat().st_size
            except OSError:
                continue
        if size:
            found.append((directory, size))
    return found


def _remove(directories: list[Path], setting: str) -> None:
    note = f"The output of this turn was removed: its run wrote more than {setting} (MiB).\n"
    for directory in directories:
        try:
            write_private(directory / NOTE, note)
            failpoint("spools.after-note")
            for name in (SPOOL, ERRORS):
                (directory / name).unlink(missing_ok=True)
        except OSError:  # what is left lying costs room, and no run
            continue
