"""Commands of Podium's own in a line of words: a person copies them, so they are not broken."""

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
