"""Keys of our own for the requests of an agent, which is free in the ids that it gives. Pure.

A key is the number of the request in its turn, so whoever reads the spool again from its beginning
finds the same ones. An answer goes out under the agent's id, so an id that two open requests share
is spoiled: which of them an answer were for, no one could say. Neither gets one that allows.
"""

from __future__ import annotations

import msgspec

from podiumd.formats.jsonrpc_lines import Id


class Key(msgspec.Struct, frozen=True):
    """The key of a request, and of the one ``before`` it that had the same id."""

    key: str
    before: str | None


class RequestKeys:
    """The keys of one turn."""

    def __init__(self) -> None:
        self._count = 0
        self._last: dict[tuple[bool, Id], str] = {}
        self._spoiled: set[tuple[bool, Id]] = set()

    def add(self, id: Id) -> Key:
        """Give a request its key."""
        found = Key(str(self._count), self._last.get(_told_apart(id)))
        self._last[_told_apart(id)] = found.key
        self._count += 1
        return found

    def of(self, id: Id) -> str:
        """Return the key of the last request with this id, empty if there was none."""
        return self._last.get(_told_apart(id), "")

    def spoil(self, id: Id) -> None:
        """Note that two open requests have this id."""
        self._spoiled.add(_told_apart(id))

    def is_spoiled(self, id: Id) -> bool:
        """Return whether two open requests had this id."""
        return _told_apart(id) in self._spoiled


def _told_apart(id: Id) -> tuple[bool, Id]:
    # To an agent 1 and "1" are two ids.
    return isinstance(id, str), id
