"""Coloured lines broken between words, as ``text.wrapped`` breaks plain ones."""

from __future__ import annotations

import re

from podium import text

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""The only sequences that words for a terminal hold, once they are clean: our own."""

_END = "\x1b[0m"


def plain(line: str) -> str:
    """A line without its colours."""
    return _COLOUR.sub("", line)


def wrapped(line: str, width: int, hang: int | None = None) -> list[str]:
    """A line in lines of at most ``width`` cells (0: any), broken between words.

    ``hang``: how far all but the first are indented; two cells further than it where none is said.
    """
    bare = plain(line).expandtabs(4)
    if not width or text.cells(bare) <= width:
        return [line]
    if hang is None:
        hang = len(bare) - len(bare.lstrip(" ")) + 2
    lines = text.wrapped(bare, width, hang)
    return lines if bare == line else _coloured(lines, line)


def _coloured(lines: list[str], source: str) -> list[str]:
    """The colours of ``source`` in the same words, broken into lines; none goes over an end."""
    codes: list[tuple[int, str]] = []  # how many letters come before each
    letters, at = 0, 0
    for found in _COLOUR.finditer(source):
        letters += len("".join(source[at : found.start()].split()))
        codes.append((letters, found[0]))
        at = found.end()
    shown, told, colour = [], 0, ""
    for line in lines:
        words = line.lstrip(" ")
        made = " " * (len(line) - len(words)) + colour
        for char in words:
            while codes and not char.isspace() and codes[0][0] <= told:
                code = codes.pop(0)[1]
                colour = "" if code == _END else code
                made += code
            told += not char.isspace()
            made += char
        while codes and codes[0][0] <= told and codes[0][1] == _END:
            codes.pop(0)
            colour = ""
            made += _END
        shown.append(made + (_END if colour else ""))
    return shown
