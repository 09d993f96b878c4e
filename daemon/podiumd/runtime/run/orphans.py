"""The agents of this daemon that live on for no turn it knows of: they are ended at its start.

The intention of a turn is stored before its agent exists. So only a log that was damaged since then
has an agent that no turn can be taken up from: it would do its work for no client, and then sit
there idle with the lease of its session for good.
"""

from __future__ import annotations

from collections.abc import Collection

import trio

from podiumd.drivers.agent_process import end_leftovers
from podiumd.runtime.context import Context
from podiumd.tools.process.processes import marks


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
