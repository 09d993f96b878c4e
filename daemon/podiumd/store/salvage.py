"""Salvage of a damaged database: what can be read is copied row by row, the rest is lost.

A page that is damaged is no reason not to start: its run says that something is missing, as ever.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from podiumd.store.connection import connect_writer
from podiumd.store.errors import DATABASE_ERRORS
from podiumd.store.schema import APPLICATION_ID, INCREMENTAL, Migration, migrate

_SKIPPED = 100_000
"""Numbers in a row that are tried behind a page that cannot be read."""


def salvage(old: sqlite3.Connection, draft: Path, migrations: Sequence[Migration]) -> int:
    """Copy all rows that can be read into a new database of the same schema; returns how many times
    something could not be.

    Parameters: ``draft`` is an empty file; ``migrations`` are those that ``old`` has had.
    Raises ``sqlite3.Error`` where the copy cannot be written.
    """
    lost = 0
    with closing(connect_writer(draft)) as new:
        new.execute(INCREMENTAL)
        new.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        migrate(new, migrations)
        tables = new.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        new.execute("BEGIN IMMEDIATE")
        for (table,) in tables:
            columns = [(name, kind) for _, name, kind, *_ in new.execute(_COLUMNS, (table,))]
            key, counted = columns[0][0], columns[0][1] == "INTEGER"
            put = f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(columns))})"  # noqa: S608 - of our schema
            for row in _readable(old, table, key, counted=counted):
                if row is None:
                    lost += 1
                else:
                    new.execute(put, row)
        new.execute("COMMIT")
    return lost


_COLUMNS = "SELECT * FROM pragma_table_info(?)"


def _readable(
    old: sqlite3.Connection, table: str, key: str, *, counted: bool
) -> Iterator[tuple[object, ...] | None]:
    """Yield the rows by their key, and ``None`` where some cannot be read. Behind those it goes on
    where the key is a number; else it ends there."""
    query = f"SELECT * FROM {table} WHERE {key} > ? ORDER BY {key}"  # noqa: S608 - of our schema
    last: object = 0 if counted else ""
    failed = 0
    while failed <= _SKIPPED:
        try:
            with closing(old.execute(query, (last,))) as rows:
                for row in rows:
                    last, failed = row[0], 0
                    yield row
            return
        except DATABASE_ERRORS:
            if not failed:
                yield None
            if not isinstance(last, int):
                return
            last, failed = last + 1, failed + 1
