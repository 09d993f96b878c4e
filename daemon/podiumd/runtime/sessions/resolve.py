"""The agent that a session belongs to, and where it lives."""

from __future__ import annotations

import re
from contextlib import suppress

import msgspec

from podiumd.formats.session import public_id
from podiumd.runtime.context import Context
from podiumd.runtime.errors import InvalidParameter, NotFound
from podiumd.runtime.fact_reader import summary
from podiumd.runtime.locks.holder import busy
from podiumd.runtime.public_sessions import PublicSessions
from podiumd.sessions.transcripts import UnknownSession

SHORTEST_PREFIX = 4
"""Characters of an id that may stand for it: fewer would too soon mean another."""

_NAMED = 3
_WHOLE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Session(msgspec.Struct, frozen=True):
    """A session that exists."""

    session_id: str
    agent: str
    working_directory: str


class Sessions:
    """Finds sessions among this daemon's runs and the agents' own files."""

    def __init__(self, context: Context, transcripts: PublicSessions) -> None:
        self._context = context
        self._transcripts = transcripts

    async def resolve(self, session_id: str) -> str:
        """Resolve an id, or a beginning that only one session has, to the full id.

        An agent's own id of a session, or such a beginning of it, stands for it too. An unknown id
        is returned as it is: the code that needs the session reports it.

        Raises:
            InvalidParameter: more than one begins with it.
        """
        named = await self._named(session_id)
        if named is not None:
            return named
        if _WHOLE.fullmatch(session_id) or len(session_id) < SHORTEST_PREFIX:
            return session_id
        found = await self._transcripts.with_prefix(session_id, _NAMED + 1)
        if session_id in found or not found:
            return session_id
        if len(found) > 1:
            some = ", ".join(sorted(found)[:_NAMED]) + (" ..." if len(found) > _NAMED else "")
            words = f"More than one session's id begins with '{session_id}': {some}."
            raise InvalidParameter("session_id", words)
        return found.pop()

    async def _named(self, own_id: str) -> str | None:
        """Return the session of ours that an agent calls so: of the file's agent, if there is one,
        whatever others call theirs."""
        called = await self._context.store.sessions_called(own_id)
        keeper = await self._context.keeper(public_id(own_id)) if called else None
        if keeper is not None:
            return called.get(self._context.family(keeper))
        return next(iter(called.values()), None)

    async def own_id(self, session_id: str) -> str:
        """Return an agent's own id of a session: its name for it, else that of its file, else the
        id that all know."""
        named = await self._context.store.agent_session(session_id)
        return named or await self._context.listed_as(session_id) or session_id

    async def find(self, session_id: str) -> Session:
        """Find the session of this id.

        Raises:
            NotFound: no run and no agent knows it.
            Busy: another daemon is about to make it, and it cannot be known yet.
        """
        rows = await self._context.store.runs_of_session(session_id, 1)
        run = await summary(self._context.store, rows[0]) if rows else None
        if run is not None:
            return Session(session_id, run.agent, run.working_directory)
        try:
            row = await self._transcripts.row(session_id)
        except UnknownSession:
            pass
        else:
            if not row.gone and row.summary.cwd:
                return Session(session_id, row.agent, row.summary.cwd)
        holder = self._context.leases.peek(session_id)
        if holder is not None:
            raise busy(holder, session_id=session_id)
        raise NotFound("session", session_id)

    async def keepers(self, session_id: str) -> list[str]:
        """List the agents that a session is known to be a conversation with: of its last run, and
        by its file. They are one, but where a run has several or two have their files together."""
        found = []
        rows = await self._context.store.runs_of_session(session_id, 1)
        run = await summary(self._context.store, rows[0]) if rows else None
        if run is not None:
            found.append(run.agent)
        with suppress(UnknownSession):
            found.append((await self._transcripts.row(session_id)).agent)
        return list(dict.fromkeys(found))
