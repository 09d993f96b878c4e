"""A stream of words with a live line below them, where the terminal can show one.

The live line (elapsed time, cost) stands only while nothing is being written, only on a line of
its own, and is gone before anything else is printed.
"""

from __future__ import annotations

from typing import IO

from podium import text

ERASE_LINE = "\r\x1b[K"

ASSUMED_COLUMNS = 80
"""For a terminal that does not tell its width."""


class Screen:
    """Where a followed run is told. ``style`` colours the words for this stream."""

    def __init__(self, stream: IO[str]) -> None:
        self.style = text.Style(stream)
        self._stream = stream
        self._live = False
        self._fresh = True

    @property
    def live(self) -> bool:
        """Whether a live line can be shown."""
        return self.style.smart

    def write(self, words: str) -> None:
        """Write words that may end anywhere in a line."""
        if words:
            self.clear()
            self._stream.write(words)
            self._stream.flush()
            self._fresh = words.endswith("\n")

    def line(self, words: str = "") -> None:
        """Write whole lines, beginning on a fresh one."""
        self.write(f"{'' if self._fresh else chr(10)}{words}\n")

    def fresh_line(self) -> None:
        """Begin a new line unless the present one is empty."""
        if not self._fresh:
            self.write("\n")

    @property
    def fresh(self) -> bool:
        """Whether the next word begins a line."""
        return self._fresh

    def typed(self) -> None:
        """The person ended a line: the terminal's echo has moved on to the next one."""
        self._fresh = True

    def status(self, words: str) -> None:
        """Draw the live line, or leave it when a line of words is not finished yet."""
        if self.live and self._fresh:
            room = (text.columns() or ASSUMED_COLUMNS) - 1
            self._stream.write(ERASE_LINE + self.style("dim", words[:room]))
            self._stream.flush()
            self._live = True

    def clear(self) -> None:
        """Take the live line away."""
        if self._live:
            self._live = False
            self._stream.write(ERASE_LINE)
            self._stream.flush()
