"""Existence of a session that a phone names."""

from __future__ import annotations

from podiumd.runtime.errors import NotFound
from podiumd.runtime.service import Service


async def known(service: Service, session_id: str | None) -> bool:
    """Return whether there is such a session."""
    if session_id is None:
        return False
    try:
        row = await service.sessions_get(session_id)
    except NotFound:
        return False
    return row.session_id == session_id  # and not only the beginning of one


async def known_or_held(service: Service, session_id: str | None) -> bool:
    """Return whether there is such a session, or a turn has made it or is about to: an agent writes
    nothing down in its first second, and some write nothing that can be read."""
    if session_id is None or await known(service, session_id):
        return session_id is not None
    return await service.knows_session(session_id)
