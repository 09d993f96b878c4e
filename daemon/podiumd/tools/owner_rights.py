"""Looking into, and removing, what somebody may have taken the owner's rights from.

A command can take them from any directory of its tree: what lies in it then can be neither seen nor
removed. Rights are given back where they are in the way alone, and never through a link.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from contextlib import suppress
from pathlib import Path

_READ, _REACH, _ALL = 0o500, 0o100, 0o700


def entries_of(directory: str) -> list[os.DirEntry[str]]:
    """What is in a directory. Blocks. Raises ``OSError``."""
    try:
        return _scan(directory)
    except PermissionError:
        status_of(directory)
        _give_back(directory, _READ)
        return _scan(directory)


def status_of(path: str) -> os.stat_result:
    """What the path itself is, a link too. Blocks. Raises ``OSError``."""
    try:
        return os.lstat(path)
    except PermissionError:
        _give_back(f"{Path(path).parent}", _REACH)
        return os.lstat(path)


def is_gone(path: str) -> bool:
    """Whether nothing is there for certain: what cannot be looked at may be there. Blocks."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def is_removed(path: str) -> bool:
    """Remove what is at a path, with all that is in it; whether it is gone. Blocks."""
    # Deeper than a stack is no error of the system's.
    with suppress(OSError, RecursionError):
        _remove(path)
    if not is_gone(path):
        with suppress(OSError, RecursionError):
            make_writable(f"{Path(path).parent}")
            _open_all(path)
            _remove(path)
    return is_gone(path)


def make_writable(directory: str) -> None:
    """Give the owner the rights to change a directory. Blocks. Raises ``OSError``."""
    _give_back(directory, _ALL)


def _remove(path: str) -> None:
    if stat.S_ISDIR(status_of(path).st_mode):
        shutil.rmtree(path)
    else:
        Path(path).unlink()


def _open_all(path: str) -> None:
    """Make a directory writable, and those in it."""
    left = [path] if stat.S_ISDIR(status_of(path).st_mode) else []
    while left:
        directory = left.pop()
        make_writable(directory)
        left += [one.path for one in _scan(directory) if one.is_dir(follow_symlinks=False)]


def _scan(directory: str) -> list[os.DirEntry[str]]:
    with os.scandir(directory) as entries:
        return list(entries)


def _give_back(directory: str, needed: int) -> None:
    """Give the owner all rights to a directory that lacks one of those ``needed``."""
    if sys.platform == "darwin":
        _change(os.lstat(directory), directory, needed)
        return
    # By descriptor: what stands there meanwhile is the same, and no link.
    held = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _change(os.fstat(held), f"/proc/self/fd/{held}", needed)
    finally:
        os.close(held)


def _change(status: os.stat_result, path: str, needed: int) -> None:
    mode = stat.S_IMODE(status.st_mode)
    if mode & needed != needed:
        Path(path).chmod(mode | _ALL, follow_symlinks=sys.platform != "darwin")
