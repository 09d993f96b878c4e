"""Log entries for files that cannot be read: each problem once, over restarts too."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from typing import Self

from podiumd.observe.logs import log
from podiumd.sessions.index.database import Index


class LoggedProblems:
    """Problems that were logged, in memory and in the index; a lost index may have them logged
    again."""

    def __init__(self, index: Index, logged: dict[str, set[str]]) -> None:
        self._index = index
        self._logged = logged

    @classmethod
    async def load(cls, index: Index) -> Self:
        """Load what was logged in earlier lives. Raises ``sqlite3.Error``."""
        logged = await index.ask(_read)
        if logged:
            await index.write_in_thread(_prune, logged)
        return cls(index, logged)

    async def log(self, path: str, problem: str) -> None:
        """Log a fault of a file or directory, once. Raises ``sqlite3.Error``."""
        logged = self._logged.setdefault(path, set())
        if problem not in logged:
            logged.add(problem)
            log("Session file cannot be read", "warning", path=path, problem=problem)
            await self._index.write(_save, path, problem)

    async def forget(self, paths: Iterable[str]) -> None:
        """Forget these paths' problems: they could be read, and a later problem is logged again.

        Raises ``sqlite3.Error``.
        """
        for path in [path for path in paths if path in self._logged]:
            self._logged.pop(path, None)
            await self._index.write(_drop, path)


def _read(connection: sqlite3.Connection) -> dict[str, set[str]]:
    logged: dict[str, set[str]] = {}
    for path, problem in connection.execute("SELECT path, problem FROM complaints"):
        logged.setdefault(os.fsdecode(path), set()).add(problem)
    return logged


def _prune(connection: sqlite3.Connection, logged: dict[str, set[str]]) -> None:
    """Drop the problems of files that are gone, so that they do not pile up."""
    for path in [path for path in logged if not os.path.lexists(path)]:
        del logged[path]
        _drop(connection, path)


def _save(connection: sqlite3.Connection, path: str, problem: str) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO complaints (path, problem) VALUES (?, ?)",
        (os.fsencode(path), problem),
    )


def _drop(connection: sqlite3.Connection, path: str) -> None:
    connection.execute("DELETE FROM complaints WHERE path = ?", (os.fsencode(path),))
