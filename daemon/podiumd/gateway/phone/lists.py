"""The list of sessions and the recent ones, made once for all phones that ask at a moment.

Who asks while one is being made gets the next one: what they see is never older than their
question, and however many ask, one is made at a time.
"""

from __future__ import annotations

from typing import Final

import trio

from podiumd.gateway.phone import outgoing
from podiumd.gateway.websocket import text_frame
from podiumd.runtime.api import Service

MOST_ROWS: Final = 50

Frames = tuple[bytes, bytes]


class _Batch:
    """Phones that wait for the same list; ``made`` once one of them has made it."""

    def __init__(self) -> None:
        self.made: Frames | None = None


class SessionLists:
    """Makes the frames of ``session_list`` and ``recent_sessions``."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._next: dict[tuple[int, int], _Batch] = {}
        self._lock = trio.Lock()

    async def frames(self, recents: int, budget: int) -> Frames:
        """Both, for a phone that takes ``recents`` rows in frames of ``budget`` bytes."""
        kind = (recents, budget)
        batch = self._next.setdefault(kind, _Batch())
        async with self._lock:
            if batch.made is None:
                if self._next.get(kind) is batch:
                    del self._next[kind]  # who asks from here on sees what is here then
                batch.made = await self._make(recents, budget)
        return batch.made

    async def _make(self, recents: int, budget: int) -> Frames:
        listing = await self._service.sessions_list(None, MOST_ROWS, None)
        rows = listing["sessions"]
        return (
            text_frame(outgoing.session_list(rows, listing["total"], budget)),
            text_frame(outgoing.recent_sessions(rows, recents, budget)),
        )
