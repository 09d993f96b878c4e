"""The list of sessions and the recent ones, made once for all phones that ask at a moment.

Who asks while one is being made gets the next one: what they see is never older than their
question, and however many ask, one is made at a time. The next one waits a while in which the loop
is free for others: a crowd that asks on and on would have nothing else done.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import trio

from podiumd.gateway.phone.protocol import outgoing
from podiumd.gateway.websocket import text_frame
from podiumd.runtime.service import Service
from podiumd.wire.sessions import SessionsPage

MOST_ROWS: Final = 50

REST_SHARE: Final = 9
"""Times what the last listing took, before the next begins."""

MOST_REST_SECONDS: Final = 0.25


class Lists(NamedTuple):
    """Frames of both lists; ``session_ids`` are those of the rows that the first one has."""

    session_list: bytes
    recent_sessions: bytes
    session_ids: tuple[str, ...]


class _Batch:
    """Phones that wait for the same listing; what is made of it for each kind of phone."""

    def __init__(self) -> None:
        self.listing: SessionsPage | None = None
        self.made: dict[tuple[int, int], Lists] = {}


class SessionLists:
    """Makes the frames of ``session_list`` and ``recent_sessions``."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._next = _Batch()
        self._lock = trio.Lock()
        self._rested = float("-inf")

    async def frames(self, recents: int, budget: int) -> Lists:
        """Return both lists for a phone that takes ``recents`` rows in ``budget``-byte frames."""
        batch = self._next
        async with self._lock:
            if batch.listing is None:
                await trio.sleep_until(self._rested)
                if self._next is batch:
                    self._next = _Batch()  # who asks from here on sees what is here then
                batch.listing = await self._list()
        kind = (recents, budget)
        if kind not in batch.made:
            batch.made[kind] = _lists(batch.listing, *kind)
        return batch.made[kind]

    async def _list(self) -> SessionsPage:
        began = trio.current_time()
        try:
            return await self._service.sessions_list(None, MOST_ROWS, None)
        finally:
            now = trio.current_time()
            self._rested = now + min(REST_SHARE * (now - began), MOST_REST_SECONDS)


def _lists(listing: SessionsPage, recents: int, budget: int) -> Lists:
    rows = listing.sessions
    listed, session_ids = outgoing.session_list(rows, listing.total, budget)
    recent = outgoing.recent_sessions(rows, recents, budget)
    return Lists(text_frame(listed), text_frame(recent), session_ids)
