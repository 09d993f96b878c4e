"""Writes of one decision to ``facts.db``, inside the writer's transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from podiumd.store.errors import RunForgotten, TokenTaken
from podiumd.store.reading import last_seq_of
from podiumd.store.records import Ledger, NewFact, RunRow, StoredFact, checksum
from podiumd.store.schema import NAME_SESSION, NAMED

_INSERT_FACT = "INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
# Most decisions change nothing that an index of runs has: they write the row's page alone.
_UPDATE_RUN = """UPDATE runs SET last_seq = ?, summary = ?, checksum = ? WHERE run_id = ?
    AND kind IS ? AND status IS ? AND session_id IS ? AND working_directory IS ?
    AND started_at IS ? AND ended_at IS ?"""
_UPSERT_RUN = """INSERT INTO runs (run_id, kind, status, session_id, working_directory, started_at,
    ended_at, last_seq, summary, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (run_id) DO UPDATE SET kind = excluded.kind, status = excluded.status,
    session_id = excluded.session_id, working_directory = excluded.working_directory,
    started_at = excluded.started_at, ended_at = excluded.ended_at, last_seq = excluded.last_seq,
    summary = excluded.summary, checksum = excluded.checksum"""


class _Named(msgspec.Struct):
    """The fields of ``NAMED``, of whichever fact."""

    question_id: str = ""
    turn_id: str = ""


class _SessionNamed(msgspec.Struct):
    session_id: str
    agent_session_id: str
    family: str = ""


_named = msgspec.json.Decoder(_Named)
_session_named = msgspec.json.Decoder(_SessionNamed)


@dataclass(frozen=True)
class Decision:
    """The facts of one decision and what has to change with them."""

    file: Path
    run: RunRow
    facts: Sequence[NewFact]
    token: tuple[str, str, str] | None
    mark: tuple[str, bytes] | None
    begins: bool

    def __call__(self, connection: sqlite3.Connection) -> list[StoredFact]:
        """Store it all in the open transaction.

        Raises ``TokenTaken``, ``RunForgotten``, ``sqlite3.Error``.
        """
        run_id = self.run.run_id
        seq = _last_seq(connection, run_id)
        if not (seq or self.begins):
            raise RunForgotten(self.file, run_id)
        (pos,) = connection.execute("SELECT coalesce(max(pos), 0) FROM facts").fetchone()
        stored = []
        for offset, fact in enumerate(self.facts, start=1):
            stored.append(self._add(connection, pos + offset, seq + offset, fact))
        self._put_run(connection, seq + len(stored))
        if self.token is not None:
            self._put_token(connection, *self.token)
        if self.mark is not None:
            connection.execute("INSERT OR REPLACE INTO marks VALUES (?, ?)", self.mark)
        return stored

    def _add(self, connection: sqlite3.Connection, pos: int, seq: int, fact: NewFact) -> StoredFact:
        fields = (pos, self.run.run_id, seq, fact.type, fact.version, fact.at, fact.session_id)
        connection.execute(_INSERT_FACT, (*fields, fact.data, checksum(fact.data, *fields)))
        if (named := NAMED.get(fact.type)) is not None:
            borne = _named.decode(fact.data)
            for name in {getattr(borne, field) for field in named}:
                connection.execute("INSERT INTO names VALUES (?, ?, ?)", (fact.type, name, pos))
        elif fact.type == "session.named":
            found = _session_named.decode(fact.data)
            name = (found.session_id, found.agent_session_id, found.family)
            connection.execute(NAME_SESSION, name)
        return StoredFact(
            pos=pos,
            seq=seq,
            run_id=self.run.run_id,
            type=fact.type,
            version=fact.version,
            at=fact.at,
            session_id=fact.session_id,
            data=msgspec.Raw(fact.data),
        )

    def _put_run(self, connection: sqlite3.Connection, last_seq: int) -> None:
        run = self.run
        fields = (
            run.run_id,
            run.kind,
            run.status,
            run.session_id,
            run.working_directory,
            run.started_at,
            run.ended_at,
            last_seq,
        )
        sealed = (run.summary, checksum(run.summary, *fields))
        if not connection.execute(_UPDATE_RUN, (last_seq, *sealed, *fields[:-1])).rowcount:
            connection.execute(_UPSERT_RUN, (*fields, *sealed))

    def _put_token(
        self, connection: sqlite3.Connection, method: str, token: str, params_digest: str
    ) -> None:
        at = self.facts[0].at if self.facts else self.run.started_at
        try:
            connection.execute(
                "INSERT INTO tokens VALUES (?, ?, ?, ?, ?)",
                (method, token, params_digest, self.run.run_id, at),
            )
        except sqlite3.IntegrityError as error:
            raise TokenTaken(self.file, method, token) from error


def _last_seq(connection: sqlite3.Connection, run_id: str) -> int:
    """Return the number of a run's last fact; a row that is damaged has no say in it."""
    row = connection.execute("SELECT last_seq FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    query = "SELECT coalesce(max(seq), 0) FROM facts WHERE run_id = ?"
    (highest,) = connection.execute(query, (run_id,)).fetchone()
    if row is None or row[0] == highest:
        return int(highest)
    try:
        return last_seq_of(connection, run_id) or int(highest)
    except sqlite3.OperationalError:  # its text is not even UTF-8
        return int(highest)


def put_setting(connection: sqlite3.Connection, key: str, value: bytes) -> None:
    """Set one setting in the open transaction."""
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, value))


