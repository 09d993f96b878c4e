"""Taking turns: who wants the same thing at once gets it one after the other, first come first."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio


class _Line:
    def __init__(self) -> None:
        self.lock = trio.Lock()
        self.standing = 0


class LineUp:
    """A line for each name, which exists only as long as a task stands in it."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Wait for one's turn, and have it; a task that gives up waiting leaves the line."""
        line = self._lines.setdefault(name, _Line())
        line.standing += 1
        try:
            async with line.lock:
                yield
        finally:
            line.standing -= 1
            if not line.standing:
                del self._lines[name]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names that a task has, or waits for."""
        return tuple(self._lines)
