"""The connections that read ``facts.db``, and the threads that use them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import trio

from podiumd.store.connection import connect_reader
from podiumd.store.errors import DATABASE_ERRORS, failed

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
