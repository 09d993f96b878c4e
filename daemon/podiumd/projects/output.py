"""The output of a running command: kept up to a limit, and reported line by line."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

import trio

LONGEST_BYTES = 64 * 1024

MEBIBYTE = 1 << 20
KEPT_BYTES = 10 * MEBIBYTE
TAIL_BYTES = MEBIBYTE
"""Bytes of the end of the output, of those that are kept: that is where a failure shows why."""
MOST_TOLD_LINES = 50_000
_TOLD_PIECE = 4096  # a flood of short lines is sent in parts, others have their turn in between
_PIECE = 64 * 1024
_TOO_MUCH = "[More output than is shown live: the full output has it]"

Stream = Literal["stdout", "stderr"]


class Output:
    """Both streams of one command: into its log, and to ``tell``, a line at a time.

    ``kept_bytes`` of it are kept: the last MiB, and before that the beginning. At most 50,000 lines
    and as many characters as ``kept_bytes`` go to ``tell``, and then a note that there is more. The
    log is written in the event loop: each piece is small and goes into the page cache, and their
    sum is limited.
    """

    def __init__(
        self, fd: int, tell: Callable[[Stream, str], None], kept_bytes: int = KEPT_BYTES
    ) -> None:
        self._fd = fd
        self._tell = tell
        self._room = kept_bytes - TAIL_BYTES
        self._tail = bytearray()
        self._left_out = 0
        self._lines_to_tell = MOST_TOLD_LINES
        self._bytes_to_tell = kept_bytes
        self._telling = True

    async def follow(self, process: trio.Process) -> None:
        """Read both streams to their ends."""
        assert process.stdout is not None and process.stderr is not None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read, process.stdout, "stdout")
            nursery.start_soon(self._read, process.stderr, "stderr")

    async def _read(self, pipe: trio.abc.ReceiveStream, stream: Stream) -> None:
        gatherer = LineGatherer()
        try:
            async with pipe:
                while piece := await pipe.receive_some(_TOLD_PIECE if self._telling else _PIECE):
                    self.take(stream, gatherer.feed(bytes(piece)))
        finally:
            self.take(stream, gatherer.end())

    def take(self, stream: Stream, block: bytes) -> None:
        """Take whole lines."""
        self._keep(block)
        if not self._telling:
            return
        for line in lines_of(block):
            self._lines_to_tell -= 1
            self._bytes_to_tell -= len(line)
            if self._lines_to_tell < 0 or self._bytes_to_tell < 0:
                self._telling = False
                self._tell("stderr", _TOO_MUCH)
                return
            self._tell(stream, line)

    def say(self, words: str) -> None:
        """Add a line of our own; it is reported in any case."""
        self._keep(words.encode() + b"\n")
        self._tell("stderr", words)

    def close(self) -> None:
        """Write the end of the output behind its beginning, and close the file."""
        self._shorten(TAIL_BYTES)
        if self._left_out:
            self._write(b"[%d bytes of output are left out here]\n" % self._left_out)
        self._write(self._tail)
        with suppress(OSError):  # a network share may report only now that it was full
            os.close(self._fd)

    def _keep(self, block: bytes) -> None:
        if self._room:
            fits = len(block) <= self._room
            cut = len(block) if fits else block.rfind(b"\n", 0, self._room) + 1
            self._write(block[:cut])
            self._room = self._room - cut if fits else 0
            block = block[cut:]
        self._tail += block
        if len(self._tail) > 2 * TAIL_BYTES:
            self._shorten(TAIL_BYTES)

    def _shorten(self, most: int) -> None:
        """Leave the last lines only, at most so many bytes."""
        surplus = len(self._tail) - most
        if surplus > 0:
            end = self._tail.find(b"\n", surplus - 1)
            cut = end + 1 if end >= 0 else len(self._tail)
            self._left_out += cut
            del self._tail[:cut]

    def _write(self, data: bytes | bytearray) -> None:
        """Write to the log; a full disk must not fail the command, nor its live followers."""
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError:
            return


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
