"""Cache of the states of transcripts, read from the store, as long as no task writes them.

A run asks for that of its session before each turn.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

MOST_KEPT: Final = 256
"""Sessions whose mark is remembered; at some hundred bytes each."""


Read = Callable[[], Awaitable[bytes | None]]


class Marks:
    """Remembers marks, also that there is none; the one that was used last is forgotten last."""

    def __init__(self) -> None:
        self._known: dict[str, bytes | None] = {}
        self._changes = 0

    async def get(
        self, session_id: str, read: Callable[[], Awaitable[bytes | None]]
    ) -> bytes | None:
        """Return the mark of a session, which is ``read`` where it is not known."""
        if session_id in self._known:
            self._known[session_id] = self._known.pop(session_id)
            return self._known[session_id]
        changes = self._changes
        found = await read()
        if changes == self._changes:  # else it may have been read before what was written meanwhile
            self._known[session_id] = found
            if len(self._known) > MOST_KEPT:
                del self._known[next(iter(self._known))]
        return found

    @contextmanager
    def changing(self, *session_ids: str) -> Iterator[None]:
        """Marks are written in this block, or could not be: what is known of them ends with it."""
        self._forget(session_ids)
        try:
            yield
        finally:
            self._forget(session_ids)

    def _forget(self, session_ids: tuple[str, ...]) -> None:
        self._changes += bool(session_ids)
        for one in session_ids:
            self._known.pop(one, None)
