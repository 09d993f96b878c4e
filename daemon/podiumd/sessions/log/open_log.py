"""A session's log while it is read: in memory, with its newest messages decoded."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import Self

import msgspec
import trio
from msgspec.structs import replace

from podiumd.formats.session import Cursor, Entry, SessionFormat
from podiumd.sessions.log.messages import Encoded
from podiumd.sessions.log.numbered import Log
from podiumd.wire.sessions import MessagesPage, NewMessages

MESSAGES_TOGETHER = 256
"""Messages in one notification."""

CACHE_BYTES = 1024 * 1024
"""Decoded messages that are kept for followers of one session: many read the same few."""


class LogState(msgspec.Struct):
    """State that ``logs`` keeps of a log beside its entries.

    ``offset`` is up to where the transcript was read for it; ``seen`` the generation of the row it
    was read in: when the row has another, the transcript was rewritten while the log was closed.
    """

    offset: int
    seen: int
    cursor: Cursor


class OpenLog:
    """The log of one session; changed only by the service, under the session's lock.

    ``last_seq``, ``generation`` and ``gone`` are of what is stored: no client is sent more, though
    ``log`` may be ahead of them.
    """

    def __init__(self, log: Log, format: SessionFormat, path: str, state: LogState) -> None:
        self.log = log
        self.format = format
        self.path = path
        self.state = state
        self.last_seq = log.last_seq
        self.generation = log.generation
        self.gone = log.gone
        self.users = 0
        self.reading = trio.Lock()
        self.grown = trio.Event()
        self.closed = False
        self.failure: BaseException | None = None
        self.moves = 0  # how often places have changed
        self.garbled = False  # a message was read that is not UTF-8
        self._cache: deque[Encoded] = deque()
        self._cached_bytes = 0

    def notify(self) -> None:
        """Wake every follower: the log has grown, was rewritten, or is closed."""
        self.grown.set()
        self.grown = trio.Event()

    def close(self) -> None:
        """End every feed."""
        self.closed = True
        self.notify()

    def fail(self, error: BaseException) -> None:
        """End every feed with a fault, so that their readers come back for what they missed."""
        self.failure = error
        self.close()

    def append(self, entries: Sequence[Entry]) -> None:
        """Number what the transcript has grown by.

        A message that was gone may be back in it, as when a rewrite was seen half done: that is
        part of the rewrite, and so a new generation.
        """
        log = self.log
        before = log.last_seq
        if len(log.append(entries)) < len(entries):
            found = ((log.find(entry.identity), entry) for entry in entries)
            known = ((log.place(seq), entry) for seq, entry in found if seq <= before)
            if any(place.offset == entry.offset for place, entry in known):
                log.generation += 1
            self.forget()

    def settle(self, log: Log, state: LogState, path: str) -> None:
        """Note that a log, this one or what takes its place, is stored as it is now."""
        if log is not self.log or log.generation != self.generation:
            self.gone = log.gone
        if log is not self.log:
            self.log = log
            self.forget()
        self.state = state
        self.path = path
        self.last_seq, self.generation = log.last_seq, log.generation

    def remember(self, messages: list[Encoded]) -> None:
        """Keep messages that were just read, if they continue what is kept."""
        for message in messages:
            if self._cache and message.seq != self._cache[-1].seq + 1:
                if message.seq <= self._cache[-1].seq:
                    continue
                self.forget()
            self._cache.append(message)
            self._cached_bytes += len(message.data)
        while self._cached_bytes > CACHE_BYTES:
            self._cached_bytes -= len(self._cache.popleft().data)

    def remembered(self, first: int, last: int) -> list[Encoded] | None:
        """Return the messages from ``first`` to ``last``, if all of them are kept."""
        if not self._cache or first < self._cache[0].seq or last > self._cache[-1].seq:
            return None
        start = first - self._cache[0].seq
        return list(islice(self._cache, start, start + last - first + 1))

    def forget(self) -> None:
        """Drop what is kept: places have changed."""
        self.moves += 1
        self._cache.clear()
        self._cached_bytes = 0


Read = Callable[[OpenLog, int | None, int], Awaitable[MessagesPage]]
"""Reads so many messages after a ``seq`` (``None``: the newest), oldest first."""


class LogLost(Exception):
    """The log could not be stored, so it may not be sent: come back with the last ``seq``."""


class MessageFeed:
    """Notifications of ``session.messages`` after ``start``; ends when the daemon stops.

    It has no queue. It has a cursor, and the log is what it reads on from: however slow its reader
    is, nothing piles up and nothing is lost, and others do not notice.
    """

    def __init__(self, read: Read, opened: OpenLog, first: MessagesPage) -> None:
        self.about = opened.log.session_id
        self.answer = first
        self.start = first.next_seq
        self._read = read
        self._opened = opened
        self._at = first.next_seq
        self._generation = first.generation

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> NewMessages:
        self.answer = replace(self.answer, messages=())  # sent by now, and perhaps megabytes
        while not self._opened.closed:
            grown = self._opened.grown
            page = await self._read(self._opened, self._at, MESSAGES_TOGETHER)
            if page.messages or page.generation != self._generation:
                self._at, self._generation = page.next_seq, page.generation
                return NewMessages(
                    session_id=self.about,
                    messages=page.messages,
                    first_uuid=page.first_uuid,
                    last_seq=page.last_seq,
                    next_seq=page.next_seq,
                    generation=page.generation,
                    gone=page.gone,
                )
            await grown.wait()
        if self._opened.failure is not None:
            raise LogLost from self._opened.failure
        raise StopAsyncIteration
