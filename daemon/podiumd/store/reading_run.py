"""Queries for some of the facts of one run: those of a type, and the newest that holds a word."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from podiumd.store.reading import FACTS, readable
from podiumd.store.records import StoredFact
from podiumd.store.upcast import Upcasters

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
