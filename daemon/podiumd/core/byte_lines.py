"""The lines of a file as it is in bytes, found without taking it apart."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

_BLOCK: Final = 4096
"""Bytes between two places whose line number is kept."""


class ByteLines:
    """Lines end with a line feed; what stands before it, a carriage return too, is theirs.

    ``count`` is how many there are. ``closed``: the last one ends with a line feed, or there is
    none.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._before: list[int] = []  # line feeds before each block
        feeds = 0
        for start in range(0, len(data), _BLOCK):
            self._before.append(feeds)
            feeds += data.count(b"\n", start, start + _BLOCK)
        self.closed = not data or data.endswith(b"\n")
        self.count = feeds if self.closed else feeds + 1

    def offset(self, line: int) -> int:
        """Return the offset of a line; ``line`` counts from 0, and ``count`` stands for the end."""
        if line == self.count:
            return len(self._data)
        if line == 0:
            return 0
        block = bisect_right(self._before, line - 1) - 1
        at = block * _BLOCK
        for _ in range(line - self._before[block]):
            at = self._data.index(b"\n", at) + 1
        return at

    def text(self, start: int, end: int) -> bytes:
        """Return lines ``start`` to ``end`` (exclusive), joined by line feeds, with none at the
        end."""
        whole = self._data[self.offset(start) : self.offset(end)]
        return whole.replace(b"\r\n", b"\n").removesuffix(b"\n")

    def ending(self, line: int) -> bytes:
        """Return a line's ending; empty where there is no such line, or it has no ending."""
        if not 0 <= line < self.count:
            return b""
        end = self.offset(line + 1)
        if self._data.endswith(b"\r\n", 0, end):
            return b"\r\n"
        return b"\n" if self._data.endswith(b"\n", 0, end) else b""
