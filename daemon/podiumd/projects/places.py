"""The directories that people name from afar."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import trio

from podiumd.projects.errors import BadPlace
from podiumd.projects.filenames import escaped, unseen

LIMIT_SECONDS = 5.0
MOST_LOOKS = 8

MOST_DEEP = 32
MOST_NAME_BYTES = 255
"""Limits of a directory that is made: levels below the home, and bytes of one name on the way."""

T = TypeVar("T")


class _Looks:
    """The looks at directories of one event loop, in threads of their own.

    A dead network share holds the thread that asks it, and cannot be interrupted: so few threads
    are risked, none of those that the rest of the daemon lives on, and a directory that owes an
    answer is not asked again before it has given it, nor is one below it.
    """

    def __init__(self) -> None:
        self.threads = trio.CapacityLimiter(MOST_LOOKS)
        self._owed: dict[Path, threading.Event] = {}

    def silent(self, directory: Path) -> bool:
        """Return whether it, or one above it, still owes an answer; or so many do that none is
        asked."""
        for path, answered in tuple(self._owed.items()):
            if answered.is_set():
                del self._owed[path]
        above = {directory, *directory.parents}
        return len(self._owed) >= MOST_LOOKS or not above.isdisjoint(self._owed)

    def owes(self, directory: Path, answered: threading.Event) -> None:
        """Note that it did not answer in time; ``answered`` is set once it does."""
        self._owed[directory] = answered


_LOOKS = trio.lowlevel.RunVar[_Looks]("podiumd.projects.looks")


async def look(directory: Path, read: Callable[[], T]) -> T:
    """Return the result of ``read``, which blocks, for a directory.

    Raises ``BadPlace`` when that takes longer than 5 s, and at once while the directory owes an
    answer since an earlier look.
    """
    try:
        looks = _LOOKS.get()
    except LookupError:
        looks = _Looks()
        _LOOKS.set(looks)
    refusal = BadPlace(f"The directory {_told(str(directory))} does not answer.")
    if looks.silent(directory):
        raise refusal
    answered = threading.Event()
    begun = False

    def work() -> T:
        nonlocal begun
        begun = True
        try:
            return read()
        finally:
            answered.set()

    try:
        with trio.move_on_after(LIMIT_SECONDS):
            return await trio.to_thread.run_sync(
                work, abandon_on_cancel=True, limiter=looks.threads
            )
        raise refusal
    finally:
        if begun and not answered.is_set():
            looks.owes(directory, answered)


def named_directory(named: str, home: Path) -> Path:
    """Return the absolute path that ``named`` stands for, ``~`` meaning ``home``.

    Nothing is looked at. Raises ``BadPlace`` for a relative path and for a text that cannot be one.
    """
    path = home / named[1:].lstrip("/") if named == "~" or named.startswith("~/") else Path(named)
    try:
        possible = b"\0" not in os.fsencode(path) and os.fsencode(path).decode() != ""
    except ValueError:  # half a surrogate pair, or bytes that are not UTF-8
        possible = False
    if not possible:
        raise BadPlace(f"{named!r} is no path that a directory could have.")
    if not path.is_absolute():
        raise BadPlace(f"The directory {_told(named)} is no absolute path.")
    return path


async def existing_directory(named: str, home: Path) -> Path:
    """Find the directory that ``named`` stands for. Raises ``BadPlace`` where there is none."""
    path = named_directory(named, home)
    if await is_there(path):
        return path
    raise not_there(named)


async def is_there(path: Path) -> bool:
    """Return whether a directory is at a path. Raises ``BadPlace`` where it does not answer."""
    return await look(path, lambda: _is_directory(path))


def not_there(named: str) -> BadPlace:
    """Build the error for a directory that is not there."""
    return BadPlace(f"The directory {_told(named)} is not there.")


def below(path: Path, home: Path) -> tuple[str, ...] | None:
    """Return the names that lead from the home down to a path.

    ``None`` where the path is not below it, or is no plain way to it. Raises ``BadPlace`` for names
    that a person could not read.
    """
    try:
        names = path.relative_to(home).parts
    except ValueError:
        return None
    possible = all(len(os.fsencode(name)) <= MOST_NAME_BYTES for name in names)
    if not possible or ".." in names or len(names) > MOST_DEEP:
        return None
    for name in names:
        if unseen(name):
            raise BadPlace(
                f"The directory {escaped(str(path))} is not there, and is not made: its name "
                f"{escaped(name)} holds a control or invisible character. Name it without."
            )
    return names


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name that is too long, or a place that may not be entered
        return False


def _told(named: str) -> str:
    """Format a place for a refusal: as it was named, where that can be read."""
    return escaped(named) if unseen(named) else f"'{named}'"
