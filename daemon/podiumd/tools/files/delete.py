"""Deletes a directory with all that is in it, in steps that can be ended."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR

_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)
_READ = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def delete_tree(directory: str, go_on: Callable[[], None]) -> None:
    """Delete a directory, with any modes in it; one that is not there is deleted already.

    ``go_on`` is called before every step and ends the deletion by an exception; begun again it goes
    on. Links are deleted and not followed. However deep it is, two directories are open at most:
    entries found in one below move up to the top before their turn comes. Blocks. Raises
    ``OSError``.
    """
    top = Path(directory)
    if top.is_symlink() or not top.is_dir():
        top.unlink(missing_ok=True)
        return
    top.chmod(0o700)
    place = os.open(top, _READ)
    try:
        names = (f".{number}" for number in itertools.count())
        while waiting := _emptied(place, place, names, go_on):
            for name in waiting:
                with suppress(FileNotFoundError):  # an empty one, whose name another has now
                    below = os.open(name, _READ, dir_fd=place)
                    try:
                        _emptied(below, place, names, go_on)
                    finally:
                        os.close(below)
                    os.rmdir(name, dir_fd=place)
    finally:
        os.close(place)
    with suppress(FileNotFoundError):
        top.rmdir()


def _emptied(place: int, top: int, names: Iterator[str], go_on: Callable[[], None]) -> list[str]:
    """Delete the files of a directory, and move the directories in it to ``top``, under new names;
    those of the top itself are returned."""
    waiting = []
    for name in os.listdir(place):
        go_on()
        if not S_ISDIR(os.lstat(name, dir_fd=place).st_mode):
            os.unlink(name, dir_fd=place)
            continue
        os.chmod(name, 0o700, dir_fd=place)
        if place == top:
            waiting.append(name)
        else:
            _moved(name, place, top, names)
    return waiting


def _moved(name: str, place: int, top: int, names: Iterator[str]) -> None:
    for other in names:
        try:  # onto an empty directory it moves too: that one was to be deleted as well
            os.rename(name, other, src_dir_fd=place, dst_dir_fd=top)
            return
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
