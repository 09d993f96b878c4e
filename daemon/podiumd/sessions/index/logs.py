"""The logs of sessions: opened from the index, kept in step with their transcripts, stored.

A ``seq`` is stored before it is sent to any client. The entries of a plain growth go into the
index: should that be lost, reading the transcript again gives the same numbers. A rewrite of the
transcript breaks that rule, so it goes into ``facts.db`` first (the *ledger*: every identity in the
order of its numbers), where it outlives the index.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import msgspec
import trio

from podiumd.formats.session import Cursor, Entry, NoFormat, SessionFormat
from podiumd.observe.logs import log as log_event
from podiumd.sessions.index import table
from podiumd.sessions.index.database import Index
from podiumd.sessions.index.table import Row
from podiumd.sessions.index.update import Update
from podiumd.sessions.log import forks, links
from podiumd.sessions.log.numbered import Log
from podiumd.sessions.log.open_log import LogState, OpenLog
from podiumd.sessions.log.reading import Mark, chunks, same
from podiumd.store.errors import StoreError, StoreFailed
from podiumd.store.records import Ledger

QUICK_ENTRIES = 256
"""So many are stored in the event loop, more in a thread."""

KEPT_OPEN = 32
"""Logs that stay in memory; those that are followed beyond that."""


class Ledgers(Protocol):
    """The place where ledgers are kept for good: the store."""

    async def ledger(self, session_id: str) -> Ledger | None: ...
    async def save_ledgers(self, ledgers: Sequence[Ledger]) -> None: ...
    async def forget_ledger(self, session_id: str, ours: str) -> None: ...
    async def ledgers_gone(self) -> list[Ledger]: ...


class Logs:
    """Every log; a task that changes one holds its session's lock."""

    def __init__(
        self, index: Index, ledgers: Ledgers, formats: Mapping[str, SessionFormat]
    ) -> None:
        self._index = index
        self._ledgers = ledgers
        self._formats = formats
        self._open: dict[str, OpenLog] = {}

    def get(self, session_id: str) -> OpenLog | None:
        """Return the log, if it is in memory."""
        return self._open.get(session_id)

    @property
    def followed(self) -> list[str]:
        """List the sessions whose logs are in use."""
        return [session_id for session_id, opened in self._open.items() if opened.users]

    async def open(self, row: Row) -> OpenLog:
        """Open the log of a session, as far as ``row`` says that its transcript was read.

        Raises ``Changed`` when the transcript is no longer what the row says,
        ``sqlite3.Error``, ``StoreError``.
        """
        opened = self._open.get(row.session_id) or await self._load(row)
        if opened.state.seen != row.generation:
            await self._read_anew(opened, row)
        elif opened.state.offset < row.offset:
            await self._catch_up(opened, row)
        self._open.pop(row.session_id, None)
        self._open[row.session_id] = opened  # the latest used is the last
        self._close_old(opened)
        return opened

    async def apply(self, update: Update) -> None:
        """Store a row that was brought up to date, and its log with it; notify its followers.

        Raises ``Changed``, ``sqlite3.Error``, ``StoreError``; nothing is then stored or sent.
        """
        row = update.row
        opened = self._open.get(row.session_id)
        if opened is None and update.rewritten and await self._index.ask(has_log, row.session_id):
            opened = await self._load(row)  # not kept: it may be behind, until it is opened
        if opened is None:
            await self._index.write(table.save, [row])
            return
        if update.rewritten:
            await self._read_anew(opened, row)
        elif update.entries or opened.state.offset != row.offset:
            await self._extend(opened, row, update.entries, update.cursor)
        else:
            await self._index.write(table.save, [row])
            opened.path = row.path
        if update.entries or update.rewritten:
            opened.notify()

    @contextmanager
    def _or_lost(self, opened: OpenLog) -> Iterator[None]:
        """Lose the log if the block fails: what changed in memory and is not stored must not be
        sent."""
        try:
            yield
        except BaseException as error:
            self._open.pop(opened.log.session_id, None)
            opened.fail(error)
            raise

    async def lose(self, rows: Sequence[Row]) -> None:
        """Store that transcripts are gone: their rows, and every message as gone.

        Parameters: ``rows`` are marked ``gone`` already. Raises as ``apply``.
        """
        ledgers: list[Ledger] = []
        lost: list[tuple[OpenLog, Row, Log, LogState]] = []
        for row in rows:
            opened = self._open.get(row.session_id)
            if opened is None and await self._was_told(row.session_id):
                opened = await self._load(row)
            log = Log(row.session_id)
            if opened is not None:
                log = opened.log.copy()
                log.rebuild([])
                lost.append((opened, row, log, LogState(row.offset, row.generation, Cursor())))
            ledgers.append(_ledger(log, row))
        await self._ledgers.save_ledgers(ledgers)
        await self._index.write(_save_lost, rows, [each[1:] for each in lost])
        for opened, row, log, state in lost:
            opened.settle(log, state, row.path)
            opened.notify()

    async def _kept(self, session_id: str) -> Ledger | None:
        """Return the ledger of a session, or ``None``.

        One that is damaged is logged and counts as none: the numbers are then those of the index,
        or, if it was lost as well, given anew.
        """
        try:
            return await self._ledgers.ledger(session_id)
        except StoreFailed:
            raise
        except StoreError as error:
            log_event("Ledger is damaged", "error", session_id=session_id, reason=str(error))
            return None

    async def _was_told(self, session_id: str) -> bool:
        """Return whether any client may know numbers: of a lost index a ledger may say so."""
        if await self._index.ask(has_log, session_id):
            return True
        return await self._kept(session_id) is not None

    async def found_again(self, row: Row) -> None:
        """Store that a transcript is back: its ledger no longer stands for its row.

        Call it after ``apply``.
        """
        ledger = await self._kept(row.session_id)
        if ledger is not None and ledger.row is not None:
            await self._ledgers.save_ledgers([msgspec.structs.replace(ledger, row=None)])

    async def forget(self, session_id: str, ours: str) -> None:
        """Remove all that is known of a session whose transcript is gone; ``ours``: the id by which
        clients know it."""
        self.drop(session_id)
        await self._ledgers.forget_ledger(session_id, ours)
        await self._index.write(table.forget, session_id)

    def drop(self, session_id: str) -> None:
        """Close a log; what was stored of it is read again when it is next opened."""
        opened = self._open.pop(session_id, None)
        if opened is not None:
            opened.close()

    def close(self) -> None:
        """End every feed: the daemon stops."""
        for session_id in list(self._open):
            self.drop(session_id)

    # -- opening -----------------------------------------------------------------------------

    async def _load(self, row: Row) -> OpenLog:
        """Load the log as it was stored, however far behind its transcript."""
        reads = self._formats.get(row.agent, _NO_FORMAT)
        stored = await self._index.ask(table.load_log, row.session_id)
        ledger = await self._kept(row.session_id)
        # A newer ledger is of a rewrite whose places did not reach the index any more.
        if stored is not None and (ledger is None or ledger.generation <= stored.generation):
            sound = _unpack(row.session_id, stored)
            if sound is not None:
                return OpenLog(sound[0], reads, row.path, sound[1])
        if ledger is None:
            fresh = LogState(0, row.generation, Cursor())
            return OpenLog(Log(row.session_id), reads, row.path, fresh)
        log = Log.from_ledger(row.session_id, ledger.generation, ledger.entries)
        return OpenLog(log, reads, row.path, LogState(0, _UNPLACED, Cursor()))

    async def _catch_up(self, opened: OpenLog, row: Row) -> None:
        cursor = opened.state.cursor.copy()
        entries = await trio.to_thread.run_sync(
            read_entries, opened.format, row, opened.state.offset, cursor
        )
        await self._extend(opened, row, entries, cursor)

    async def _extend(
        self, opened: OpenLog, row: Row, entries: Sequence[Entry], cursor: Cursor
    ) -> None:
        """Number and store what a transcript has grown by.

        A client that goes away meanwhile must not cost the others the log: what has begun is
        brought to its end, which a file's reading and a write of the index bound.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        with self._or_lost(opened), trio.CancelScope(shield=True):
            opened.append(entries)
            log, read = opened.log, _Read(cursor.take_links(), forks.of(opened.log, entries))
            state = LogState(row.offset, row.generation, cursor)
            if log.generation != opened.generation:
                await self._ledgers.save_ledgers([_ledger(log, row)])
            quick = len(entries) <= QUICK_ENTRIES and not read.forks
            write = self._index.write if quick else self._index.write_in_thread
            save = _save if opened.state.offset else _save_anew
            await write(save, row, log, state, read)
            opened.settle(log, state, row.path)

    async def _read_anew(self, opened: OpenLog, row: Row) -> None:
        """Give every message of a transcript that is not the one it was its place again."""
        cursor = Cursor()
        entries: list[Entry] = []
        if not row.gone:
            entries = await trio.to_thread.run_sync(read_entries, opened.format, row, 0, cursor)
        log = opened.log.copy()  # no reader may see of it what is not stored
        if opened.state.seen == _UNPLACED:
            log.append(entries)
        else:
            await trio.to_thread.run_sync(log.rebuild, entries)  # 85 ms for 100 000 messages
        read = _Read(cursor.take_links(), forks.of(log, entries))
        ledger = await trio.to_thread.run_sync(_ledger, log, row)
        await self._ledgers.save_ledgers([ledger])
        state = LogState(row.offset, row.generation, cursor)
        await self._index.write_in_thread(_save_anew, row, log, state, read)
        opened.settle(log, state, row.path)

    def _close_old(self, used: OpenLog) -> None:
        idle = [key for key, one in self._open.items() if not one.users and one is not used]
        for key in idle[: max(0, len(self._open) - KEPT_OPEN)]:
            del self._open[key]


_UNPLACED = -1  # the generation seen by a log of which only the ledger is left


def _unpack(session_id: str, stored: table.StoredLog) -> tuple[Log, LogState] | None:
    """Unpack a log as it was stored; ``None`` for one that is damaged: it is made again."""
    try:
        log = Log(session_id, stored.generation, stored.packed)
        state = msgspec.json.decode(stored.state, type=LogState)
    except ValueError:
        return None
    return (log, state) if log.last_seq == stored.last_seq else None


def _ledger(log: Log, row: Row) -> Ledger:
    kept = table.row_to_json(row) if row.gone else None
    return Ledger(log.session_id, log.generation, log.ledger(), kept)


def has_log(connection: sqlite3.Connection, session_id: str) -> bool:
    """Return whether any client may know numbers of this session."""
    return session_id in table.with_logs(connection, [session_id])


class _Read(NamedTuple):
    """The parts read of a transcript beside its messages.

    ``links`` as ``Cursor.take_links`` returns them; ``forks``: those whose origin is to be found.
    """

    links: bytes
    forks: Sequence[forks.Fork]


_NOTHING = _Read(b"", ())

_NO_FORMAT = NoFormat()


def _save_anew(
    connection: sqlite3.Connection, row: Row, log: Log, state: LogState, read: _Read
) -> None:
    """Store a log whose transcript was read from its start: what was read before counts no more."""
    links.drop(connection, log.session_id)
    _save(connection, row, log, state, read)


def _save(connection: sqlite3.Connection, row: Row, log: Log, state: LogState, read: _Read) -> None:
    """Store a log with the links first, through which the origins of its forks are found."""
    links.save(connection, log.session_id, read.links)
    forks.resolve(connection, log, read.forks)
    table.save(connection, [row])
    packed = msgspec.json.encode(state)
    table.save_log(connection, log.session_id, log.generation, packed, log.last_seq)
    for number, data in log.dirty_pages():
        table.save_page(connection, log.session_id, number, data)


def _save_lost(
    connection: sqlite3.Connection, rows: Sequence[Row], logs: Sequence[tuple[Row, Log, LogState]]
) -> None:
    table.save(connection, rows)
    for row, log, state in logs:
        _save_anew(connection, row, log, state, _NOTHING)


class Changed(Exception):
    """The transcript is no longer the one that the row describes: bring the row up to date."""


def read_entries(format: SessionFormat, row: Row, start: int, cursor: Cursor) -> list[Entry]:
    """Return the messages between ``start`` and where the row was read to; ``cursor`` is moved on.

    Raises ``Changed``.
    """
    found: list[Entry] = []
    for offset, chunk in _chunks(row, start):
        found += format.entries(cursor, chunk, offset)
    return found


def _chunks(row: Row, start: int) -> Iterator[tuple[int, bytes]]:
    try:
        descriptor = os.open(row.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise Changed from error
    try:
        found = os.fstat(descriptor)
        mark = Mark(row.head, row.tail)
        if found.st_ino != row.ino or not same(descriptor, row.offset, mark):
            raise Changed
        yield from chunks(descriptor, start, row.offset)
        if not same(descriptor, row.offset, mark):  # while it was read
            raise Changed
    except OSError as error:
        raise Changed from error
    finally:
        os.close(descriptor)
