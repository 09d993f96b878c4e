"""Queries for some of the facts of one run: those of a type, and the newest that holds a word."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from podiumd.store.reading import FACTS, readable
from podiumd.store.records import StoredFact
from podiumd.store.upcast import Upcasters


def events_of(
    connection: sqlite3.Connection,
    upcasters: Upcasters,
    run_id: str,
    types: frozenset[str],
    after_seq: int,
    limit: int | None,
) -> list[StoredFact]:
    """The facts of some types of a run, in order, without those that cannot be read.

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
    """The newest fact of a type of a run whose data hold some bytes; those that cannot be read
    are passed over.

    It is looked for from the end backwards: what is asked for is mostly new. Raises
    ``sqlite3.Error``.
    """
    before = "" if before_seq is None else "AND seq < ?"
    query = f"""{FACTS} WHERE run_id = ? {before} AND type = ? AND instr(data, ?) > 0
        ORDER BY seq DESC"""
    values = (run_id, *(() if before_seq is None else (before_seq,)), kind, has)
    with closing(connection.execute(query, values)) as rows:
        return next(iter(readable(rows, upcasters, 1)), None)
