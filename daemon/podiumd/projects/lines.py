"""Cuts a stream of bytes into lines of text. Pure."""

from __future__ import annotations

LONGEST_BYTES = 64 * 1024


class LineGatherer:
    """Takes pieces of a stream as they come and gives them back as whole lines.

    A line that grows over 64 KiB is given in parts, each ended as a line and none of which cuts
    a character in two.
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> bytes:
        """Return the lines that ``piece`` completes, each with its end."""
        data = self._rest + piece
        cut = data.rfind(b"\n") + 1
        block, rest = data[:cut], data[cut:]
        while len(rest) > LONGEST_BYTES:
            cut = _cut(rest)
            block += rest[:cut] + b"\n"
            rest = rest[cut:]
        self._rest = rest
        return block

    def end(self) -> bytes:
        """Return the last line, where the stream ended without a line's end."""
        rest, self._rest = self._rest, b""
        return rest + b"\n" if rest else b""


def lines_of(block: bytes) -> list[str]:
    """Split a block of whole lines, without their ends; longer ones than 64 KiB in parts.

    Bytes that are not UTF-8 are replaced.
    """
    lines = []
    for line in block.removesuffix(b"\n").split(b"\n") if block else ():
        rest = line.removesuffix(b"\r")
        while len(rest) > LONGEST_BYTES:
            cut = _cut(rest)
            lines.append(rest[:cut].decode("utf-8", "replace"))
            rest = rest[cut:]
        lines.append(rest.decode("utf-8", "replace"))
    return lines


def _cut(line: bytes) -> int:
    """Find where to cut a long line: before the character that stands across the 64 KiB."""
    for back in range(4):
        if line[LONGEST_BYTES - back] & 0xC0 != 0x80:
            return LONGEST_BYTES - back
    return LONGEST_BYTES
