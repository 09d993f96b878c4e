"""Sessions of agents that name them: Podium's id, which everybody knows, and the agent's own."""

from __future__ import annotations

from podiumd.core.run import facts as f
from podiumd.store.facts import Store


async def agent_session(store: Store, session_id: str) -> str | None:
    """Return the agent's own id of a session, as the last turn that named it tells."""
    named = await _last_named(store, session_id)
    return named.agent_session_id if named is not None and named.session_id == session_id else None


async def session_of(store: Store, agent_session_id: str) -> str | None:
    """Return the session that an agent has named so."""
    named = await _last_named(store, agent_session_id)
    if named is None or named.agent_session_id != agent_session_id:
        return None
    return named.session_id


async def _last_named(store: Store, name: str) -> f.SessionNamed | None:
    row = await store.last_named("session.named", name)
    fact = None if row is None else f.decode(bytes(row.data))
    return fact if isinstance(fact, f.SessionNamed) else None
