"""Following an agent's output, which is a file that grows.

A file cannot be waited for, so a watch on its directory signals *that* it changed and a ``Bell``
wakes its follower in the event loop; the change is found by reading on from the last offset. A
coarse look every few seconds covers a lost event, only while a follower waits. Without followers
there is no watch and no wake-up.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

import trio
from watchdog.events import FileModifiedEvent, FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

CHUNK_BYTES = 64 * 1024
CHUNKS_AT_ONCE = 16
MAX_LINE_BYTES = 64 * 1024 * 1024
KEPT_OF_OVERLONG = 64
SWEEP_SECONDS = 5.0

log = logging.getLogger(__name__)


class Bell:
    """Wakes one follower; rings from its past are kept, so none is missed."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def ring(self) -> None:
        """Wake the follower, now or at its next wait."""
        self._event.set()

    async def wait(self, seconds: float = SWEEP_SECONDS) -> None:
        """Return at the next ring, after ``seconds``, or after 5 seconds, whichever is first."""
        with trio.move_on_after(min(seconds, SWEEP_SECONDS)):
            await self._event.wait()
        self._event = trio.Event()


class SpoolWatch:
    """The one observer of all turns' directories; see ``watch_spools``."""

    def __init__(self, token: trio.lowlevel.TrioToken) -> None:
        self._token = token
        self._observer: BaseObserver | None = None

    @contextmanager
    def follow(self, directory: Path) -> Iterator[Bell]:
        """Ring the bell whenever a file in ``directory`` has grown.

        The watch stands when this is entered: look at the file after that, not before.
        """
        bell = Bell()
        watch = self._watch(directory, bell)
        try:
            yield bell
        finally:
            if watch is not None and self._observer is not None:
                self._observer.unschedule(watch)

    def _watch(self, directory: Path, bell: Bell) -> ObservedWatch | None:
        # One watch a turn, not a recursive one on their common parent: that one would learn of a
        # new directory too late to see its first lines.
        try:
            if self._observer is None:
                observer = Observer()
                observer.start()
                self._observer = observer
            return self._observer.schedule(
                _Handler(self._token, bell), str(directory), event_filter=[FileModifiedEvent]
            )
        except OSError as error:
            # The user's share of watches is used up: the coarse look finds everything, later.
            log.warning("%s is not watched (%s), so it is followed slowly", directory, error)
            return None

    def close(self) -> None:
        """Stop the observer's threads; takes about a millisecond."""
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(timeout=2)


@asynccontextmanager
async def watch_spools() -> AsyncIterator[SpoolWatch]:
    """Provide the service for one event loop; its threads start with the first follower."""
    service = SpoolWatch(trio.lowlevel.current_trio_token())
    try:
        yield service
    finally:
        service.close()


class _Handler(FileSystemEventHandler):
    """Carries an event from the observer's thread into the loop."""

    def __init__(self, token: trio.lowlevel.TrioToken, bell: Bell) -> None:
        self._token = token
        self._bell = bell

    def on_any_event(self, event: FileSystemEvent) -> None:
        try:
            # A method of one object compares equal to itself, so a burst is one wake-up.
            self._token.run_sync_soon(self._bell.ring, idempotent=True)
        except trio.RunFinishedError:
            return


class Line(NamedTuple):
    """A line without its newline, and the file's offset after it."""

    data: bytes
    end: int


class SpoolReader:
    """Complete lines of a growing file, from an offset on; a partial last line waits.

    ``offset`` is the end of the last line handed out. A line over 64 MiB is handed out as its
    first bytes only, which no reader takes for a message.
    """

    def __init__(self, path: Path, offset: int = 0) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._buffer = bytearray()
        self._searched = 0
        self._dropped = 0
        self._position = offset
        self.offset = offset
        self.at_end = False

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    @property
    def size(self) -> int:
        """Return how much the file holds now, read or not."""
        return os.fstat(self._file).st_size

    @property
    def position(self) -> int:
        """Return up to where the file was read, which may be within a line."""
        return self._position

    @property
    def partial(self) -> bool:
        """Return whether bytes stand after the last newline that was read."""
        return bool(self._buffer or self._dropped)

    def read(self) -> list[Line]:
        """Read the lines completed by the next 64 KiB that complete any; empty where none is yet.

        Reads at most 1 MiB, so the loop is not held up by a large backlog or an endless line;
        ``at_end`` then shows whether the end of the file was reached.
        """
        for _ in range(CHUNKS_AT_ONCE):
            chunk = os.pread(self._file, CHUNK_BYTES, self._position)
            self.at_end = not chunk
            self._position += len(chunk)
            self._buffer += chunk
            lines = self._split()
            if lines or self.at_end:
                return lines
            if len(self._buffer) > MAX_LINE_BYTES:
                self._dropped += len(self._buffer) - KEPT_OF_OVERLONG
                del self._buffer[KEPT_OF_OVERLONG:]
                self._searched = KEPT_OF_OVERLONG
        return []

    def _split(self) -> list[Line]:
        lines = []
        start = 0
        while (newline := self._buffer.find(b"\n", max(start, self._searched))) >= 0:
            self.offset += newline + 1 - start + self._dropped
            kept = start + KEPT_OF_OVERLONG if self._dropped else newline
            self._dropped = self._searched = 0
            lines.append(Line(bytes(self._buffer[start:kept]), self.offset))
            start = newline + 1
        del self._buffer[:start]
        self._searched = len(self._buffer)
        return lines
