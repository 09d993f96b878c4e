"""Repair of what earlier daemons have left, done at the start: agents that live on for no turn, and
what commands in the sandbox and gits that were cut off left behind.

The intention of a turn is stored before its agent exists. So only a log that was damaged since then
has an agent that no turn can be taken up from: it would do its work for no client, and then sit
there idle with the lease of its session for good.

What commands left is put in order before any git of ours looks at those trees, and before any turn
goes on.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import trio

from podiumd.drivers.agent_process import end_leftovers
from podiumd.runtime.context import Context
from podiumd.tools.git.process import PINS
from podiumd.tools.process.processes import marks, sweep
from podiumd.tools.sandbox.boundary import RECORD, make_up_for


async def end_unfollowed(context: Context, followed: Collection[str]) -> None:
    """End processes with the mark of a turn that has files here and is not ``followed``.

    Other daemons' turns, and other processes with such a mark, have no files here. Takes a look at
    all processes; where there is something to end at most 10 s more.
    """
    ours = await trio.to_thread.run_sync(_marked_here, context)
    async with trio.open_nursery() as nursery:
        for turn_id in sorted(ours.difference(followed)):
            nursery.start_soon(_end, context, turn_id)


async def _end(context: Context, turn_id: str) -> None:
    ended = await end_leftovers(turn_id, context.turn_directory(turn_id))
    context.log("Agent of no turn ended", "warning", turn_id=turn_id, processes=len(ended))


def _marked_here(context: Context) -> set[str]:
    try:
        names = {path.name for path in (context.state / "turns").iterdir()}
    except FileNotFoundError:
        return set()
    return marks() & names


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
