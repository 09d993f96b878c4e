"""The sessions' tables of ``index.db``: plain functions over a connection.

A change belongs in a transaction of the caller's. Every function raises ``sqlite3.Error``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from podiumd.formats.session import Summary
from podiumd.sessions.index.tree import Companion, Known
from podiumd.sessions.log import links
from podiumd.sessions.log.numbered import PAGE
from podiumd.store.conditions import CALLED_OTHERWISE, NAMED_OTHERWISE

if TYPE_CHECKING:
    # The processes that read transcripts need the rows, and start sooner without the database.
    import sqlite3


class Row(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The index's row of one session.

    ``dev``, ``ino``, ``size`` and ``mtime_ns`` are those of the file when it was last read;
    ``offset`` is after the last complete line that was read, and ``head`` and ``tail`` are the
    ``reading.Mark`` there. ``generation`` counts rewrites, from 1. ``problems`` has a bit for every
    kind of problem that was reported (``update.Problem``). ``gone``: the file is no longer there.
    ``sort_at``: when the last record was made, else when the file was written, in milliseconds
    since 1970. ``own_id`` is the agent's own id of the session, ``""`` where it is this one.
    """

    session_id: str
    agent: str
    path: str
    dev: int
    ino: int
    size: int
    mtime_ns: int
    offset: int
    head: bytes
    tail: bytes
    generation: int
    summary: Summary
    problems: int
    gone: bool
    sort_at: int
    own_id: str = ""


class StoredLog(msgspec.Struct, frozen=True):
    """A session's log: ``packed`` is all its pages joined, ``state`` is saved with it."""

    generation: int
    state: bytes
    last_seq: int
    packed: bytes


def row_to_json(row: Row) -> bytes:
    """Encode a row as JSON, with any bytes in its path."""
    return json.dumps(msgspec.to_builtins(row)).encode()


def row_from_json(data: bytes) -> Row:
    """Return the row that ``row_to_json`` made this of."""
    return msgspec.convert(json.loads(data), Row)


_COLUMNS: Final = (*(name for name in Row.__struct_fields__), "cwd")
_NAMES: Final = ", ".join(_COLUMNS)
_SAVE: Final = (
    f"INSERT INTO sessions ({_NAMES}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
    " ON CONFLICT (session_id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)
)
_SELECT: Final = f"SELECT {_NAMES} FROM sessions"  # noqa: S608

_encode: Final = msgspec.json.Encoder().encode
_decode_summary: Final = msgspec.json.Decoder(Summary).decode

# -- sessions ------------------------------------------------------------------------------------


def known(connection: sqlite3.Connection) -> Known:
    """Return what is known of the files that are not gone."""
    sessions = connection.execute(
        "SELECT path, size, mtime_ns, ino, dev FROM sessions WHERE gone = 0"
    )
    companions = connection.execute("SELECT path, size, mtime_ns, session_id FROM companions")
    named = connection.execute(f"SELECT path, session_id FROM sessions WHERE {CALLED_OTHERWISE}")  # noqa: S608
    return Known(
        # Thousands of these are read at every start: they are taken as they come where they can.
        {
            path if path.__class__ is str else os.fsdecode(path): facts
            if path.__class__ is str and facts[3] >= 0 <= facts[4]
            else (os.fsdecode(path), facts[1], facts[2], facts[3] % _WRAP, facts[4] % _WRAP)
            for facts in sessions
            if (path := facts[0])
        },
        {_from_sql(path): (_from_sql(path), *rest) for path, *rest in companions},
        {_from_sql(path): session_id for path, session_id in named},
    )


def count(connection: sqlite3.Connection, cwd: str | None = None) -> int:
    """Return how many sessions there are (of one working directory), with those that are gone."""
    where, values = ("", ()) if cwd is None else (" WHERE cwd = ?", (cwd,))
    (number,) = connection.execute(
        f"SELECT count(*) FROM sessions{where}",  # noqa: S608
        values,
    ).fetchone()
    return int(number)


def row(connection: sqlite3.Connection, session_id: str) -> Row | None:
    """Return a session's row by its whole id."""
    return _one(connection, " WHERE session_id = ?", session_id)


def rows(connection: sqlite3.Connection, session_ids: Sequence[str]) -> list[Row]:
    """Return the rows of those of the sessions that are known."""
    found = connection.execute(
        f"{_SELECT} WHERE session_id IN (SELECT value FROM json_each(?))",  # noqa: S608
        (_json(session_ids),),
    )
    return [_row(columns) for columns in found]


def row_of_path(connection: sqlite3.Connection, path: str) -> Row | None:
    """Return the row of the session that is followed in this file; not of one that is gone."""
    return _one(connection, " WHERE path = ? AND gone = 0", _to_sql(path))


