"""A session's log while it is read: in memory, with its newest messages decoded."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Protocol

import msgspec
import trio

from podiumd.formats.session import Cursor, Entry, SessionFormat
from podiumd.sessions.log.messages import Encoded
from podiumd.sessions.log.numbered import Log
from podiumd.wire.sessions import MessagesPage, NewMessages

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

    def tell(self) -> None:
        """Wake every follower: the log has grown, was rewritten, or is closed."""
        self.grown.set()
        self.grown = trio.Event()

    def close(self) -> None:
        """End every feed."""
        self.closed = True
        self.tell()

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


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Messages of a session, and where they stand in its log.

    ``first_seq`` and ``last_seq`` are those of the whole log (0: it is empty), ``first_uuid`` is
    that of message 1, which distinguishes one log from another: a session that was forgotten and
    comes again has a new one, and its numbers mean other messages. ``gone`` counts the messages
    whose lines are no longer in the transcript. ``next_seq`` is the cursor for what follows;
    ``complete``: nothing follows yet.
    """

    session_id: str
    messages: list[msgspec.Raw]
    first_seq: int
    last_seq: int
    next_seq: int
    generation: int
    gone: int
    first_uuid: str | None

    @property
    def complete(self) -> bool:
        return self.next_seq >= self.last_seq

    def answer(self) -> MessagesPage:
        """Return the result of ``sessions.messages``."""
        return MessagesPage(
            messages=tuple(self.messages),
            first_seq=self.first_seq,
            first_uuid=self.first_uuid,
            last_seq=self.last_seq,
            next_seq=self.next_seq,
            complete=self.complete,
            generation=self.generation,
            gone=self.gone,
        )

    def notification(self) -> NewMessages:
        """Return the parameters of a ``session.messages`` notification."""
        return NewMessages(
            session_id=self.session_id,
            messages=tuple(self.messages),
            first_uuid=self.first_uuid,
            last_seq=self.last_seq,
            next_seq=self.next_seq,
            generation=self.generation,
            gone=self.gone,
        )


class Reader(Protocol):
    """A reader of pages of open logs."""

    async def page(self, opened: OpenLog, after: int | None, limit: int) -> Page:
        """Messages after ``after`` (``None``: the newest), oldest first."""
        ...
