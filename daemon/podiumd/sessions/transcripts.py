"""The sessions of this person's agents: listed, read, followed.

follower      watch and sweep → update → index.db (rows), ledgers in facts.db
logs          numbered messages, opened when a session is first read
this          what the runtime asks: rows, pages of messages, feeds
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from pathlib import Path

import msgspec
import trio

from podiumd.formats.session import SessionFormat, uuid_of
from podiumd.formats.session_formats import FORMATS
from podiumd.sessions.changes import Listener
from podiumd.sessions.index import table
from podiumd.sessions.index.database import Index
from podiumd.sessions.index.follower import Follower
from podiumd.sessions.index.logged_problems import LoggedProblems
from podiumd.sessions.index.logs import Changed, Ledgers, Logs
from podiumd.sessions.index.table import Row
from podiumd.sessions.index.tree import Root
from podiumd.sessions.index.watch import watch_trees
from podiumd.sessions.log import messages
from podiumd.sessions.log.messages import Encoded, Moved
from podiumd.sessions.log.numbered import Place
from podiumd.sessions.log.open_log import MessageFeed, OpenLog
from podiumd.store.index import open_index
from podiumd.wire.sessions import MessagesPage

PAGE_BYTES = 4 * 1024 * 1024
"""Messages in one answer, as JSON; a single larger one still goes."""

QUICK_BYTES = 64 * 1024
"""Bytes that are read from a transcript in the event loop itself."""

_ATTEMPTS = 5


class UnknownSession(Exception):
    """No transcript has this id."""


class StillThere(Exception):
    """A session cannot be forgotten while its transcript, ``path``, exists."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class Unsettled(Exception):
    """A transcript was rewritten again and again while it was read."""


