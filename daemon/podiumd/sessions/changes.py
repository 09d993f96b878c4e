"""Changed sessions, for clients that keep a list of them in step.

A listener has no queue: it has the set of the sessions that changed since it last asked, so it may
be as slow as it likes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import trio


class Listener:
    """A listener to changes; see ``SessionChanges.listen``."""

    def __init__(self) -> None:
        self._changed: set[str] = set()
        self._bell = trio.Event()

    def notify(self, session_ids: Iterable[str]) -> None:
        """Note what changed."""
        self._changed.update(session_ids)
        if self._changed:
            self._bell.set()

    async def changed(self) -> set[str]:
        """Wait until there is something, then take it: the ids since the last time."""
        await self._bell.wait()
        self._bell = trio.Event()
        found, self._changed = self._changed, set()
        return found


class SessionChanges:
    """Notify every listener of every session that is new, grew, was rewritten or went."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()

    @contextmanager
    def listen(self) -> Iterator[Listener]:
        """Hear of what changes from now on."""
        listener = Listener()
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    def notify(self, *session_ids: str) -> None:
        """Notify the listeners that these sessions changed, and the index says so."""
        for listener in self._listeners:
            listener.notify(session_ids)
