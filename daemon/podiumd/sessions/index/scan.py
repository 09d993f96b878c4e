"""Looking through a transcript that was read before, as far as it was read. Blocking."""

from __future__ import annotations

import os
from collections.abc import Iterator

from podiumd.formats.session import Cursor, Entry, SessionFormat
from podiumd.sessions.index.table import Row
from podiumd.sessions.log.reading import Mark, chunks, same


class Changed(Exception):
    """The transcript is no longer the one that the row describes: bring the row up to date."""


def entries(format: SessionFormat, row: Row, start: int, cursor: Cursor) -> list[Entry]:
    """Return the messages between ``start`` and where the row was read to; ``cursor`` is moved on.

    Raises ``Changed``.
    """
    found: list[Entry] = []
    for offset, chunk in _chunks(row, start):
        found += format.entries(cursor, chunk, offset)
    return found


def _chunks(row: Row, start: int) -> Iterator[tuple[int, bytes]]:
    try:
        descriptor = os.open(row.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise Changed from error
    try:
        found = os.fstat(descriptor)
        mark = Mark(row.head, row.tail)
        if found.st_ino != row.ino or not same(descriptor, row.offset, mark):
            raise Changed
        yield from chunks(descriptor, start, row.offset)
        if not same(descriptor, row.offset, mark):  # while it was read
            raise Changed
    except OSError as error:
        raise Changed from error
    finally:
        os.close(descriptor)
