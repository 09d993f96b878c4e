"""A stream of words with a live line below them, where the terminal can show one.

At a terminal an agent's words are drawn block by block, and every line is broken between words.
The live line (elapsed time, cost, what streams) stands below them on a line of its own, and is
gone before anything else is printed.
"""

from __future__ import annotations

from typing import IO

from podium import text
from podium.render.prose import Block, Blocks

ERASE_LINE = "\r\x1b[K"

ASSUMED_COLUMNS = 80
"""Width of a terminal that does not report its own."""


class Screen:
    """Output of a followed run. ``style`` colours the words for this stream."""

    def __init__(self, stream: IO[str]) -> None:
        self.style = text.Style(stream)
        self._stream = stream
        self._live = False
        self._fresh = True
        self._blocks = Blocks()
        self._last: Block | None = None
        self._margin = ""

    @property
    def live(self) -> bool:
        """Return whether a live line can be shown."""
        return self.style.smart

    @property
    def draws(self) -> bool:
        """Return whether an agent's words are drawn here, not written as they come."""
        return self.style.terminal

    @property
    def columns(self) -> int:
        """Return the terminal's width at this moment; 0: any."""
        return text.columns(self._stream)

    @property
    def tail(self) -> str:
        """Return the agent's words that are not shown yet."""
        return self._blocks.tail

    def write(self, words: str) -> None:
        """Write words that may end anywhere in a line."""
        if words:
            self._end_words()
            self._put(words)

    def line(self, words: str = "") -> None:
        """Write whole lines, beginning on a fresh one."""
        self._end_words()
        self.beside(words)

    def beside(self, words: str) -> None:
        """Write whole lines while an agent speaks: what is no whole block of it yet comes after."""
        lines = [part for line in words.split("\n") for part in text.flowed(line, self.columns)]
        self._put("\n" * (not self._fresh) + "\n".join(lines) + "\n")

    def command(self, label: str, command: str) -> None:
        """Write a command to be copied, never broken: on a line of its own where it is too long."""
        whole = f"{label} {command}"
        fits = not self.columns or text.cells(whole) <= self.columns
        self.line(whole if fits else label)
        if not fits:
            self._put(f"{command}\n")

    def words(self, words: str, margin: str = "") -> None:
        """Draw an agent's words, as far as they make whole blocks."""
        if words:
            self._margin = margin
            self._show(self._blocks.add(words))

    def reported(self) -> None:
        """Drop the outcome that the agent's words ended with: it is shown otherwise."""
        self._end_words()
        self._blocks.reported()

    def not_reported(self) -> None:
        """Show what looked like the outcome, like all else."""
        self._end_words()
        self._show(self._blocks.not_reported())
        self._last = None

    def fresh_line(self) -> None:
        """Begin a new line unless the present one is empty."""
        self._end_words()
        if not self._fresh:
            self._put("\n")

    @property
    def fresh(self) -> bool:
        """Return whether the next word begins a line."""
        return self._fresh

    def typed(self) -> None:
        """Note that the person ended a line: the terminal's echo has moved on to the next one."""
        self._stand("\n")

    def status(self, words: str) -> None:
        """Draw the live line, or leave it when a line of words is not finished yet."""
        if self.live and self._fresh:
            shown = text.cut(words, (self.columns or ASSUMED_COLUMNS) - 1)
            self._live, text.put_away = True, self.clear  # first: it may be cut short
            self._stream.write(ERASE_LINE + self.style("dim", shown))
            self._stream.flush()

    def clear(self) -> None:
        """Take the live line away."""
        if self._live:
            self._live, text.put_away = False, None
            self._stream.write(ERASE_LINE)
            self._stream.flush()

    def _put(self, words: str) -> None:
        if text.put_away is not None:
            text.put_away()
        self._stream.write(words)
        self._stream.flush()
        self._stand(words)

    def _stand(self, words: str) -> None:
        """Take note of where the cursor is after these words."""
        self._fresh = words.endswith("\n")
        text.end_line = None if self._fresh or not self.style.terminal else lambda: self._put("\n")

    def _end_words(self) -> None:
        self._show(self._blocks.end())
        self._last = None

    def _show(self, blocks: list[Block]) -> None:
        if not blocks:
            return
        from podium.render import markdown

        room = (self.columns or ASSUMED_COLUMNS) - len(self._margin)
        for block in blocks:
            if block.code:
                lines = [f"  {line}" for line in markdown.code(block.words, room - 2)]
            else:
                lines = markdown.drawn(block.words, room, colours=self.style.colours)
            apart = self._last is not None and not (self._last.code and block.code)
            shown = [f"{self._margin}{line}".rstrip() for line in lines]
            self._put(
                "\n" * (not self._fresh) + "\n" * apart + "".join(f"{one}\n" for one in shown)
            )
            self._last = block
