"""Negotiation of the phone protocol's version for a connection. Pure."""

from __future__ import annotations

import re
from typing import Final

CEILING: Final = "0.5.0"
"""Version that the daemon offers: a session's cursor is an ``offset``."""
FLOOR: Final = "0.4.0"
"""The oldest that a phone may announce: a session's cursor is a ``seq``."""

_FORM: Final = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})(?:[-+].{0,100})?")


def parse(text: object) -> tuple[int, int, int] | None:
    """Return the three numbers of a version, without what follows a ``-`` or ``+``.

    ``None`` for anything else: two or four numbers are no version.
    """
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def negotiate(announced: object) -> str | None:
    """Return what is spoken with a phone that announced this (``None``: nothing).

    Without an announcement, or with one that is no version, it is the floor; else the newest that
    both know. ``None``: the phone is too old.
    """
    version = parse(announced)
    if version is None:
        return FLOOR
    if version < _FLOOR:
        return None
    return FLOOR if version < _CEILING else CEILING


_FLOOR: Final = (0, 4, 0)
_CEILING: Final = (0, 5, 0)
