"""Queries on ``facts.db``; every fact, run row and ledger is checked against its checksum."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from podiumd.store.errors import (
    DATABASE_ERRORS,
    FactDamaged,
    FactTooNew,
    StoreError,
    is_damage,
)
from podiumd.store.records import Ledger, RunRow, StoredFact, TokenRow, checksum
from podiumd.store.upcast import Upcasters

T = TypeVar("T")

FACTS = "SELECT pos, run_id, seq, type, version, at, session_id, data, checksum FROM facts"
_RUNS = """SELECT run_id, kind, status, session_id, working_directory, started_at, ended_at,
    last_seq, summary, checksum FROM runs"""
_LEDGERS = "SELECT session_id, generation, entries, row, checksum FROM ledgers"


_NEWEST = 2**63 - 1


class _Bad(Exception):
    """The reason why a row cannot be used."""

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
    """Read the facts of one run, in order. Raises ``FactDamaged``, ``FactTooNew``,
    ``sqlite3.Error``."""
    # In one moment: a run that is forgotten meanwhile is there or not, and never looks damaged.
    with _moment(connection):
        return _events(connection, file, upcasters, run_id, after_seq, limit)


@contextmanager
def _moment(connection: sqlite3.Connection) -> Iterator[None]:
    """Let all that is read within be of one moment. Raises ``sqlite3.Error``."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _events(
    connection: sqlite3.Connection,
    file: Path,
    upcasters: Upcasters,
    run_id: str,
    after_seq: int,
    limit: int | None,
) -> list[StoredFact]:
    prefix: list[StoredFact] = []
    damage: str | None = None
    try:
        last_seq = last_seq_of(connection, run_id)
        with closing(
            connection.execute(
                f"{FACTS} WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?",
                (run_id, after_seq, _most(limit)),
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
    """Read the number of a run's last fact from its row; 0 where the row is missing or damaged.

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
    """Read the facts of all runs after ``pos``, in order, without those that cannot be read.

    Raises ``sqlite3.Error``.
    """
    wanted = "" if types is None else f"AND type IN ({', '.join('?' * len(types))})"
    query = f"{FACTS} WHERE pos > ? {wanted} ORDER BY pos"
    with closing(connection.execute(query, (pos, *sorted(types or ())))) as rows:
        return readable(rows, upcasters, limit)


def ended_recipes(
    connection: sqlite3.Connection, upcasters: Upcasters, after: int, until: int, limit: int
) -> list[StoredFact]:
    """Read the newest ends of recipes between two positions, the oldest of them first.

    Those that cannot be read are left out. Raises ``sqlite3.Error``.
    """
    # EXISTS, not IN: from the newest end backwards, and no further than the limit.
    query = (
        f"{FACTS} INDEXED BY facts_that_end WHERE type = 'run.ended' AND pos > ? AND pos <= ?"  # noqa: S608 - of constants
        " AND EXISTS (SELECT 1 FROM runs WHERE runs.run_id = facts.run_id AND kind = 'recipe')"
        " ORDER BY pos DESC LIMIT ?"
    )
    rows = connection.execute(query, (after, until, limit)).fetchall()
    return readable(rows, upcasters)[::-1]


def named(
    connection: sqlite3.Connection, upcasters: Upcasters, kind: str, prefix: str, limit: int
) -> list[StoredFact]:
    """Read the facts of a type whose id begins with ``prefix``, by that id.

    The type is one of ``schema.NAMED``. Facts that cannot be read are left out. Raises
    ``sqlite3.Error``.
    """
    query = """SELECT pos FROM names WHERE type = ? AND name >= ? AND name < ?
        ORDER BY name LIMIT ?"""
    places = connection.execute(query, (kind, prefix, _after(prefix), limit)).fetchall()
    rows = [connection.execute(f"{FACTS} WHERE pos = ?", place).fetchone() for place in places]
    return readable([row for row in rows if row is not None], upcasters)


def agent_session(connection: sqlite3.Connection, session_id: str) -> str | None:
    """Read the id that an agent has given to a session. Raises ``sqlite3.Error``."""
    query = "SELECT agent_session_id FROM agent_sessions WHERE session_id = ?"
    found = connection.execute(query, (session_id,)).fetchone()
    return None if found is None else str(found[0])


def sessions_named(
    connection: sqlite3.Connection, names: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """Read the sessions to which agents of a family have given an id, by these two.

    Raises ``sqlite3.Error``.
    """
    query = "SELECT session_id FROM agent_sessions WHERE agent_session_id = ?2 AND family = ?1"
    found = ((one, connection.execute(query, one).fetchone()) for one in names)
    return {one: str(row[0]) for one, row in found if row is not None}


def sessions_called(connection: sqlite3.Connection, name: str) -> dict[str, str]:
    """Read the sessions to which agents have given this id, by the family of each. Raises
    ``sqlite3.Error``."""
    query = "SELECT family, session_id FROM agent_sessions WHERE agent_session_id = ?"
    return dict(connection.execute(query, (name,)).fetchall())


def named_with_prefix(connection: sqlite3.Connection, prefix: str, limit: int) -> list[str]:
    """Read the named sessions whose id, ours or the agent's, begins with ``prefix``.

    At most ``limit`` of either. Raises ``sqlite3.Error``.
    """
    between = (prefix, _after(prefix), limit)
    ours = """SELECT session_id FROM agent_sessions
        WHERE session_id >= ? AND session_id < ? LIMIT ?"""
    theirs = """SELECT session_id FROM agent_sessions
        WHERE agent_session_id >= ? AND agent_session_id < ? LIMIT ?"""
    found = connection.execute(ours, between).fetchall()
    found += connection.execute(theirs, between).fetchall()
    return [str(session_id) for (session_id,) in found]


def readable(
    rows: Iterable[tuple[Any, ...]], upcasters: Upcasters, limit: int | None = None
) -> list[StoredFact]:
    """Return the facts of these rows that can be read, at most ``limit`` (None: all). Raises
    ``sqlite3.Error``."""
    found: list[StoredFact] = []
    for row in rows if limit != 0 else ():
        with suppress(_Bad):  # its run's own log says so
            found.append(_fact(row, upcasters))
        if len(found) == limit:
            break
    return found


def _after(prefix: str) -> str:
    """Return a text that sorts after every text with this prefix."""
    return prefix + "\U0010ffff"


def last_pos(connection: sqlite3.Connection) -> int:
    """Return the position of the newest fact; 0 when there is none."""
    return int(connection.execute("SELECT coalesce(max(pos), 0) FROM facts").fetchone()[0])


def runs(
    connection: sqlite3.Connection,
    active: bool | None,
    kind: str | None,
    before: str | None,
    limit: int | None,
) -> list[RunRow]:
    """Runs, newest first, those that began before the run ``before``. Raises ``sqlite3.Error``."""
    # Which index is right is not left to guesses: the open are few, the others are read in order.
    if active:
        query = f"{_RUNS} INDEXED BY runs_open WHERE status <> 'ended' AND number < ?"
    elif kind is not None:
        query = f"{_RUNS} INDEXED BY runs_by_kind WHERE number < ?"
    else:
        query = f"{_RUNS} WHERE number < ?"
    parameters: list[object] = [_NEWEST if before is None else _number(connection, before)]
    if kind is not None:
        query, parameters = f"{query} AND kind = ?", [*parameters, kind]
    if active is False:
        query += " AND status = 'ended'"
    return _run_rows(connection, f"{query} ORDER BY number DESC LIMIT ?", *parameters, _most(limit))


def _number(connection: sqlite3.Connection, run_id: str) -> int:
    """Return where a run stands in the order of runs; 0 where there is none of this id."""
    row = connection.execute("SELECT number FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    return 0 if row is None else int(row[0])


def _most(limit: int | None) -> int:
    return -1 if limit is None else limit


def run(connection: sqlite3.Connection, run_id: str) -> RunRow | None:
    """Read the row of one run. Raises ``sqlite3.Error``."""
    rows = _run_rows(connection, f"{_RUNS} WHERE run_id = ?", run_id)
    return rows[0] if rows else None


def runs_with_prefix(connection: sqlite3.Connection, prefix: str, limit: int) -> list[RunRow]:
    """Runs whose id begins so, in the order of their ids. Raises ``sqlite3.Error``."""
    query = f"{_RUNS} WHERE run_id >= ? AND run_id < ? ORDER BY run_id LIMIT ?"
    return _run_rows(connection, query, prefix, _after(prefix), limit)


def runs_of_session(connection: sqlite3.Connection, session_id: str, limit: int) -> list[RunRow]:
    """Runs whose last session was this one, newest first. Raises ``sqlite3.Error``."""
    query = f"{_RUNS} WHERE session_id = ? ORDER BY number DESC LIMIT ?"
    return _run_rows(connection, query, session_id, limit)


def runs_ended_before(connection: sqlite3.Connection, before: str, limit: int) -> list[str]:
    """Runs that ended before a time, who ended first before others; without the newest run and the
    one of the newest fact. Raises ``sqlite3.Error``."""
    query = """SELECT run_id FROM runs INDEXED BY runs_by_end
        WHERE status = 'ended' AND ended_at < ? AND number < (SELECT max(number) FROM runs)
        AND run_id <> (SELECT run_id FROM facts WHERE pos = (SELECT max(pos) FROM facts))
        ORDER BY ended_at LIMIT ?"""
    return [str(run_id) for (run_id,) in connection.execute(query, (before, limit)).fetchall()]


def _run_rows(connection: sqlite3.Connection, query: str, *parameters: object) -> list[RunRow]:
    return [_run_row(row) for row in connection.execute(query, parameters).fetchall()]


def _intact(row: tuple[Any, ...]) -> bool:
    """Return whether a row of ``_RUNS`` still is what was stored."""
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
    """Read what a client token was used for. Raises ``sqlite3.Error``."""
    query = "SELECT params_digest, run_id, at FROM tokens WHERE method = ? AND token = ?"
    row = connection.execute(query, (method, name)).fetchone()
    return TokenRow(*map(str, row)) if row else None


def has_tokens(connection: sqlite3.Connection, before: str) -> bool:
    """Return whether any token was stored before a time. Raises ``sqlite3.Error``."""
    query = "SELECT 1 FROM tokens WHERE at < ? LIMIT 1"
    return connection.execute(query, (before,)).fetchone() is not None


def value(connection: sqlite3.Connection, file: Path, query: str, key: str) -> bytes | None:
    """Return the one value a query finds for a key. Raises ``StoreError``, ``sqlite3.Error``."""
    row = connection.execute(query, (key,)).fetchone()
    if row is None:
        return None
    if not isinstance(row[0], bytes):
        raise StoreError(file, f"{file}: the value of {key!r} is damaged")
    return row[0]


def sessions_with_prefix(connection: sqlite3.Connection, prefix: str, limit: int) -> list[str]:
    """Sessions of runs whose id begins with ``prefix``. Raises ``sqlite3.Error``."""
    query = "SELECT DISTINCT session_id FROM runs WHERE session_id >= ? AND session_id < ? LIMIT ?"
    rows = connection.execute(query, (prefix, _after(prefix), limit)).fetchall()
    return [str(session_id) for (session_id,) in rows]


def ledger(connection: sqlite3.Connection, file: Path, session_id: str) -> Ledger | None:
    """Read the ledger of one session. Raises ``StoreError``, ``sqlite3.Error``."""
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
    """Read the ledgers of sessions whose transcript is gone, by id. Raises ``sqlite3.Error``."""
    query = f"{_LEDGERS} INDEXED BY ledgers_gone WHERE row IS NOT NULL ORDER BY session_id"
    rows = connection.execute(query).fetchall()
    return [_ledger(row) for row in rows]


def _ledger(row: tuple[Any, ...]) -> Ledger:
    session_id, _, entries, session_row, stored = row
    if isinstance(entries, bytes) and isinstance(session_row, bytes | None):
        found = Ledger(*row[:4])
        if found.checksum() == stored:
            return found
    return Ledger(session_id=str(session_id), generation=0, entries=b"", intact=False)


def marks_after(
    connection: sqlite3.Connection, session_id: str, limit: int
) -> list[tuple[str, int, bool]]:
    """Sessions with a mark behind this one, by id: how long it is, and whether a run has it as its
    last session. Raises ``sqlite3.Error``."""
    query = """SELECT session_id, length(mark),
        EXISTS (SELECT 1 FROM runs WHERE runs.session_id = marks.session_id)
        FROM marks WHERE session_id > ? ORDER BY session_id LIMIT ?"""
    rows = connection.execute(query, (session_id, limit)).fetchall()
    return [(str(one), int(size), bool(known)) for one, size, known in rows]


def unused(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return how many pages of the file are not in use, and the bytes of one. Raises
    ``sqlite3.Error``."""
    (pages,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    return int(pages), int(size)


_NO_SEQ = 1 << 62
"""Higher than any ``seq``."""


def events_of(
    connection: sqlite3.Connection,
    upcasters: Upcasters,
    run_id: str,
    types: frozenset[str],
    after_seq: int,
    limit: int | None,
) -> list[StoredFact]:
    """Read the facts of some types of a run, in order, without those that cannot be read.

    Raises ``sqlite3.Error``.
    """
    wanted = ", ".join("?" * len(types))
    query = f"{FACTS} WHERE run_id = ? AND seq > ? AND type IN ({wanted}) ORDER BY seq"
    with closing(connection.execute(query, (run_id, after_seq, *sorted(types)))) as rows:
        return readable(rows, upcasters, limit)


def last_event(
    connection: sqlite3.Connection,
    upcasters: Upcasters,
    run_id: str,
    kind: str,
    has: bytes,
    before_seq: int | None,
) -> StoredFact | None:
    """Find a run's newest fact of a type whose data hold some bytes; skip those that cannot be
    read.

    It is looked for from the end backwards: what is asked for is mostly new. Raises
    ``sqlite3.Error``.
    """
    query = f"""{FACTS} WHERE run_id = ? AND seq < ? AND type = ? AND instr(data, ?) > 0
        ORDER BY seq DESC LIMIT 1"""
    before = _NO_SEQ if before_seq is None else before_seq
    while (row := connection.execute(query, (run_id, before, kind, has)).fetchone()) is not None:
        if found := readable([row], upcasters):
            return found[0]
        before = int(row[2])
    return None
