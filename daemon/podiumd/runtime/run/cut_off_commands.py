"""Repair of what a killed daemon's commands in the sandbox, and its gits, had left: done at the
start.

It is done before any git of ours looks at those trees, and before any turn goes on.
"""

from __future__ import annotations

from pathlib import Path

import trio

from podiumd.runtime.context import Context
from podiumd.tools.git.process import PINS
from podiumd.tools.process.processes import sweep
from podiumd.tools.sandbox.boundary import RECORD, make_up_for


async def tidy_after_commands(context: Context) -> None:
    """Tidy up after every command that was cut off; what still runs of one is ended first."""
    await trio.to_thread.run_sync(PINS.keep_in, context.state / "git")
    for record in await trio.to_thread.run_sync(_records, context.state / "turns"):
        turn_id = record.parent.name
        await sweep(turn_id)
        try:
            tidied = await trio.to_thread.run_sync(make_up_for, record)
        except OSError as error:
            context.log("Command not tidied up", "error", turn_id=turn_id, reason=str(error))
            continue
        found = {"removed": tidied.removed, "changed": tidied.changed, "left": tidied.left}
        context.log("Command of an earlier daemon tidied up", "warning", turn_id=turn_id, **found)


def _records(turns: Path) -> list[Path]:
    try:
        return sorted(turns.glob(f"*/{RECORD}"))
    except OSError:
        return []
