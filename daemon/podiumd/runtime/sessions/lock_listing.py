"""The holders of sessions and working trees, over all daemons of this user and other programs."""

from __future__ import annotations

from podiumd.runtime.context import Context
from podiumd.runtime.locks.foreign_sessions import all_foreign
from podiumd.runtime.locks.holder import Holder
from podiumd.wire.sessions import Lock


async def all_locks(context: Context) -> list[Lock]:
    """Build the result of ``sessions.locks``."""
    held = list(await context.leases.all_held())
    leased = {holder.session_id for holder in held if holder.session_id is not None}
    for agent in context.agents.values():
        if agent.config_directory is not None:
            found = all_foreign(agent.config_directory)
            held += [holder for holder in found if holder.session_id not in leased]
    return [_row(holder) for holder in held]


def _row(holder: Holder) -> Lock:
    return Lock(
        session_id=holder.session_id,
        working_directory=holder.working_directory,
        holder=holder.public(),
    )