def with_prefix(connection: sqlite3.Connection, prefix: str, limit: int) -> list[str]:
    """Return sessions whose id, or the agent's own, begins so, at most ``limit`` of each."""
    span = (f"{prefix}", f"{prefix}\U0010ffff", limit)
    found = connection.execute(
        "SELECT session_id FROM sessions WHERE session_id >= ? AND session_id < ?"
        " ORDER BY session_id LIMIT ?",
        span,
    ).fetchall()
    found += connection.execute(
        f"SELECT session_id FROM sessions WHERE {NAMED_OTHERWISE} AND own_id >= ? AND own_id < ?"  # noqa: S608
        " ORDER BY own_id LIMIT ?",
        span,
    )
    return [session_id for (session_id,) in found]


def own_ids(
    connection: sqlite3.Connection, session_ids: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Return of those of the sessions that are known their agents, and the agents' own ids."""
    found = connection.execute(
        "SELECT session_id, agent, own_id FROM sessions"
        " WHERE session_id IN (SELECT value FROM json_each(?))",
        (_json(session_ids),),
    )
    return {session_id: (agent, own_id or session_id) for session_id, agent, own_id in found}


def listing(
    connection: sqlite3.Connection, cwd: str | None, limit: int, before: int | None = None
) -> tuple[list[Row], int]:
    """Return one page of the sessions, the newest first, and how many there are in all.

    Parameters:
        cwd: only those of this working directory, and count only them.
        before: only those with a smaller ``sort_at`` (milliseconds): that of the last row of
            the page before.

    A page may be longer than ``limit``: it has all the rows that share the last one's ``sort_at``,
    so that none falls between two pages.
    """
    where, values = ("", ()) if cwd is None else (" AND cwd = ?", (cwd,))
    total = count(connection, cwd)
    found = connection.execute(
        f"{_SELECT} WHERE sort_at < ?{where} ORDER BY sort_at DESC, session_id LIMIT ?",
        (_MAX if before is None else before, *values, limit),
    ).fetchall()
    rows = [_row(columns) for columns in found]
    if len(rows) == limit and rows:
        rest = connection.execute(
            f"{_SELECT} WHERE sort_at = ? AND session_id > ?{where} ORDER BY session_id",
            (rows[-1].sort_at, rows[-1].session_id, *values),
        )
        rows += [_row(columns) for columns in rest]
    return rows, total


def gone(connection: sqlite3.Connection, before: int | None) -> list[str]:
    """Return the sessions whose transcript is gone, with a smaller ``sort_at`` (``None``: all)."""
    found = connection.execute(
        "SELECT session_id FROM sessions WHERE gone = 1 AND sort_at < ? ORDER BY sort_at",
        (_MAX if before is None else before,),
    )
    return [session_id for (session_id,) in found]


def save(connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Insert or replace rows."""
    connection.executemany(_SAVE, map(_columns, rows))


def is_restored(connection: sqlite3.Connection) -> bool:
    """Return whether ``restore`` was called since this index was made."""
    found = connection.execute("SELECT 1 FROM meta WHERE key = 'restored'").fetchone()
    return found is not None


def restore(connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Insert the rows of a new index that no file can show, and note that this was done."""
    save(connection, rows)
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('restored', '')")


def forget(connection: sqlite3.Connection, session_id: str) -> None:
    """Remove all that is known of a session: its row, its companions and its log."""
    drop_log(connection, session_id)
    connection.execute("DELETE FROM companions WHERE session_id = ?", (session_id,))
    connection.execute("DELETE FROM sessions WHERE session_id = ?", (session_id,))


# -- companions ----------------------------------------------------------------------------------


def save_companions(connection: sqlite3.Connection, companions: Iterable[Companion]) -> None:
    """Insert or replace companions, by their paths."""
    connection.executemany(
        "INSERT OR REPLACE INTO companions (session_id, path, kind, size, mtime_ns)"
        " VALUES (?, ?, ?, ?, ?)",
        (
            (one.session_id, _to_sql(one.path), one.kind, one.size, one.mtime_ns)
            for one in companions
        ),
    )


def forget_companion(connection: sqlite3.Connection, path: str) -> None:
    """Remove a companion, if there is one with this path."""
    connection.execute("DELETE FROM companions WHERE path = ?", (_to_sql(path),))


def update_companions(
    connection: sqlite3.Connection, companions: Iterable[Companion], gone: Iterable[str]
) -> None:
    """Remove the companions with these paths, then insert or replace others."""
    for path in gone:
        forget_companion(connection, path)
    save_companions(connection, companions)


def companions(connection: sqlite3.Connection, session_id: str) -> list[Companion]:
    """Return what belongs to a session, in the order of the paths."""
    found = connection.execute(
        "SELECT session_id, path, kind, size, mtime_ns FROM companions WHERE session_id = ?"
        " ORDER BY path",
        (session_id,),
    )
    return [
        Companion(owner, _from_sql(path), kind, size, mtime_ns)
        for owner, path, kind, size, mtime_ns in found
    ]


def companion_counts(
    connection: sqlite3.Connection, session_ids: Sequence[str]
) -> dict[str, dict[str, int]]:
    """Return how many companions of each kind the sessions have; no entry where it is none."""
    counts: dict[str, dict[str, int]] = {}
    found = connection.execute(
        "SELECT session_id, kind, count(*) FROM companions"
        " WHERE session_id IN (SELECT value FROM json_each(?)) GROUP BY session_id, kind",
        (_json(session_ids),),
    )
    for session_id, kind, number in found:
        counts.setdefault(session_id, {})[kind] = number
    return counts


# -- logs ----------------------------------------------------------------------------------------


def save_log(
    connection: sqlite3.Connection, session_id: str, generation: int, state: bytes, last_seq: int
) -> None:
    """Insert or replace what is kept of a log beside its pages."""
    connection.execute(
        "INSERT OR REPLACE INTO logs (session_id, generation, state, last_seq) VALUES (?, ?, ?, ?)",
        (session_id, generation, state, last_seq),
    )


def save_page(connection: sqlite3.Connection, session_id: str, page: int, data: bytes) -> None:
    """Insert or replace one page of a log; pages count from 0."""
    connection.execute(
        "INSERT OR REPLACE INTO log_pages (session_id, page, data) VALUES (?, ?, ?)",
        (session_id, page, data),
    )


def load_log(connection: sqlite3.Connection, session_id: str) -> StoredLog | None:
    """Return a session's log; ``None`` if there is none, or pages of it are missing."""
    head = connection.execute(
        "SELECT generation, state, last_seq FROM logs WHERE session_id = ?", (session_id,)
    ).fetchone()
    if head is None:
        return None
    generation, state, last_seq = head
    pages = connection.execute(
        "SELECT page, data FROM log_pages WHERE session_id = ? ORDER BY page", (session_id,)
    ).fetchall()
    if [number for number, _ in pages] != list(range(-(-last_seq // PAGE))):
        return None
    return StoredLog(generation, state, last_seq, b"".join(data for _, data in pages))


def with_logs(connection: sqlite3.Connection, session_ids: Sequence[str]) -> set[str]:
    """Return which of the sessions have a log."""
    found = connection.execute(
        "SELECT session_id FROM logs WHERE session_id IN (SELECT value FROM json_each(?))",
        (_json(session_ids),),
    )
    return {session_id for (session_id,) in found}


def drop_log(connection: sqlite3.Connection, session_id: str) -> None:
    """Remove a session's log."""
    links.drop(connection, session_id)
    connection.execute("DELETE FROM log_pages WHERE session_id = ?", (session_id,))
    connection.execute("DELETE FROM logs WHERE session_id = ?", (session_id,))


# -- columns -------------------------------------------------------------------------------------

# SQLite's integers are signed; inode and device numbers are not.
_WRAP: Final = 1 << 64
_MAX: Final = (1 << 63) - 1


def _to_sql(path: str) -> str | bytes:
    """Return a path as a value: bytes where its name is not UTF-8, which SQLite has no text for."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def _from_sql(path: str | bytes) -> str:
    return os.fsdecode(path)


def _signed(number: int) -> int:
    return number - _WRAP if number > _MAX else number


def _columns(row: Row) -> tuple[Any, ...]:
    values = msgspec.structs.asdict(row)
    values["path"] = _to_sql(row.path)
    values["dev"], values["ino"] = _signed(row.dev), _signed(row.ino)
    values["summary"] = _encode(row.summary)
    return (*values.values(), row.summary.cwd)


def _row(columns: tuple[Any, ...]) -> Row:
    values = dict(zip(_COLUMNS, columns, strict=True))
    del values["cwd"]
    values["path"] = _from_sql(values["path"])
    values["dev"] %= _WRAP
    values["ino"] %= _WRAP
    values["summary"] = _decode_summary(values["summary"])
    values["gone"] = bool(values["gone"])
    return Row(**values)


def _one(connection: sqlite3.Connection, where: str, value: str | bytes) -> Row | None:
    columns = connection.execute(f"{_SELECT}{where}", (value,)).fetchone()
    return None if columns is None else _row(columns)


def _json(values: Sequence[str]) -> str:
    return _encode(list(values)).decode()
