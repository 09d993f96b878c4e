"""Errors of the store: the faults of a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podiumd.store.records import StoredFact

# Errors of Python's sqlite3 on a file that is not sound: a message of SQLite that quotes damaged
# text is not always UTF-8, and a damaged length can ask for more memory than there is.
DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError, MemoryError)

_CORRUPT = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class StoreError(Exception):
    """Base of everything the store raises; ``file`` is the database it is about."""

    def __init__(self, file: Path, message: str) -> None:
        super().__init__(message)
        self.file = file


class StoreUnreadable(StoreError):
    """The database cannot be opened; nothing in it was changed."""

    def __init__(self, file: Path, reason: str, fix: str) -> None:
        super().__init__(
            file,
            f"{file} cannot be opened: {reason}. It holds the history of every run, so Podium"
            f" does not start without it. {fix}",
        )
        self.reason = reason
        self.fix = fix


class StoreTooNew(StoreError):
    """The database was written by a newer release than this one."""

    def __init__(self, file: Path, found: int, known: int) -> None:
        super().__init__(
            file,
            f"{file} has schema {found}, and this release knows schemas up to {known}: a newer"
            " Podium wrote it. Start that release again, or a later one.",
        )
        self.found = found
        self.known = known


class StoreFailed(StoreError):
    """A read or write that failed; the store goes on, and later calls may succeed."""


class StoreFull(StoreFailed):
    """A write failed for want of space; nothing of it was stored."""


class TokenTaken(StoreError):
    """Another decision already used this client token; nothing was stored."""

    def __init__(self, file: Path, method: str, token: str) -> None:
        super().__init__(file, f"the client token {token!r} was already used for {method}")
        self.method = method
        self.token = token


class RunForgotten(StoreError):
    """A decision about a run that was deleted meanwhile; nothing was stored."""

    def __init__(self, file: Path, run_id: str) -> None:
        super().__init__(file, f"run {run_id} was deleted before this could be stored")


class RunUnreadable(StoreError):
    """A run's log that cannot be read to its end; other runs are unaffected.

    ``prefix`` holds the facts that were read before fact ``seq``, the first bad one.
    """

    def __init__(
        self, file: Path, run_id: str, seq: int, reason: str, prefix: Sequence[StoredFact]
    ) -> None:
        super().__init__(file, f"{file}: fact {seq} of run {run_id} {reason}")
        self.run_id = run_id
        self.seq = seq
        self.reason = reason
        self.prefix = tuple(prefix)


class FactDamaged(RunUnreadable):
    """A fact is missing, or is not what was stored."""


class FactTooNew(RunUnreadable):
    """A fact has a version that only a newer release knows."""


def is_damage(error: BaseException) -> bool:
    """Return whether this error says that the file's content is not a sound database."""
    if isinstance(error, UnicodeDecodeError):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    # Low byte: the primary code; the rest is detail.
    return isinstance(code, int) and code & 0xFF in _CORRUPT


def is_transient(error: BaseException) -> bool:
    """Return whether this error makes the connection itself suspect, and not one statement."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(
        error,
        sqlite3.IntegrityError
        | sqlite3.ProgrammingError
        | sqlite3.DataError
        | sqlite3.NotSupportedError,
    )


def failed(file: Path, error: BaseException) -> StoreFailed:
    """Return the named error for a failed read or write."""
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int) and code & 0xFF == sqlite3.SQLITE_FULL:
        return StoreFull(
            file, f"{file}: no space left to store this. Free some space and try again."
        )
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return StoreFailed(file, f"{file}: the database refused ({name}: {error})")
