"""The mounts in a process's table, and the check that they are those that were meant. Pure.

A mount is known by its file system and by where its top lies in that: if a command exchanges a
directory for a link, something else is mounted, and the table shows it, wherever the names lead
meanwhile.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")
_BINDS: Final = ("--bind", "--ro-bind")
_WORDS: Final = {"--bind": 2, "--ro-bind": 2, "--ro-bind-try": 2, "--cap-drop": 1, "--chdir": 1,
                 "--dev": 1, "--dir": 1, "--proc": 1, "--tmpfs": 1}  # fmt: skip
"""How many words follow an option of bubblewrap, where any do."""


class Mount(NamedTuple):
    """A mount: at ``point``, ``top`` of the file system of ``device`` and ``kind``."""

    number: str
    device: str
    top: str
    point: str
    kind: str


class Mounts:
    """The mounts of a process: ``/proc/PID/mountinfo``."""

    def __init__(self, table: bytes) -> None:
        self._below: dict[tuple[str, str], Mount] = {}
        numbers, outermost = set[str](), list[str]()
        for line in table.splitlines():
            words, _, kind = line.partition(b" - ")
            number, parent, device, top, point, *_ = map(_plain, words.split(b" "))
            mount = Mount(number, device, top, point, _plain(kind.split(b" ")[0]))
            numbers.add(number)
            self._below[parent if parent != number else "", point] = mount
            outermost += [parent if parent != number else ""] * (point == "/")
        self._outermost = next((one for one in outermost if one not in numbers), "")

    def at(self, path: str) -> Mount | None:
        """Find the mount that ``path`` is in, as the kernel does: from the top, name by name."""
        found = self._upon(None, "/")
        place = ""
        for name in filter(None, path.split("/")):
            place += f"/{name}"
            found = self._upon(found, place)
        return found

    def _upon(self, mount: Mount | None, place: str) -> Mount | None:
        """Return what is mounted last at a place in a mount; the mount itself where nothing is."""
        while above := self._below.get((mount.number if mount else self._outermost, place)):
            mount = above
        return mount


def _plain(word: bytes) -> str:
    return os.fsdecode(_ESCAPED.sub(lambda found: bytes((int(found[1], 8),)), word))


def strayed(arguments: Sequence[str], ours: Mounts, theirs: Mounts, below: str) -> str | None:
    """Find the first path whose mount is not the one in bubblewrap's arguments.

    ``ours`` are the mounts in which they were meant, ``theirs`` those that it has made ``below`` a
    directory.
    """
    for source, point in _meant(arguments):
        found = theirs.at(f"{below}{point.rstrip('/')}")
        if found is None or found.point != f"{below}{point.rstrip('/')}":
            return point
        if source is None:
            if (found.kind, found.top) != ("tmpfs", "/"):
                return point
        elif (found.device, found.top) != _place(ours.at(source), source):
            return point
    return None


def _meant(arguments: Sequence[str]) -> Iterator[tuple[str | None, str]]:
    """Yield what is to be mounted at which path and seen in the end.

    A later mount covers earlier ones at its path and below.
    """
    made = list[tuple[str | None, str]]()
    left = iter(arguments)
    for option in left:
        words = list(islice(left, _WORDS.get(option, 0)))
        if option in _BINDS:
            made.append((words[0], words[1]))
        elif option == "--tmpfs":
            made.append((None, words[0]))
    covered = set[str]()
    for source, point in reversed(made):
        if covered.isdisjoint(_upwards(point)):
            yield source, point
        covered.add(point)


def _upwards(path: str) -> Iterator[str]:
    while path != "/":
        yield path
        path = path.rpartition("/")[0] or "/"
    yield path


def _place(mount: Mount | None, path: str) -> tuple[str, str] | None:
    """Return the file system that a path lies in, and where in that."""
    if mount is None:
        return None
    within = path.removeprefix(mount.point).strip("/")
    return mount.device, f"{mount.top.rstrip('/')}/{within}".rstrip("/") or "/"
