"""Mutexes of sessions: one task at a time reads a transcript on or changes its log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from weakref import WeakValueDictionary

import trio


class SessionMutexes:
    """The sessions that are held: by themselves, each with a lock, or many together.

    A lock for each of the thousands that a sweep reads would cost more than all else about them.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, trio.Lock] = WeakValueDictionary()
        self._together: dict[str, trio.Event] = {}

    def held(self, session_id: str) -> bool:
        """Return whether a task holds a session."""
        lock = self._locks.get(session_id)
        return session_id in self._together or (lock is not None and lock.locked())

    @asynccontextmanager
    async def one(self, session_id: str) -> AsyncIterator[None]:
        """Hold a session; wait for the task that holds it now."""
        while (over := self._together.get(session_id)) is not None:
            await over.wait()
        # A lock that is free is taken before any other task can run: see ``trio.Lock.acquire``.
        lock = self._locks.get(session_id)
        if lock is None:
            lock = self._locks[session_id] = trio.Lock()
        async with lock:
            yield

    @contextmanager
    def together(self, session_ids: Iterable[str]) -> Iterator[set[str]]:
        """Hold those of the sessions that no task holds; yield which they are."""
        over = trio.Event()
        taken: set[str] = set()
        for session_id in session_ids:
            if not self.held(session_id):
                self._together[session_id] = over
                taken.add(session_id)
        try:
            yield taken
        finally:
            for session_id in taken:
                del self._together[session_id]
            over.set()
