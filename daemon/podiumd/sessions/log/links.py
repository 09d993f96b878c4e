"""Links of the records that are no messages, of each transcript that has a log.

A prompt may go on from such a record: a hook's, an attachment. To find the message before it, what
each of them follows is kept as it is read, so that no transcript is read again for it. They are
looked for seldom, so they lie in ``index.db`` alone, packed: 32 bytes each, in the order of the
file. (A row each, with an index, would take 75 bytes and as long to store as reading the transcript
again.)

``save`` and ``drop`` belong in a transaction of the caller's; all raise ``sqlite3.Error``.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3

_PAIR: Final = Struct("<16s16s")  # the record, and what it follows
_RECORD: Final = 16

PAGE: Final = 120
"""Links of one stored page: that is one page of the database."""

FEW: Final = 16
"""So many are looked for one by one; for more a dictionary of all is quicker."""


class Links:
    """The links of one transcript, to look through."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed
        self._asked = 0
        self._all: dict[bytes, bytes] = {}

    def parent(self, record: bytes) -> bytes | None:
        """Return what a record follows: of several with one identity the last; else ``None``."""
        self._asked += 1
        if self._asked <= FEW:
            return self._look_for(record)
        if not self._all:
            self._all = dict(_PAIR.iter_unpack(self._packed))
        return self._all.get(record)

    def _look_for(self, record: bytes) -> bytes | None:
        packed = self._packed
        at = packed.rfind(record)
        while at % _PAIR.size and at >= 0:  # it may stand where none begins
            at = packed.rfind(record, 0, at + _RECORD - 1)
        return packed[at + _RECORD : at + _PAIR.size] if at >= 0 else None


def save(connection: sqlite3.Connection, session_id: str, packed: bytes) -> None:
    """Add links, as ``Cursor.take_links`` returns them, to those of a session."""
    if not packed:
        return
    last = connection.execute(
        "SELECT page, data FROM log_links WHERE session_id = ? ORDER BY page DESC LIMIT 1",
        (session_id,),
    ).fetchone()
    page, data = last or (0, b"")
    data, size = data + packed, PAGE * _PAIR.size
    connection.executemany(
        "INSERT OR REPLACE INTO log_links (session_id, page, data) VALUES (?, ?, ?)",
        (
            (session_id, number, data[at : at + size])
            for number, at in enumerate(range(0, len(data), size), page)
        ),
    )


def load(connection: sqlite3.Connection, session_id: str) -> Links:
    """Return the links of a session."""
    pages = connection.execute(
        "SELECT data FROM log_links WHERE session_id = ? ORDER BY page", (session_id,)
    )
    return Links(b"".join(data for (data,) in pages))


def drop(connection: sqlite3.Connection, session_id: str) -> None:
    """Remove the links of a session."""
    connection.execute("DELETE FROM log_links WHERE session_id = ?", (session_id,))
