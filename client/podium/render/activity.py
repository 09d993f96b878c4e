"""Present activity of an agent for the live line, and its results in a few lines."""

from __future__ import annotations

from podium import text

RESULT_LINES = 4
"""Shown of what a tool gives back at once."""

NOTICE_CELLS = 1000
"""At most of a notice: a person has to read it whole, so it takes as many lines as it needs."""

ASSUMED_CELLS = 100
"""Width to which text is cut where there is no terminal."""


class Activity:
    """Follows the ``turn.output`` of a turn."""

    def __init__(self) -> None:
        self._doing = ""
        self._told = ""

    def output(self, kind: str, delta: str) -> None:
        """Take note of what the agent says or does."""
        if kind == "text":
            self._doing = ""
        elif kind == "thinking":
            self._doing = "thinking"
        elif kind in ("tool", "progress", "status"):
            self._doing = text.fold(delta)

    def over(self) -> None:
        """Clear the activity at the end of the turn."""
        self._doing = ""

    def line(self, elapsed: str, spent: str, where: str, unseen: str) -> str:
        """Build the live line; ``unseen`` are the words that stream and cannot be shown yet."""
        doing = self._doing or text.fold(unseen)
        there = "  ".join(filter(None, [elapsed, spent, where]))
        return f"  {there} · {doing}" if doing else f"  {there}"

    def tells(self, message: str) -> None:
        """Note a result that was shown, as its tool repeats it."""
        self._told = message

    def untold(self, said: str) -> str:
        """Return a tool's words without the result that was shown."""
        told, self._told = self._told, ""
        if told and (said == told or said.startswith(f"{told}\n")):
            return said[len(told) :].strip("\n")
        return said


def brief(words: object, columns: int, margin: int = 4) -> str:
    """Shorten words to one line of a terminal (0 columns: of none), after a margin."""
    return text.fold(words, max(text.NARROWEST, columns - margin) if columns else ASSUMED_CELLS)


def result_lines(said: object, columns: int, margin: int = 4) -> list[str]:
    """Return the first lines of a tool's result, each cut to the terminal, and how many more."""
    lines = [brief(line, columns, margin) for line in text.clean(said).splitlines() if line.strip()]
    more = len(lines) - RESULT_LINES
    if more > 1:
        return [*lines[:RESULT_LINES], f"… {more} more lines"]
    return lines
