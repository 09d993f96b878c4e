"""The directories that people name from afar."""

from __future__ import annotations

import os
from pathlib import Path

import trio

from podiumd.projects.errors import BadPlace

LIMIT_SECONDS = 5.0


def named_directory(named: str, home: Path) -> Path:
    """The absolute path that ``named`` stands for, ``~`` meaning ``home``; nothing is looked at.

    Raises ``BadPlace`` for a relative path and for a text that can be none.
    """
    path = home / named[1:].lstrip("/") if named == "~" or named.startswith("~/") else Path(named)
    try:
        possible = b"\0" not in os.fsencode(path) and os.fsencode(path).decode() != ""
    except ValueError:  # half a surrogate pair, or bytes that are not UTF-8
        possible = False
    if not possible:
        raise BadPlace(f"{named!r} is no path that a directory could have.")
    if not path.is_absolute():
        raise BadPlace(f"The directory '{named}' is no absolute path.")
    return path


async def existing_directory(named: str, home: Path) -> Path:
    """The directory that ``named`` stands for. Raises ``BadPlace`` where there is none."""
    path = named_directory(named, home)
    with trio.move_on_after(LIMIT_SECONDS):
        # A dead network share holds the thread, not us.
        if await trio.to_thread.run_sync(_is_directory, path, abandon_on_cancel=True):
            return path
        raise BadPlace(f"The directory '{named}' is not there.")
    raise BadPlace(f"The directory '{named}' does not answer.")


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name that is too long, or a place that may not be entered
        return False
