"""The files of the store's databases: connections, names beside them, what makes them durable."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import trio

from podiumd.store.errors import DATABASE_ERRORS, failed

FACTS_NAME = "facts.db"

# A commit is on the disk when it returns (FULL; on macOS only fullfsync reaches the medium, and
# elsewhere those two do nothing). cell_size_check finds a damaged page before it is believed.
DURABLE_PRAGMAS: tuple[str, ...] = (
    "synchronous = FULL",
    "fullfsync = ON",
    "checkpoint_fullfsync = ON",
    "journal_size_limit = 16777216",
    "cell_size_check = ON",
    "trusted_schema = OFF",
)
READER_PRAGMAS: tuple[str, ...] = (
    "query_only = ON",
    "cell_size_check = ON",
    "trusted_schema = OFF",
)

# Only a person's own SQLite shell should ever hold the lock.
LOCK_WAIT_SECONDS = 5.0

_WITH_IT = ("-wal", "-shm")


def _connect(path: Path, mode: str, pragmas: Sequence[str]) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=LOCK_WAIT_SECONDS,
        check_same_thread=False,
    )
    try:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_writer(path: Path) -> sqlite3.Connection:
    """Open a connection that writes durably, in autocommit mode. Raises ``sqlite3.Error``."""
    return _connect(path, "rw", DURABLE_PRAGMAS)


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open a connection that cannot write. Raises ``sqlite3.Error``.

    Text comes back even when it is not UTF-8, so that a checksum can judge it.
    """
    connection = _connect(path, "ro", READER_PRAGMAS)
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return connection


def make_private(directory: Path) -> None:
    """Make the directory, for its user alone, or take others' rights to it away."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if stat.S_IMODE(directory.stat().st_mode) & 0o077:
        directory.chmod(0o700)


def remove_database(path: Path) -> None:
    """Remove a database with the files that belong to it."""
    for name in (path, *(beside(path, suffix) for suffix in _WITH_IT)):
        name.unlink(missing_ok=True)


def beside(path: Path, suffix: str) -> Path:
    """Return the path with the suffix added to its name."""
    return path.with_name(path.name + suffix)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Make the content of a file durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


T = TypeVar("T")

# Two, so that one long page of events does not hold up a client's list of runs.
READERS = 2


class Readers:
    """Read-only connections, each used on a worker thread by one query at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._limiter = trio.CapacityLimiter(READERS)
        self._idle: list[sqlite3.Connection] = []

    async def run(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Run a query that reads all it needs before it returns. Raises ``StoreError``."""
        return await trio.to_thread.run_sync(self._run, query, limiter=self._limiter)

    def _run(self, query: Callable[[sqlite3.Connection], T]) -> T:
        try:
            try:
                connection = self._idle.pop()
            except IndexError:  # asking first is too late: the other thread may be quicker
                connection = connect_reader(self._path)
            try:
                result = query(connection)
            except BaseException:
                # After any error the next query begins with a connection of its own.
                connection.close()
                raise
        except DATABASE_ERRORS as error:
            raise failed(self._path, error) from error
        self._idle.append(connection)
        return result

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            self._idle.pop().close()
