"""``index.db``: what can be read again from the agents' own files, kept to start fast."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from podiumd.store.connection import (
    LOCK_WAIT_SECONDS,
    beside,
    make_private,
    remove_database,
)
from podiumd.store.errors import DATABASE_ERRORS

INDEX_NAME = "index.db"

# Another schema is another file: the index is made anew, never migrated.
INDEX_SCHEMA = 1

_TABLES = ("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",)


def open_index(directory: Path) -> tuple[sqlite3.Connection, bool]:
    """Open the index for writing; one that is missing, bad or of another release is made anew.

    Parameters: ``directory`` is STATE.
    Returns the connection (autocommit; the caller closes it) and whether it is new and empty.
    Raises ``OSError`` or ``sqlite3.Error`` where even a new one cannot be made.
    """
    make_private(directory)
    path = directory / INDEX_NAME
    if path.is_file():
        try:
            return _open_sound(path), False
        except DATABASE_ERRORS:
            pass  # nothing in it is worth more than reading the sources again
    remove_database(path)
    return _make(path), True


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, isolation_level=None, timeout=LOCK_WAIT_SECONDS, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _open_sound(path: Path) -> sqlite3.Connection:
    """Raises ``sqlite3.DatabaseError`` for a database that is not sound or not this schema."""
    connection = _connect(path)
    try:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != INDEX_SCHEMA or verdict != "ok":
            raise sqlite3.DatabaseError(f"schema {found}, check {verdict}")
        connection.execute("SELECT count(*) FROM meta").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _make(path: Path) -> sqlite3.Connection:
    draft = beside(path, ".new")
    remove_database(draft)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with closing(_connect(draft)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {INDEX_SCHEMA}")
    draft.rename(path)
    return _connect(path)
