"""The index's connection, shared by the event loop and its worker threads, one use at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Concatenate, ParamSpec, TypeVar

import trio

P = ParamSpec("P")
T = TypeVar("T")
Query = Callable[Concatenate[sqlite3.Connection, P], T]

COMMITS_A_CHECKPOINT, LARGE_COMMIT = 200, 10
"""Small commits between two checkpoints, which wait for the disk and so run in a thread; and for
how many of them one large commit counts."""


class Index:
    """``index.db`` behind a lock.

    A commit does not wait for the disk (``synchronous = NORMAL``): it outlives the process, and
    what a power cut takes away is read again from the transcripts. So small reads and writes run
    in the event loop itself, in some tens of microseconds.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._connection.execute("PRAGMA wal_autocheckpoint = 0")
        self._path: str = connection.execute("PRAGMA database_list").fetchone()[2]
        self._lock = trio.Lock()
        self._writing = trio.Lock()  # taken before the other
        self._large = trio.Lock()
        self._commits = 0

    async def ask(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a quick query. Raises ``sqlite3.Error``."""
        async with self._lock:
            return query(self._connection, *args, **kwargs)

    async def ask_in_thread(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a query that may take milliseconds, in a thread. Raises ``sqlite3.Error``."""
        async with self._lock:
            return await trio.to_thread.run_sync(lambda: query(self._connection, *args, **kwargs))

    async def write(self, change: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a small change in a transaction. Raises ``sqlite3.Error``; nothing is then stored."""
        async with self._writing, self._lock:
            with _transaction(self._connection):
                result = change(self._connection, *args, **kwargs)
        await self._checkpoint_after(1)
        return result

    async def write_in_thread(self, change: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a change of many rows in a transaction, in a thread. Raises as ``write``.

        None begins before the checkpoint after the one before it is over.
        """

        def work() -> T:
            with _transaction(self._connection):
                return change(self._connection, *args, **kwargs)

        async with self._large:
            async with self._writing, self._lock:
                result = await trio.to_thread.run_sync(work)
            await self._checkpoint_after(LARGE_COMMIT)
        return result

    async def _checkpoint_after(self, commits: int) -> None:
        self._commits += commits
        if self._commits < COMMITS_A_CHECKPOINT:
            return
        await self.checkpoint()

    async def checkpoint(self) -> None:
        """Bring what was committed into the database file. Raises ``sqlite3.Error``.

        Only the caller waits for the disk. Commits made meanwhile are few: with those done too the
        log begins anew, for which SQLite keeps writers out. They wait here, not in the event loop.
        Without it the log would grow for as long as much is written: to gigabytes at 100,000
        sessions.

        The first one costs a descriptor for good: SQLite parks that of a closed connection while
        another of the process has a lock on the file, and gives it to the next one.
        """
        self._commits = 0
        await trio.to_thread.run_sync(_checkpoint, self._path, "PASSIVE")
        async with self._writing:
            await trio.to_thread.run_sync(_checkpoint, self._path, "RESTART")


def _checkpoint(path: str, mode: str) -> None:
    # On a connection of its own, so that who reads goes on.
    with closing(sqlite3.connect(path, timeout=0)) as connection:
        connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
