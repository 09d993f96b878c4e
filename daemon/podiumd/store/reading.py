"""Queries on ``facts.db``; every fact, run row and ledger is checked against its checksum."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import trio

from podiumd.store.connection import connect_reader
from podiumd.store.errors import (
    DATABASE_ERRORS,
    FactDamaged,
    FactTooNew,
    StoreError,
    failed,
    is_damage,
)
from podiumd.store.records import Ledger, RunRow, StoredFact, TokenRow, checksum
from podiumd.store.upcast import Upcasters

T = TypeVar("T")

# Two, so that one long page of events does not hold up a client's list of runs.
READERS = 2

_FACTS = "SELECT pos, run_id, seq, type, version, at, session_id, data, checksum FROM facts"
_RUNS = """SELECT run_id, kind, status, session_id, working_directory, started_at, ended_at,
    last_seq, summary, checksum FROM runs"""
_LEDGERS = "SELECT session_id, generation, entries, row, checksum FROM ledgers"


ENDED_BEFORE = """status = 'ended' AND ended_at < ? AND number < (SELECT max(number) FROM runs)
    AND run_id <> (SELECT run_id FROM facts ORDER BY pos DESC LIMIT 1)"""


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
                # Whatever it was, the next query begins with a connection of its own.
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


class _Bad(Exception):
    """Why a row cannot be used."""

    def __init__(self, reason: str, *, too_new: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.too_new = too_new


def _fact(row: tuple[Any, ...], upcasters: Upcasters) -> StoredFact:
    pos, run_id, seq, kind, version, at, session_id, data, stored = row
    if not isinstance(data, bytes) or checksum(data, *row[:7]) != stored:
        raise _Bad("does not match its checksum")
    current = upcasters.current(kind)
    if version > current:
        raise _Bad(
            f"is {kind} version {version}, and this release knows versions up to {current}: a"
            " newer Podium wrote it",
            too_new=True,
        )
    try:
        lifted = upcasters.lift(kind, version, data)
    except Exception as error:
        raise _Bad(f"cannot be lifted from {kind} version {version} ({error!r})") from error
    return StoredFact(pos, seq, run_id, kind, current, at, session_id, msgspec.Raw(lifted))


def events(
    connection: sqlite3.Connection,
    file: Path,
    upcasters: Upcasters,
    run_id: str,
    after_seq: int,
    limit: int | None,
) -> list[StoredFact]:
    """The facts of one run, in order. Raises ``FactDamaged``, ``FactTooNew``, ``sqlite3.Error``."""
    prefix: list[StoredFact] = []
    damage: str | None = None
    try:
        # Before the facts: what is added meanwhile must not look like a missing end.
        last_seq = last_seq_of(connection, run_id)
        with closing(
            connection.execute(
                f"{_FACTS} WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?",
                (run_id, after_seq, -1 if limit is None else limit),
            )
        ) as rows:
            for row in rows:
                if row[2] != after_seq + len(prefix) + 1:
                    damage = "is missing"
                    break
                prefix.append(_fact(row, upcasters))
    except _Bad as bad:
        kind = FactTooNew if bad.too_new else FactDamaged
        raise kind(file, run_id, after_seq + len(prefix) + 1, bad.reason, prefix) from bad
    except DATABASE_ERRORS as error:
        if not is_damage(error):
            raise
        seq = after_seq + len(prefix) + 1
        raise FactDamaged(file, run_id, seq, f"cannot be read ({error})", prefix) from error
    if after_seq + len(prefix) < last_seq and (limit is None or len(prefix) < limit):
        damage = "is missing"
    if damage is not None:
        raise FactDamaged(file, run_id, after_seq + len(prefix) + 1, damage, prefix)
    return prefix


def last_seq_of(connection: sqlite3.Connection, run_id: str) -> int:
    """The number of a run's last fact, as its row has it; 0 where the row cannot say it.

    Raises ``sqlite3.Error``.
    """
    row = connection.execute(f"{_RUNS} WHERE run_id = ?", (run_id,)).fetchone()
    # A damaged run row is no reason to call its facts damaged.
    return int(row[7]) if row is not None and _intact(row) else 0


def events_after(
    connection: sqlite3.Connection,
    upcasters: Upcasters,
    pos: int,
    limit: int,
    types: frozenset[str] | None,
) -> list[StoredFact]:
    """The facts of all runs after ``pos``, in order, without those that cannot be read.

    Raises ``sqlite3.Error``.
    """
    wanted = "" if types is None else f"AND type IN ({', '.join('?' * len(types))})"
    found: list[StoredFact] = []
    query = f"{_FACTS} WHERE pos > ? {wanted} ORDER BY pos"
    with closing(connection.execute(query, (pos, *sorted(types or ())))) as rows:
        while len(found) < limit and (row := rows.fetchone()) is not None:
            try:
                found.append(_fact(row, upcasters))
            except _Bad:
                continue  # its run's own log says so; the others go on
    return found


def ended_recipes(
    connection: sqlite3.Connection, upcasters: Upcasters, after: int, until: int, limit: int
) -> list[StoredFact]:
    """The newest ends of recipes between two positions, the oldest of them first, without those
    that cannot be read.

    Raises ``sqlite3.Error``.
    """
    query = (
        f"{_FACTS} WHERE pos > ? AND pos <= ? AND type = 'run.ended'"  # noqa: S608 - of constants
        " AND run_id IN (SELECT run_id FROM runs WHERE kind = 'recipe') ORDER BY pos DESC LIMIT ?"
    )
    found: list[StoredFact] = []
    for row in connection.execute(query, (after, until, limit)).fetchall():
        with suppress(_Bad):  # its run's own log says so
            found.append(_fact(row, upcasters))
    return found[::-1]


def last_pos(connection: sqlite3.Connection) -> int:
    """The position of the newest fact; 0 when there is none."""
    return int(connection.execute("SELECT coalesce(max(pos), 0) FROM facts").fetchone()[0])


def runs(
    connection: sqlite3.Connection,
    where: str,
    parameters: tuple[object, ...],
    limit: int | None,
) -> list[RunRow]:
    """Run rows that meet a condition, newest first. Raises ``sqlite3.Error``."""
    query = f"{_RUNS} WHERE {where} ORDER BY number DESC LIMIT ?"
    rows = connection.execute(query, (*parameters, -1 if limit is None else limit)).fetchall()
    return [_run_row(row) for row in rows]


def _intact(row: tuple[Any, ...]) -> bool:
    """Whether a row of ``_RUNS`` still is what was stored."""
    fields, summary, stored = row[:8], row[8], row[9]
    return isinstance(summary, bytes) and checksum(summary, *fields) == stored


def _run_row(row: tuple[Any, ...]) -> RunRow:
    fields, summary, intact = row[:8], row[8], _intact(row)
    if not intact:
        # As much as can be shown; None stays where None may stand.
        fields = tuple(None if value is None else str(value) for value in fields)
    run_id, kind, status, session_id, working_directory, started_at, ended_at, _ = fields
    return RunRow(
        run_id=run_id or "",
        kind=kind or "",
        status=status or "",
        session_id=session_id,
        working_directory=working_directory or "",
        started_at=started_at or "",
        ended_at=ended_at,
        summary=summary if intact else b"null",
        intact=intact,
    )


def token(connection: sqlite3.Connection, method: str, name: str) -> TokenRow | None:
    """What a client token was used for. Raises ``sqlite3.Error``."""
    query = "SELECT params_digest, run_id, at FROM tokens WHERE method = ? AND token = ?"
    row = connection.execute(query, (method, name)).fetchone()
    return TokenRow(*map(str, row)) if row else None


def value(connection: sqlite3.Connection, file: Path, query: str, key: str) -> bytes | None:
    """The one value a query finds for a key. Raises ``StoreError``, ``sqlite3.Error``."""
    row = connection.execute(query, (key,)).fetchone()
    if row is None:
        return None
    if not isinstance(row[0], bytes):
        raise StoreError(file, f"{file}: the value of {key!r} is damaged")
    return row[0]


def sessions_with_prefix(connection: sqlite3.Connection, prefix: str, limit: int) -> list[str]:
    """Sessions of runs whose id begins with ``prefix``. Raises ``sqlite3.Error``."""
    query = "SELECT DISTINCT session_id FROM runs WHERE session_id >= ? AND session_id < ? LIMIT ?"
    rows = connection.execute(query, (prefix, prefix + "\U0010ffff", limit)).fetchall()
    return [str(session_id) for (session_id,) in rows]


def ledger(connection: sqlite3.Connection, file: Path, session_id: str) -> Ledger | None:
    """The ledger of one session. Raises ``StoreError``, ``sqlite3.Error``."""
    row = connection.execute(f"{_LEDGERS} WHERE session_id = ?", (session_id,)).fetchone()
    if row is None:
        return None
    found = _ledger(row)
    if not found.intact:
        raise StoreError(
            file,
            f"{file}: the ledger of session {session_id} is damaged. Its messages keep their"
            f" numbers only as long as index.db has them, or from a sound copy of {file.name}.",
        )
    return found


def ledgers_gone(connection: sqlite3.Connection) -> list[Ledger]:
    """The ledgers of the sessions whose transcript is gone, by id. Raises ``sqlite3.Error``."""
    rows = connection.execute(f"{_LEDGERS} WHERE row IS NOT NULL ORDER BY session_id").fetchall()
    return [_ledger(row) for row in rows]


def _ledger(row: tuple[Any, ...]) -> Ledger:
    session_id, _, entries, session_row, stored = row
    if isinstance(entries, bytes) and isinstance(session_row, bytes | None):
        found = Ledger(*row[:4])
        if found.checksum() == stored:
            return found
    return Ledger(session_id=str(session_id), generation=0, entries=b"", intact=False)
