"""From which message a prompt goes on that is off the main line of its conversation."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import NamedTuple

from podiumd.formats.session import Entry, identity_of
from podiumd.sessions.log import links
from podiumd.sessions.log.numbered import Log


class Fork(NamedTuple):
    """A message of a log, and the identity of the record that it follows."""

    seq: int
    parent: bytes


def of(log: Log, entries: Sequence[Entry]) -> list[Fork]:
    """Return those of the entries, all in the log, whose origin is to be found.

    One that follows nothing has none.
    """
    return [
        Fork(seq, identity_of(entry.parent))
        for entry in entries
        if entry.parent
        and (seq := log.find(entry.identity))
        and (place := log.place(seq)).fork
        and not place.forks_from
    ]


def resolve(connection: sqlite3.Connection, log: Log, found: Sequence[Fork]) -> None:
    """Note in the log from which message each fork goes on, through links that are stored.

    Takes as long as its links do to be read where a fork follows a record that is no message.
    Raises ``sqlite3.Error``.
    """
    known: links.Links | None = None
    for fork in found:
        source = log.find(fork.parent)
        if not source:
            known = known or links.load(connection, log.session_id)
            source = nearest(fork.parent, known.parent, log.find)
        log.set_fork(fork.seq, source)


def nearest(
    record: bytes, parent: Callable[[bytes], bytes | None], find: Callable[[bytes], int]
) -> int:
    """Return the seq of the nearest message at or before a record of the tree.

    0: there is none, or the records go round in a circle.
    """
    seen: set[bytes] = set()
    at: bytes | None = record
    while at is not None and at not in seen:
        if seq := find(at):
            return seq
        seen.add(at)
        at = parent(at)
    return 0
