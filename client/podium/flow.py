"""Lines that are broken between words: commands stay whole, colours are put back."""

from __future__ import annotations

import re

_QUOTED = re.compile(r"['(]podium [^')]*['):]\S*|\S+")
"""A command in quotes or brackets, or any other word."""


def parted(line: str) -> tuple[str, str]:
    """Split a line into the text before its final command, and the command; else the whole line."""
    label, found, command = line.rpartition(": podium ")
    return (f"{label}:", f"podium {command}") if found and label.strip() else (line, "")


def words(line: str) -> list[str]:
    """Split a line into words, of which a command in quotes or brackets is one."""
    return _QUOTED.findall(line)


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""The only sequences that words for a terminal hold, once they are clean: our own."""

_END = "\x1b[0m"


def plain(line: str) -> str:
    """Return a line without its colours."""
    return _COLOUR.sub("", line)


def coloured(lines: list[str], source: str) -> list[str]:
    """Give broken lines the colours of ``source``, whose words they are; none goes over an end."""
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
