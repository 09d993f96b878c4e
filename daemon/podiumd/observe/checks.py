"""Findings of a look at Podium: how one thing is, and what to do where it is not well."""

from __future__ import annotations

from typing import Literal

import msgspec

State = Literal["ok", "warn", "broken"]


class Check(msgspec.Struct, frozen=True):
    """A finding: what was looked at, how it is, and what to do where it is not well.

    ``message`` and ``fix`` are sentences without their full stop.
    """

    check: str
    state: State
    message: str
    fix: str = ""


def ok(check: str, message: str) -> Check:
    """Report that all is well."""
    return Check(check, "ok", message)


def warn(check: str, message: str, fix: str) -> Check:
    """Podium works, and something is not as it should be."""
    return Check(check, "warn", message, fix)


def broken(check: str, message: str, fix: str) -> Check:
    """Report that something that Podium needs does not work."""
    return Check(check, "broken", message, fix)
