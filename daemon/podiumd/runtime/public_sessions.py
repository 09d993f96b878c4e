"""Sessions under the one id that clients know: Podium's where an agent has named it otherwise.

The index knows a session by its file, and so by the agent's own id of it, or by a UUID that follows
from that. Which session of ours that is stands in ``facts.db``: here, between the two, each id
becomes the other. So nothing moves when an agent names a session, and it does not matter which was
there first, the file or the name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

from msgspec.structs import replace

from podiumd.formats.session import public_id
from podiumd.sessions.changes import Listener
from podiumd.sessions.index.table import Row
from podiumd.sessions.log.open_log import MessageFeed
from podiumd.sessions.transcripts import Transcripts
from podiumd.store.facts import Store
from podiumd.wire.sessions import MessagesPage


class ChangedSessions:
    """A listener to changes, by the ids that clients know."""

    def __init__(self, listener: Listener, known: PublicSessions) -> None:
        self._listener = listener
        self._known = known

    async def changed(self) -> set[str]:
        """Wait until there is something, then take it: the ids since the last time."""
        changed = sorted(await self._listener.changed())
        return await self._known.public(changed)


class PublicSessions:
    """The transcripts, by the ids that clients know. Its methods are those of ``Transcripts``.

    ``family`` returns the family of an agent: those that mean one session by one id.
    """

    def __init__(
        self, transcripts: Transcripts, store: Store, family: Callable[[str], str]
    ) -> None:
        self._transcripts = transcripts
        self._store = store
        self._family = family

    async def count(self) -> int:
        """Return how many sessions there are."""
        return await self._transcripts.count()

    async def listing(
        self, working_directory: str | None, limit: int, before: int | None
    ) -> tuple[list[Row], int]:
        """Return a page of sessions, newest first, and how many there are in all."""
        rows, total = await self._transcripts.listing(working_directory, limit, before)
        names = [(self._family(row.agent), own_id(row)) for row in rows]
        ours = await self._store.sessions_named(names)
        called = zip(rows, names, strict=True)
        return [_called(row, ours.get(name)) for row, name in called], total

    async def row(self, session_id: str) -> Row:
        """Return one session. Raises ``UnknownSession``."""
        return _called(await self._transcripts.row(await self._own(session_id)), session_id)

    async def with_prefix(self, prefix: str, limit: int) -> set[str]:
        """Return sessions of which an id begins so, ours or the agent's: of more than ``limit`` at
        least so many."""
        found = await self._transcripts.with_prefix(prefix.lower(), limit)
        return {
            *await self.public(found),
            *await self._store.sessions_with_prefix(prefix, limit),
            *await self._store.named_with_prefix(prefix, limit),
        }

    async def companion_counts(self, rows: Sequence[Row]) -> dict[str, dict[str, int]]:
        """Return how many files of each kind belong to each session."""
        own = {public_id(own_id(row)): row.session_id for row in rows}
        counts = await self._transcripts.companion_counts([*own])
        return {own[session_id]: count for session_id, count in counts.items()}

    async def gone(self, before: int | None) -> list[str]:
        """Return the sessions whose transcript is gone."""
        gone = await self._transcripts.gone(before)
        return sorted(await self.public(gone))

    async def forget(self, session_id: str) -> None:
        """Take a session off the list. Raises ``UnknownSession``, ``StillThere``."""
        await self._transcripts.forget(await self._own(session_id), session_id)

    async def messages(self, session_id: str, after: int | None, limit: int) -> MessagesPage:
        """Return a page of messages. Raises ``UnknownSession``, ``Unsettled``."""
        return await self._transcripts.messages(await self._own(session_id), after, limit)

    @asynccontextmanager
    async def follow(
        self, session_id: str, after: int | None, limit: int
    ) -> AsyncIterator[MessageFeed]:
        """Yield a page, and a feed of all that follows it. Raises as ``messages``."""
        own = await self._own(session_id)
        async with self._transcripts.follow(own, after, limit) as feed:
            feed.about = session_id
            yield feed

    @contextmanager
    def listen(self) -> Iterator[ChangedSessions]:
        """Hear of every session that changes from now on."""
        with self._transcripts.listen() as listener:
            yield ChangedSessions(listener, self)

    async def public(self, ids: Sequence[str]) -> set[str]:
        """Return the ids that clients know of sessions, by those of the index."""
        own = await self._transcripts.own_ids(ids)
        names = {one: (self._family(agent), named) for one, (agent, named) in own.items()}
        ours = await self._store.sessions_named([*names.values()])
        return {ours.get(names[one], one) if one in names else one for one in ids}

    async def _own(self, session_id: str) -> str:
        """Return the index's id of a session: the agent's own, unless the file that is read is
        Podium's record of it."""
        named = await self._store.agent_session(session_id)
        if named is None or await self._transcripts.knows(session_id):
            return session_id
        own = public_id(named)
        if not await self._transcripts.knows(own):
            await self._transcripts.complete()
            if await self._transcripts.knows(session_id):
                return session_id
        return own


def own_id(row: Row) -> str:
    """Return the agent's own id of a session."""
    return row.own_id or row.session_id


def _called(row: Row, session_id: str | None) -> Row:
    if session_id in (None, row.session_id):
        return row
    return replace(row, session_id=session_id, own_id=own_id(row))
