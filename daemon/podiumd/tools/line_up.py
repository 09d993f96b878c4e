"""Taking turns: who wants the same thing at once gets it one after the other, first come first."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio


class LineUp:
    """A line for each name, which is there only as long as somebody stands in it."""

    def __init__(self) -> None:
        self._lines: dict[str, tuple[trio.Lock, list[None]]] = {}

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Wait until it is one's turn, and have it; whoever gives up waiting leaves the line."""
        lock, standing = self._lines.setdefault(name, (trio.Lock(), []))
        standing.append(None)
        try:
            async with lock:
                yield
        finally:
            standing.pop()
            if not standing:
                del self._lines[name]

    @property
    def names(self) -> tuple[str, ...]:
        """What somebody has, or waits for."""
        return tuple(self._lines)
