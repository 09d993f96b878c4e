"""Take an agent's name for its session, or refuse it where another session has it.

An agent is free in the ids that it gives, and a session is found by them. One that calls its own
session by the id of another's would be listed in its place, and get what a person says to it.
"""

from __future__ import annotations

from podiumd.core.run.facts import TurnIntended
from podiumd.formats.session import public_id
from podiumd.runtime.context import Context
from podiumd.runtime.locks.lockfile import LeaseError
from podiumd.runtime.locks.session_locks import SessionLocks
from podiumd.runtime.run.actor import RunActor


def hold_name(context: Context, locks: SessionLocks, session_id: str, name: str | None) -> None:
    """Hold a session of a run's under its agent's name too; who else does is logged, and a lock
    file that cannot be used: before the next turn it is asked for again."""
    try:
        holder = locks.name_also(session_id, name)
    except LeaseError as error:
        what = "Session not held under its agent's id"
        context.log(what, "warning", session_id=session_id, reason=str(error))
        return
    if holder is not None:
        context.log(
            "Session held under its agent's id by another",
            "warning",
            session_id=session_id,
            holder=holder.id,
            holder_state=holder.state_directory,
        )


async def refusal(actor: RunActor, intent: TurnIntended, name: str) -> str:
    """Return why the agent of a turn may not call its session so; empty if it may."""
    whose = await _other(actor, intent, name)
    if not whose:
        return ""
    return (
        f"the agent {intent.agent} calls its session {name[:80]!r}, but {whose} has that id: "
        "the turn was ended, for what is said to the one must not go to the other"
    )


async def _other(actor: RunActor, intent: TurnIntended, name: str) -> str:
    """Return whose name it is, if it is that of another session."""
    context, session = actor.context, intent.session_id
    known = [session, actor.state.agent_sessions.get(session)]
    if intent.fork_from is None:
        known.append(intent.agent_session_id)
    if name in known:
        return ""
    for named in (await context.store.sessions_called(name)).values():
        if named != session:
            return f"the session {named}"
    if await context.store.runs_of_session(name, 1):
        return f"the session {name}"
    keeper = await context.keeper(public_id(name))
    if keeper is not None and context.family(keeper) != context.family(intent.agent):
        return f"a session of {keeper}"
    return ""
