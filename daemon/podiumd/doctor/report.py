"""The finding of a check, as a line for people and as data for programs."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from podiumd.observe.checks import Check, State
from podiumd.observe.redaction import escape

_COLOURS: Final[dict[State, str]] = {"ok": "32", "warn": "33", "broken": "31"}

NARROW: Final = 70
"""Columns of a terminal below which what a check found stands below its name."""


def is_broken(checks: Sequence[Check]) -> bool:
    """Return whether any check found something that does not work."""
    return any(one.state == "broken" for one in checks)


def text(checks: Sequence[Check], *, colours: bool, whole: bool, columns: int = 0) -> str:
    """Render a line for each check that is not well, with its fix, and a summary line.

    With ``whole`` the others have a line too. At a terminal of so many ``columns`` (0: any) lines
    end between words.
    """
    shown = [one for one in checks if whole or one.state != "ok"]
    width = max((len(one.check) for one in shown), default=0)
    lines = []
    for one in shown:
        first, *more = _lines(one, width, columns)
        if colours:
            first = f"\x1b[{_COLOURS[one.state]}m{first[:6]}\x1b[0m{first[6:]}"
        lines += [first, *more]
    return "\n".join([*lines, *_wrapped(_sum(checks, whole=whole), columns)]) + "\n"


def _lines(one: Check, width: int, columns: int) -> list[str]:
    """Format a check's state and name, and its finding beside or below them."""
    head = f"{one.state:<6}  {one.check:<{width}}  "
    fix = f". Fix: {one.fix.removeprefix('Run: ')}" if one.fix else ""
    words = escape(one.message + fix)
    if columns and columns < NARROW:
        return [head.rstrip(), *_wrapped(words, columns, "    ")]
    first, *more = _wrapped(words, columns, " " * len(head)) or [head]
    return [head + first[len(head) :], *more]


def _wrapped(words: str, columns: int, indent: str = "") -> list[str]:
    """Wrap words into lines; a word that is longer than a line stays whole: it may be copied."""
    if not columns:
        return [indent + words]
    return textwrap.wrap(
        words,
        columns,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _sum(checks: Sequence[Check], *, whole: bool) -> str:
    bad = sum(one.state == "broken" for one in checks)
    doubtful = sum(one.state == "warn" for one in checks)
    more = "" if whole else " ('podium doctor --all' lists them)"
    if not bad and not doubtful:
        return f"All {len(checks)} checks are well{more}."
    plural = "" if doubtful == 1 else "s"
    well = len(checks) - bad - doubtful
    counted = f"{bad} broken, {doubtful} warning{plural}, {well} ok{more}"
    return f"{len(checks)} checks: {counted}. Nothing was changed."


def document(checks: Sequence[Check]) -> dict[str, Any]:
    """Build the report for programs: ``ok`` (nothing is broken) and every check."""
    return {"ok": not is_broken(checks), "checks": [msgspec.structs.asdict(one) for one in checks]}


def wants_colours(environ: Mapping[str, str]) -> bool:
    """Return whether standard output is a terminal that colours are wanted on."""
    return sys.stdout.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def columns() -> int:
    """Return the width of standard output's terminal; 0 where it is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except OSError:
        return 0
