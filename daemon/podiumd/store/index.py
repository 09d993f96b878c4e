"""``index.db``: what can be read again from the agents' own files, kept to start fast."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from podiumd.store.conditions import CALLED_OTHERWISE, NAMED_OTHERWISE
from podiumd.store.connection import (
    LOCK_WAIT_SECONDS,
    beside,
    make_private,
    remove_database,
)
from podiumd.store.errors import DATABASE_ERRORS

INDEX_NAME = "index.db"

# Another schema is another file: the index is made anew, never migrated.
INDEX_SCHEMA = 6

# The columns are described where they are written: ``sessions/index/table.py``. A path that is not
# UTF-8 is a BLOB, which a TEXT column of an ordinary table takes.
_TABLES = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions (
    session_id TEXT NOT NULL PRIMARY KEY,
    agent TEXT NOT NULL,
    path TEXT NOT NULL,
    dev INTEGER NOT NULL,
    ino INTEGER NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    head BLOB NOT NULL,
    tail BLOB NOT NULL,
    generation INTEGER NOT NULL,
    summary BLOB NOT NULL,
    problems INTEGER NOT NULL,
    gone INTEGER NOT NULL,
    sort_at INTEGER NOT NULL,
    own_id TEXT NOT NULL,
    cwd TEXT NOT NULL
);
CREATE INDEX sessions_by_time ON sessions (sort_at DESC, session_id);
CREATE INDEX sessions_by_directory ON sessions (cwd, sort_at DESC, session_id);
CREATE INDEX sessions_by_path ON sessions (path, size, mtime_ns, ino, dev, gone);
CREATE INDEX sessions_called_otherwise ON sessions (path, session_id)
    WHERE {CALLED_OTHERWISE};
CREATE INDEX sessions_by_own_id ON sessions (own_id, session_id) WHERE {NAMED_OTHERWISE};
CREATE TABLE companions (
    path TEXT NOT NULL PRIMARY KEY,
    session_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX companions_by_session ON companions (session_id, kind);
CREATE TABLE complaints (
    path BLOB NOT NULL,
    problem TEXT NOT NULL,
    PRIMARY KEY (path, problem)
) WITHOUT ROWID;
CREATE TABLE logs (
    session_id TEXT NOT NULL PRIMARY KEY,
    generation INTEGER NOT NULL,
    state BLOB NOT NULL,
    last_seq INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE log_pages (
    session_id TEXT NOT NULL,
    page INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (session_id, page)
);
CREATE TABLE log_links (
    session_id TEXT NOT NULL,
    page INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (session_id, page)
);
"""


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
    """Open a sound database. Raises ``sqlite3.DatabaseError`` for one that is not, or of another
    schema."""
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
        connection.executescript(_TABLES)
        connection.execute(f"PRAGMA user_version = {INDEX_SCHEMA}")
    draft.rename(path)
    return _connect(path)
