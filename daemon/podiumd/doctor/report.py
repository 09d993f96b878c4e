"""What a check found, as a line for people and as data for programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from podiumd.redaction import escape

State = Literal["ok", "warn", "broken"]

_COLOURS: Final[dict[State, str]] = {"ok": "32", "warn": "33", "broken": "31"}


class Check(msgspec.Struct, frozen=True):
    """One finding: what was looked at, how it is, and what to do where it is not well.

    ``message`` and ``fix`` are sentences without their full stop.
    """

    check: str
    state: State
    message: str
    fix: str = ""


def ok(check: str, message: str) -> Check:
    """All is well."""
    return Check(check, "ok", message)


def warn(check: str, message: str, fix: str) -> Check:
    """Podium works, and something is not as it should be."""
    return Check(check, "warn", message, fix)


def broken(check: str, message: str, fix: str) -> Check:
    """Something that Podium needs does not work."""
    return Check(check, "broken", message, fix)


def is_broken(checks: Sequence[Check]) -> bool:
    """Whether any check found something that does not work."""
    return any(one.state == "broken" for one in checks)


def text(checks: Sequence[Check], *, colours: bool, whole: bool) -> str:
    """One line a check that is not well, with its fix, and a last line that sums all up; with
    ``whole`` a line for the others too."""
    shown = [one for one in checks if whole or one.state != "ok"]
    width = max((len(one.check) for one in shown), default=0)
    lines = [_line(one, width, colours=colours) for one in shown]
    return "\n".join([*lines, _sum(checks, whole=whole)]) + "\n"


def _line(one: Check, width: int, *, colours: bool) -> str:
    state = f"{one.state:<6}"
    if colours:
        state = f"\x1b[{_COLOURS[one.state]}m{state}\x1b[0m"
    fix = f". Fix: {one.fix.removeprefix('Run: ')}" if one.fix else ""
    return f"{state}  {one.check:<{width}}  {escape(one.message + fix)}"


def _sum(checks: Sequence[Check], *, whole: bool) -> str:
    bad = sum(one.state == "broken" for one in checks)
    doubtful = sum(one.state == "warn" for one in checks)
    more = "" if whole else " ('podium doctor --all' lists them)"
    if not bad and not doubtful:
        return f"All {len(checks)} checks are well{more}."
    well = len(checks) - bad - doubtful
    counted = f"{bad} broken, {doubtful} to look at, {well} well{more}"
    return f"{len(checks)} checks: {counted}. Nothing was changed."


def document(checks: Sequence[Check]) -> dict[str, Any]:
    """The report for programs: ``ok`` (nothing is broken) and every check."""
    return {"ok": not is_broken(checks), "checks": [msgspec.structs.asdict(one) for one in checks]}


def wants_colours(environ: Mapping[str, str]) -> bool:
    """Whether standard output is a terminal that colours are wanted on."""
    return sys.stdout.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
