"""Commands of Podium's own in a line of words: a person copies them, so they are not broken."""

from __future__ import annotations

import re

from podium import text

_QUOTED = re.compile(r"['(]podium [^')]*['):]\S*|\S+")
"""A command in quotes or brackets, or any other word."""


def parted(line: str) -> tuple[str, str]:
    """A line that ends with a command: what stands before it, and the command; else the line."""
    label, found, command = line.rpartition(": podium ")
    return (f"{label}:", f"podium {command}") if found and label.strip() else (line, "")


def below(last: str, command: str, width: int, hang: int) -> list[str]:
    """A command in one piece, beside what stands before it or on a line of its own."""
    if text.cells(last) + 1 + text.cells(command) <= width:
        return [f"{last} {command}"]
    return [last, f"{' ' * hang}{command}" if text.cells(command) + hang <= width else command]


def words(line: str, room: int) -> list[str]:
    """The words of a line; a command in quotes or brackets is one of them, where there is room."""
    found = _QUOTED.findall(line)
    return [part for one in found for part in ([one] if text.cells(one) <= room else one.split())]