def prune_tokens(connection: sqlite3.Connection, before: str) -> int:
    """Forget the tokens stored before a time (RFC 3339 UTC); returns how many."""
    return connection.execute("DELETE FROM tokens WHERE at < ?", (before,)).rowcount


def forget_runs(connection: sqlite3.Connection, run_ids: Sequence[str]) -> None:
    """Delete runs with all that is stored of them, in the open transaction."""
    for run_id in run_ids:
        own = (run_id,)
        of_run = "pos IN (SELECT pos FROM facts WHERE run_id = ?)"
        connection.execute(f"DELETE FROM names WHERE {of_run}", own)  # noqa: S608 - of constants
        connection.execute("DELETE FROM facts WHERE run_id = ?", own)
        connection.execute("DELETE FROM tokens WHERE run_id = ?", own)
        connection.execute("DELETE FROM runs WHERE run_id = ?", own)


def put_ledgers(connection: sqlite3.Connection, ledgers: Sequence[Ledger]) -> None:
    """Store ledgers in the open transaction, each in place of its session's last one."""
    connection.executemany(
        "INSERT OR REPLACE INTO ledgers VALUES (?, ?, ?, ?, ?)",
        [(one.session_id, one.generation, one.entries, one.row, one.checksum()) for one in ledgers],
    )


def forget_ledger(connection: sqlite3.Connection, session_id: str, ours: str) -> None:
    """Delete a session's ledger in the open transaction, and what its agent called it, unless a run
    has the session still. ``ours`` is the id by which clients know it."""
    connection.execute("DELETE FROM ledgers WHERE session_id = ?", (session_id,))
    query = """DELETE FROM agent_sessions WHERE session_id = ?
        AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.session_id = agent_sessions.session_id)"""
    connection.execute(query, (ours,))


def forget_marks(connection: sqlite3.Connection, session_ids: Sequence[str]) -> None:
    """Delete the marks of sessions, of those that no run has as its last by now."""
    query = """DELETE FROM marks WHERE session_id = ?1
        AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.session_id = ?1)"""
    connection.executemany(query, [(one,) for one in session_ids])


def give_back(connection: sqlite3.Connection, pages: int) -> None:
    """Give unused pages back to the disk, at most so many."""
    for _ in range(pages):  # the module takes one step of a PRAGMA, and that is one page
        connection.execute("PRAGMA incremental_vacuum(1)").fetchall()
