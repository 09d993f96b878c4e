"""A subscriber's view of a session: what it has not seen yet, then what comes.

A feed has no queue. It has a cursor, and the log is what it reads on from: however slow its reader
is, nothing piles up and nothing is lost, and others do not notice.
"""

from __future__ import annotations

from typing import Self

from msgspec.structs import replace

from podiumd.sessions.log.open_log import OpenLog, Page, Reader
from podiumd.wire.sessions import NewMessages

MESSAGES_TOGETHER = 256
"""Messages in one notification."""


class LogLost(Exception):
    """The log could not be stored, so it may not be sent: come back with the last ``seq``."""


class MessageFeed:
    """Notifications of ``session.messages`` after ``start``; ends when the daemon stops."""

    def __init__(self, reader: Reader, opened: OpenLog, first: Page) -> None:
        self.about = first.session_id
        self.answer = first.answer()
        self.start = first.next_seq
        self._reader = reader
        self._opened = opened
        self._at = first.next_seq
        self._generation = first.generation

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> NewMessages:
        self.answer = replace(self.answer, messages=())  # sent by now, and perhaps megabytes
        while not self._opened.closed:
            grown = self._opened.grown
            page = await self._reader.page(self._opened, self._at, MESSAGES_TOGETHER)
            if page.messages or page.generation != self._generation:
                self._at, self._generation = page.next_seq, page.generation
                return page.notification()
            await grown.wait()
        if self._opened.failure is not None:
            raise LogLost from self._opened.failure
        raise StopAsyncIteration