class Transcripts:
    """The service; see ``open_transcripts``."""

    def __init__(self, index: Index, logs: Logs, follower: Follower) -> None:
        self._index = index
        self._logs = logs
        self._follower = follower

    async def ping(self) -> None:
        """Return when the follower has shown that it turns."""
        await self._follower.ping()

    async def complete(self) -> None:
        """Return once every session is known: when the first look at the whole tree is over."""
        await self._follower.ready.wait()

    def listen(self) -> AbstractContextManager[Listener]:
        """Hear of every session that changes from now on."""
        return self._follower.changes.listen()

    def changed(self, *session_ids: str) -> None:
        """Notify who listens that these are called otherwise now."""
        self._follower.changes.notify(*session_ids)

    async def count(self) -> int:
        """Return how many sessions there are."""
        return await self._index.ask(table.count)

    async def listing(
        self, working_directory: str | None, limit: int, before: int | None
    ) -> tuple[list[Row], int]:
        """Sessions, newest first, and how many there are in all.

        Parameters: ``before``: milliseconds since 1970; only older ones.
        """
        return await self._index.ask(table.listing, working_directory, limit, before)

    async def row(self, session_id: str) -> Row:
        """Return one session; one that is not known is waited for until the index is complete.

        Raises ``UnknownSession``.
        """
        row = await self._index.ask(table.row, session_id)
        if (row is None or row.gone) and not self._follower.ready.is_set():
            await self._follower.ready.wait()
            row = await self._index.ask(table.row, session_id)
        if row is None:
            raise UnknownSession(session_id)
        return row

    async def _row_now(self, session_id: str) -> Row:
        """Return one session as it is known now; the holder of a session must not wait for the
        index."""
        row = await self._index.ask(table.row, session_id)
        if row is None:
            raise UnknownSession(session_id)
        return row

    async def with_prefix(self, prefix: str, limit: int) -> list[str]:
        """Return the ids that begin with ``prefix``, at most ``limit``.

        Waits until the index is complete: only then is a single one known to be the only one.
        """
        await self._follower.ready.wait()
        return await self._index.ask(table.with_prefix, prefix, limit)

    async def knows(self, session_id: str) -> bool:
        """Return whether there is such a session, as far as it is known now."""
        return await self._index.ask(table.row, session_id) is not None

    async def own_id(self, session_id: str) -> str | None:
        """Return the agent's own id of a session, as far as it is known now; ``None``: it is not,
        or its file is gone."""
        row = await self._index.ask(table.row, session_id)
        return None if row is None or row.gone else row.own_id or row.session_id

    async def keeper(self, session_id: str) -> str | None:
        """Return the agent that the file of a session belongs to, also one that is gone."""
        row = await self._index.ask(table.row, session_id)
        return None if row is None else row.agent

    async def own_ids(self, session_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return of those of the sessions that are known their agents, and the agents' own ids."""
        return await self._index.ask(table.own_ids, session_ids)

    async def companion_counts(self, session_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        """Return how many files of each kind belong to each session."""
        return await self._index.ask(table.companion_counts, session_ids)

    async def forget(self, session_id: str, ours: str | None = None) -> None:
        """Take a session whose transcript is gone off the list, for good. ``ours``: the id by which
        clients know it, if that is another.

        Raises ``UnknownSession``, ``StillThere``.
        """
        if not (await self.row(session_id)).gone:
            await self._follower.look_again(session_id)  # it may have been deleted just now
        async with self._follower.holding(session_id):
            row = await self._row_now(session_id)
            if not row.gone:
                raise StillThere(row.path)
            await self._logs.forget(session_id, ours or session_id)

    async def gone(self, before: int | None) -> list[str]:
        """Return the sessions whose transcript is gone, once every session is known.

        ``before``: only those changed last before that time (milliseconds since 1970).
        """
        await self._follower.ready.wait()
        return await self._index.ask_in_thread(table.gone, before)

    # -- messages ----------------------------------------------------------------------------

    async def messages(self, session_id: str, after: int | None, limit: int) -> MessagesPage:
        """Return a page of a session's log: after a ``seq``, or (``None``) the newest messages.

        Raises ``UnknownSession``, ``Unsettled``.
        """
        async with self._using(session_id) as opened:
            return await self.page(opened, after, limit)

    @asynccontextmanager
    async def follow(
        self, session_id: str, after: int | None, limit: int
    ) -> AsyncIterator[MessageFeed]:
        """Yield a page as ``messages`` gives it, and a feed of all that follows it.

        Raises ``UnknownSession``, ``Unsettled``.
        """
        async with self._using(session_id) as opened:
            first = await self.page(opened, after, limit)
            self._follower.someone_follows.set()
            yield MessageFeed(self.page, opened, first)

    def end_feeds(self) -> None:
        """End every feed: the daemon stops. Requests are still answered."""
        self._logs.close()

    async def page(self, opened: OpenLog, after: int | None, limit: int) -> MessagesPage:
        """Return a page of an open log; see ``messages``. Raises ``Unsettled``."""
        for _ in range(_ATTEMPTS):
            generation, last, gone = opened.generation, opened.last_seq, opened.gone
            seen = opened.state.seen
            start = max(0, last - limit) if after is None else min(after, last)
            try:
                found = await self._read(opened, start + 1, min(start + limit, last), after is None)
            except (Moved, OSError):
                await self._follower.look_again(opened.log.session_id, doubted=seen)
                continue
            garbled = next((message.seq for message in found if message.garbled), None)
            if garbled is not None and not opened.garbled:
                opened.garbled = True
                await self._follower.garbled(opened.log.session_id, garbled)
            if opened.generation != generation:
                continue
            next_seq = found[-1].seq if found else start
            return MessagesPage(
                messages=tuple(msgspec.Raw(message.data) for message in found),
                first_seq=min(1, last),
                last_seq=last,
                next_seq=next_seq,
                complete=next_seq >= last,
                generation=generation,
                gone=gone,
                first_uuid=uuid_of(opened.log.place(1).identity) if last else None,
            )
        raise Unsettled(opened.log.session_id)

    async def _read(self, opened: OpenLog, first: int, last: int, newest: bool) -> list[Encoded]:
        """Messages ``first`` to ``last``, as many as fit: the newest of them, or the oldest."""
        kept = opened.remembered(first, last) if last >= first else []
        if kept is not None:
            return kept
        places = opened.log.places(first, last)
        size = sum(place.length for place in places)
        moves = opened.moves
        if size <= QUICK_BYTES:
            found = _read_places(opened, places, newest)
        elif last < opened.last_seq:
            found = await trio.to_thread.run_sync(_read_places, opened, places, newest)
        else:
            async with opened.reading:  # the newest are wanted by all clients at once
                kept = opened.remembered(first, last)
                if kept is not None:
                    return kept
                found = await trio.to_thread.run_sync(_read_places, opened, places, newest)
        if found and found[-1].seq == opened.last_seq and opened.moves == moves:
            opened.remember(found)
        return found

    @asynccontextmanager
    async def _using(self, session_id: str) -> AsyncIterator[OpenLog]:
        opened = await self._opened(session_id)
        try:
            yield opened
        finally:
            opened.users -= 1

    async def _opened(self, session_id: str) -> OpenLog:
        if not self._follower.ready.is_set():  # it may have grown while no daemon ran
            await self._follower.look_again(session_id)
        for _ in range(_ATTEMPTS):
            await self.row(session_id)  # waits, if it has to, without holding the session
            async with self._follower.holding(session_id):
                row = await self._row_now(session_id)
                try:
                    opened = await self._logs.open(row)
                except Changed:
                    pass
                else:
                    opened.users += 1
                    return opened
            await self._follower.look_again(session_id, doubted=row.generation)
        raise Unsettled(session_id)


def _read_places(opened: OpenLog, places: list[Place], newest: bool) -> list[Encoded]:
    if not newest:
        return messages.read(opened.format, opened.path, places, PAGE_BYTES)
    return messages.read(opened.format, opened.path, reversed(places), PAGE_BYTES)[::-1]


@asynccontextmanager
async def open_transcripts(
    state: Path,
    roots: Sequence[Root],
    ledgers: Ledgers,
    formats: Mapping[str, SessionFormat] = FORMATS,
) -> AsyncIterator[Transcripts]:
    """Run the service: it answers at once, and knows every session when its first sweep is over.

    Parameters: ``formats`` are those of the roots, by name; ``state`` is STATE, where ``index.db``
    is made if it is missing or bad.
    Raises ``OSError`` or ``sqlite3.Error`` where even a new index cannot be made.
    """
    connection, _ = await trio.to_thread.run_sync(open_index, state)
    # Agents that are not configured any more may be called as their format.
    by_agent = {**formats, **{root.agent: formats[root.format_name] for root in roots}}
    try:
        index = Index(connection)
        with suppress(sqlite3.Error):  # the disk is full: the next one is soon enough
            await index.checkpoint()  # from here on the number of descriptors stays the same
        if not await index.ask(table.is_restored):
            await _restore_gone(index, ledgers)
        logs = Logs(index, ledgers, by_agent)
        async with (
            watch_trees([root.directory for root in roots]) as watch,
            trio.open_nursery() as nursery,
        ):
            problems = await LoggedProblems.load(index)
            follower = Follower(roots, by_agent, index, logs, watch, problems)
            nursery.start_soon(follower.run)
            transcripts = Transcripts(index, logs, follower)
            yield transcripts
            transcripts.end_feeds()
            nursery.cancel_scope.cancel()
    finally:
        connection.close()


async def _restore_gone(index: Index, ledgers: Ledgers) -> None:
    """Sessions whose transcripts are gone stay listed, even after the loss of the index."""
    rows = [
        table.row_from_json(ledger.row)
        for ledger in await ledgers.ledgers_gone()
        if ledger.row is not None and ledger.intact
    ]
    await index.write(table.restore, rows)
