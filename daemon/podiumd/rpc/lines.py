"""Lines out of a stream of bytes, with a bound on how much is kept."""

from __future__ import annotations


class LineTooLong(Exception):
    """A line, complete or not, is longer than allowed; the stream cannot be read on."""


class LineSplitter:
    """Cuts chunks into lines without their newline; keeps the beginning of the next one.

    ``longest`` is in bytes. Never holds more than ``longest`` bytes and one chunk.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that this chunk completes. Raises LineTooLong."""
        lines = chunk.split(b"\n")
        tail = lines.pop()
        if lines and self._rest:
            lines[0] = bytes(self._rest) + lines[0]
            self._rest.clear()
        if (lines and len(lines[0]) > self._longest) or (
            len(self._rest) + len(tail) > self._longest
        ):
            self._rest.clear()
            raise LineTooLong
        self._rest += tail
        return lines

    def finish(self) -> bytes:
        """Return what stands after the last newline when the stream has ended."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest
