"""The tables of ``facts.db``, release by release."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

Migration = Callable[[sqlite3.Connection], None]

# "Podi": distinguishes our files from any other SQLite database.
APPLICATION_ID = 0x506F6469

# Deleted pages can be given back to the disk, some at a time. A setting of the whole file: it holds
# where nothing is in it yet, and in a copy that ``VACUUM`` makes.
INCREMENTAL = "PRAGMA auto_vacuum = INCREMENTAL"

# Facts that can be asked for by ids that they bear, and the fields that have them.
NAMED = {
    "question.closed": ("question_id",),
    "turn.intended": ("turn_id",),
}

_TABLES = (
    # Facts are never changed, and deleted only with their whole run, long after its end; pos is
    # the rowid, so the log is read in order.
    """CREATE TABLE facts (
        pos INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        type TEXT NOT NULL,
        version INTEGER NOT NULL,
        at TEXT NOT NULL,
        session_id TEXT,
        data BLOB NOT NULL,
        checksum BLOB NOT NULL,
        UNIQUE (run_id, seq)
    )""",
    # number is the order of creation, which no change of the clock can disturb. last_seq
    # distinguishes a log that ends early from one that is whole.
    """CREATE TABLE runs (
        number INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        status TEXT NOT NULL,
        session_id TEXT,
        working_directory TEXT NOT NULL,
        started_at TEXT NOT NULL,
        ended_at TEXT,
        last_seq INTEGER NOT NULL,
        summary BLOB NOT NULL,
        checksum BLOB NOT NULL
    )""",
    "CREATE INDEX runs_open ON runs (number) WHERE status <> 'ended'",
    """CREATE TABLE tokens (
        method TEXT NOT NULL,
        token TEXT NOT NULL,
        params_digest TEXT NOT NULL,
        run_id TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (method, token)
    ) WITHOUT ROWID""",
    "CREATE TABLE settings (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE marks (session_id TEXT PRIMARY KEY, mark BLOB NOT NULL) WITHOUT ROWID",
)


def _create(connection: sqlite3.Connection) -> None:
    for statement in _TABLES:
        connection.execute(statement)


# Seq of each message of a rewritten or deleted transcript: nothing else has that any more. row is
# set for a session whose transcript is gone.
_LEDGERS = """CREATE TABLE ledgers (
    session_id TEXT PRIMARY KEY,
    generation INTEGER NOT NULL,
    entries BLOB NOT NULL,
    row BLOB,
    checksum BLOB NOT NULL
) WITHOUT ROWID"""


def _add_ledgers(connection: sqlite3.Connection) -> None:
    connection.execute(_LEDGERS)


# A query at 50,000 runs must cost what it does at 100. ``names`` finds a fact by the id that it
# bears: a question or a turn of any run. tests/store/test_plans.py holds that each query of the
# store has its index.
_BY_INDEX = (
    "CREATE INDEX runs_by_kind ON runs (kind, number)",
    "CREATE INDEX runs_by_session ON runs (session_id, number)",
    "CREATE INDEX runs_by_end ON runs (ended_at) WHERE status = 'ended'",
    "CREATE INDEX facts_that_end ON facts (pos) WHERE type = 'run.ended'",
    "CREATE INDEX tokens_by_run ON tokens (run_id)",
    "CREATE INDEX tokens_by_time ON tokens (at)",
    "CREATE INDEX ledgers_gone ON ledgers (session_id) WHERE row IS NOT NULL",
    """CREATE TABLE names (
        type TEXT NOT NULL,
        name TEXT NOT NULL,
        pos INTEGER NOT NULL,
        PRIMARY KEY (type, name, pos)
    ) WITHOUT ROWID""",
    "CREATE INDEX names_by_pos ON names (pos)",
)
_NAMES_SO_FAR = """INSERT INTO names SELECT type, json_extract(json, ?), pos
    FROM (SELECT type, pos, CAST(data AS TEXT) AS json FROM facts WHERE type = ?)
    WHERE json_valid(json) AND json_type(json, ?) = 'text'"""


# As ``NAMED`` was when this entry was written.
_NAMED_THEN = (("question.closed", "$.question_id"), ("turn.intended", "$.turn_id"))


def _index(connection: sqlite3.Connection) -> None:
    for statement in _BY_INDEX:
        connection.execute(statement)
    for kind, place in _NAMED_THEN:
        connection.execute(_NAMES_SO_FAR, (place, kind, place))


# The id that an agent has given to a session of ours: one each. It outlives the facts of the runs,
# for the agent's own file outlives them too. Agents of another family may mean another by it.
_AGENT_SESSIONS = """CREATE TABLE agent_sessions (
    session_id TEXT PRIMARY KEY,
    agent_session_id TEXT NOT NULL,
    family TEXT NOT NULL,
    UNIQUE (agent_session_id, family)
) WITHOUT ROWID"""

# The last id holds. One that belongs to another session already is nothing that an agent can take.
NAME_SESSION = """INSERT INTO agent_sessions SELECT ?1, ?2, ?3
    WHERE NOT EXISTS (SELECT 1 FROM agent_sessions
        WHERE agent_session_id = ?2 AND family = ?3 AND session_id <> ?1)
    AND (?1 = ?2 OR NOT EXISTS (SELECT 1 FROM runs WHERE session_id = ?2))
    ON CONFLICT (session_id) DO UPDATE
        SET agent_session_id = excluded.agent_session_id, family = excluded.family"""
# As ``NAME_SESSION`` was when this entry was written.
_NAME_SESSION_THEN = """INSERT INTO agent_sessions SELECT ?1, ?2, ?3
    WHERE NOT EXISTS (SELECT 1 FROM agent_sessions
        WHERE agent_session_id = ?2 AND family = ?3 AND session_id <> ?1)
    AND (?1 = ?2 OR NOT EXISTS (SELECT 1 FROM runs WHERE session_id = ?2))
    ON CONFLICT (session_id) DO UPDATE
        SET agent_session_id = excluded.agent_session_id, family = excluded.family"""
_NAMED_SO_FAR = """SELECT json_extract(json, '$.session_id'),
    json_extract(json, '$.agent_session_id'), coalesce(json_extract(json, '$.family'), '')
    FROM (SELECT pos, CAST(data AS TEXT) AS json FROM facts WHERE type = 'session.named')
    WHERE json_valid(json) AND json_type(json, '$.session_id') = 'text'
        AND json_type(json, '$.agent_session_id') = 'text' ORDER BY pos"""


def _name_sessions(connection: sqlite3.Connection) -> None:
    connection.execute(_AGENT_SESSIONS)
    for named in connection.execute(_NAMED_SO_FAR).fetchall():
        connection.execute(_NAME_SESSION_THEN, named)


# Entry N lifts a database of schema N to N + 1. A released entry is never changed.
MIGRATIONS: tuple[Migration, ...] = (_create, _add_ledgers, _index, _name_sessions)


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the schema this database is in; 0 for a new one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the database to the newest schema, each step in a transaction of its own.

    Parameters: ``connection`` in autocommit mode.
    Raises ``sqlite3.Error``; the database is then in the schema of the last whole step.
    """
    for version in range(schema_version(connection), len(migrations)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            migrations[version](connection)
            connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
