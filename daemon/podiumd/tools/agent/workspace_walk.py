"""Walks a path one name at a time, through descriptors and never through a link."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from podiumd.tools.agent.workspace_names import is_git, shown

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Refused(Exception):
    """Signal that a request is refused; the message gives the reason to the requester."""


class Missing(Refused):
    """There is no such file."""


class Changed(Refused):
    """The file is not what it was when the change was planned."""


class Spot(NamedTuple):
    """The place that a path leads to: a name in an open directory, below ``new`` directories to
    create."""

    above: int
    new: tuple[str, ...]
    name: str
    status: os.stat_result | None
    path: str


class Walk:
    """The directories from the root to where a path has led so far, all open."""

    def __init__(self, root: int, shut: frozenset[tuple[int, int]]) -> None:
        self._open = [root]
        self._names: list[str] = []
        self._shut = shut
        self.new: list[str] = []

    @property
    def here(self) -> int:
        return self._open[-1]

    def below_root(self) -> list[str]:
        return [*self._names, *self.new]

    def up(self, path: str) -> None:
        """Go back to the directory above. Raises ``Refused`` at the root."""
        if self.new:
            raise Missing(f"{shown(path)} goes through a directory that is not there")
        if not self._names:
            raise Refused(f"{shown(path)} leads out of the working directory")
        os.close(self._open.pop())
        self._names.pop()

    def to_root(self) -> None:
        """Go back to the root, as a link with an absolute target does."""
        for descriptor in self._open[1:]:
            os.close(descriptor)
        del self._open[1:], self._names[:]

    def look(self, name: str, path: str) -> os.stat_result | None:
        if is_git(name):
            raise Refused(f"{shown(path)} is git's own; '.git' is neither read nor written")
        if self.new:
            return None
        status = status_of(name, self.here)
        if status is not None and (status.st_dev, status.st_ino) in self._shut:
            raise closed_place(path)
        return status

    def enter(self, name: str, status: os.stat_result | None, path: str) -> None:
        if status is None:
            self.new.append(name)
            return
        if not stat.S_ISDIR(status.st_mode):
            raise Refused(f"{shown(name)} in {shown(path)} is not a directory")
        descriptor = os.open(name, DIRECTORY, dir_fd=self.here)
        self._open.append(descriptor)
        self._names.append(name)
        opened = os.fstat(descriptor)
        if (opened.st_dev, opened.st_ino) in self._shut:
            raise closed_place(path)

    def close(self) -> None:
        for descriptor in self._open:
            os.close(descriptor)


def closed_place(path: str) -> Refused:
    return Refused(f"{shown(path)} is closed: it is Podium's own")


def status_of(name: str, above: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=above, follow_symlinks=False)
    except FileNotFoundError:
        return None


@contextmanager
def on_disk(path: str) -> Iterator[None]:
    """Put what the system says in words."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Refused(f"{shown(path)} changed while it was opened; try again") from error
        raise Refused(f"{shown(path)}: {error.strerror}") from error
