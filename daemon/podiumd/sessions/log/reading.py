"""The bytes of a transcript, in whole lines, while others write to it. Blocking.

A line is returned only when its newline is there, and all bytes of a chunk come from one read, so
that a file that is cut or rewritten meanwhile never gives a line glued from two.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Final

import msgspec

CHUNK_BYTES: Final = 512 * 1024
MAX_LINE_BYTES: Final = 32 * 1024 * 1024
"""A longer line is passed over: it must not fill the memory."""
MARK_BYTES: Final = 4096
_DIGEST_BYTES: Final = 16


class Mark(msgspec.Struct, frozen=True):
    """The bytes at the start of a file and just before an offset, as digests of 16 bytes.

    ``head`` is of the first 4096 bytes and ``tail`` of the last before the offset; of all before it
    where those are fewer.
    """

    head: bytes
    tail: bytes


class Chunks:
    """The whole lines between two offsets, as (offset, bytes that end with a newline).

    A chunk has at most ``CHUNK_BYTES``, or is one longer line. Iterating raises ``OSError`` where
    the file cannot be read, and just ends where it has become shorter. ``offset`` is always after
    the last line that was yielded or passed over, ``overlong`` counts those passed over.
    """

    def __init__(self, fd: int, start: int, end: int, searched: int = 0) -> None:
        """Parameters: ``searched`` is an offset up to which an earlier look found no newline."""
        self.offset = start
        self.overlong = 0
        self._fd = fd
        self._end = end
        self._searched = searched

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        while data := _read(self._fd, min(CHUNK_BYTES, self._end - self.offset), self.offset):
            size = data.rfind(b"\n") + 1
            if not size:
                newline = self._newline(max(self.offset + len(data), self._searched))
                if newline is None:
                    return
                size = newline + 1 - self.offset
                if size > MAX_LINE_BYTES + 1:
                    self.overlong += 1
                    self.offset += size
                    continue
                data = _read(self._fd, size, self.offset)
                if not data.endswith(b"\n"):
                    return  # rewritten since the newline was seen
            elif size < len(data):
                data = data[:size]
            start = self.offset
            self.offset += len(data)
            yield start, data

    def _newline(self, start: int) -> int | None:
        """Find the first newline from ``start`` on."""
        while data := _read(self._fd, min(CHUNK_BYTES, self._end - start), start):
            at = data.find(b"\n")
            if at >= 0:
                return start + at
            start += len(data)
        return None


def chunks(fd: int, start: int, end: int | None = None) -> Chunks:
    """Return the whole lines from ``start`` to ``end`` (or to where the file ends now).

    Raises ``OSError``, here or when it is iterated.
    """
    return Chunks(fd, start, os.fstat(fd).st_size if end is None else end)


def same(fd: int, offset: int, mark: Mark) -> bool:
    """Return whether the mark still fits: what stood before ``offset`` does so still.

    Raises ``OSError``.
    """
    return Trail(fd, offset).mark() == mark


class Trail:
    """The mark of an offset that moves on.

    It is made of the very bytes that were read, so it does not fit a file that was rewritten
    while it was read.
    """

    def __init__(self, fd: int, offset: int) -> None:
        """Begin a trail at ``offset``. Raises ``OSError``."""
        self.offset = offset
        self._fd = fd
        self._head = _read(fd, min(MARK_BYTES, offset), 0)
        self._tail = self._head if offset <= MARK_BYTES else self._before(offset)

    def follow(self, offset: int, chunk: bytes) -> None:
        """Move on over the lines that were read at ``offset``. Raises ``OSError``."""
        if offset > self.offset:
            self.skip_to(offset)
        if len(self._head) < MARK_BYTES:
            self._head += chunk[: MARK_BYTES - len(self._head)]
        if len(chunk) >= MARK_BYTES:
            self._tail = chunk[-MARK_BYTES:]
        else:
            self._tail = (self._tail + chunk)[-MARK_BYTES:]
        self.offset = offset + len(chunk)

    def skip_to(self, offset: int) -> None:
        """Move on over what was not read: a line that was passed over. Raises ``OSError``."""
        if len(self._head) < MARK_BYTES:
            self._head = _read(self._fd, min(MARK_BYTES, offset), 0)
        self._tail = self._before(offset)
        self.offset = offset

    def mark(self) -> Mark:
        """Return the mark of where the trail is now."""
        return Mark(_digest(self._head), _digest(self._tail))

    def _before(self, offset: int) -> bytes:
        size = min(MARK_BYTES, offset)
        return _read(self._fd, size, offset - size)


def _read(fd: int, size: int, offset: int) -> bytes:
    """Read up to ``size`` bytes, in one call. Raises ``OSError``."""
    return os.pread(fd, size, offset) if size > 0 else b""


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()
