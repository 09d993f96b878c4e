"""The bytes of one job as FFmpeg reads them: a file that grows while it is read.

Reading waits for what is not there yet. FFmpeg never learns of a path or a URL.
"""

from __future__ import annotations

import threading
from typing import Final

_AHEAD: Final = 65_536


class Source:
    """Bytes that one thread adds and another reads."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._finished = False
        self._changed = threading.Condition()

    def add(self, data: bytes) -> None:
        """More has come."""
        with self._changed:
            self._data += data
            self._changed.notify_all()

    def finish(self) -> None:
        """Finish: all has come, or the job is over, and no task waits any longer."""
        with self._changed:
            self._finished = True
            self._changed.notify_all()

    def clear(self) -> None:
        """Forget the bytes: they are decoded."""
        with self._changed:
            self._finished = True
            self._data = bytearray()
            self._changed.notify_all()

    def __len__(self) -> int:
        return len(self._data)

    def length(self) -> int:
        """Return how much there is in all; waits for the end."""
        with self._changed:
            while not self._finished:
                self._changed.wait()
            return len(self._data)

    def at(self, offset: int, most: int) -> bytes:
        """Return at most ``most`` bytes; waits for the first, and is empty at the end."""
        with self._changed:
            while len(self._data) <= offset and not self._finished:
                self._changed.wait()
            return bytes(self._data[offset : offset + min(most, _AHEAD)])

    def exactly(self, offset: int, length: int) -> bytes:
        """So many bytes, fewer only at the end."""
        with self._changed:
            while len(self._data) < offset + length and not self._finished:
                self._changed.wait()
            return bytes(self._data[offset : offset + length])


class Stream:
    """A source read from front to back, as containers made for streaming can be."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._offset = 0

    def read(self, size: int = _AHEAD) -> bytes:
        """Read what comes next; empty at the end."""
        data = self._source.at(self._offset, size)
        self._offset += len(data)
        return data


class File(Stream):
    """A source in which FFmpeg may jump, as others need it. Jumping ahead waits when it reads."""

    def seek(self, offset: int, whence: int = 0) -> int:
        """Set the place; from the end only once that is there."""
        if whence == 1:
            offset += self._offset
        elif whence == 2:
            offset += self._source.length()
        self._offset = max(0, offset)
        return self._offset

    def tell(self) -> int:
        """Return the place."""
        return self._offset

    def seekable(self) -> bool:
        """Return ``True``: it is seekable."""
        return True
