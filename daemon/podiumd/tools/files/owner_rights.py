"""Look into, and remove, directories from which a command may have taken the owner's rights.

A command can take them from any directory of its tree: what lies in it then can be neither seen nor
removed. Rights are given back only where they are in the way, and never through a link. Nor is
anything else changed through one: a command that works there at the same time can put a link in the
place of any directory at any moment.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_HELD = "/proc/self/fd/"
_READ, _REACH, _ALL = 0o500, 0o100, 0o700


def entries_of(directory: str) -> list[os.DirEntry[str]]:
    """List a directory. Blocks. Raises ``OSError``."""
    try:
        return _scan(directory)
    except PermissionError:
        status_of(directory)
        _give_back(directory, _READ)
        return _scan(directory)


def status_of(path: str) -> os.stat_result:
    """Return the status of the path itself, of a link too. Blocks. Raises ``OSError``."""
    try:
        return os.lstat(path)
    except PermissionError:
        _give_back(f"{Path(path).parent}", _REACH)
        return os.lstat(path)


def is_gone(path: str) -> bool:
    """Return whether nothing is there for certain. Blocks.

    A path that cannot be looked at may be there.
    """
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
    with suppress(OSError, RecursionError), held(path) as there:
        _remove(there)
    if not is_gone(path):
        with suppress(OSError, RecursionError), held(path) as there:
            make_writable(f"{Path(there).parent}")
            _open_all(there)
            _remove(there)
    return is_gone(path)


@contextmanager
def held(path: str) -> Iterator[str]:
    """Yield a name that leads to the same directory even if another is put at the path.

    ``path`` is absolute, and none of the directories in it may be a link. Blocks. Raises
    ``OSError``. Where the system has no such names it is the path itself.
    """
    if sys.platform != "linux":
        yield path
        return
    directory = _opened_directory(f"{Path(path).parent}")
    try:
        yield f"{_HELD}{directory}/{Path(path).name}"
    finally:
        os.close(directory)


def _opened_directory(path: str) -> int:
    """Open a directory name by name, below one that is held or from the root."""
    if path.startswith(_HELD):
        number, *names = path.removeprefix(_HELD).split("/")
        directory = os.dup(int(number))
    else:
        names = list(Path(path).parts[1:])
        directory = os.open("/", _DIRECTORY)
    try:
        for name in names:
            below = _opened(name, directory)
            os.close(directory)
            directory = below
    except BaseException:
        os.close(directory)
        raise
    return directory


def _opened(name: str, above: int) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=above)
    except PermissionError:
        _change(os.fstat(above), f"{_HELD}{above}", _REACH)
        return os.open(name, _DIRECTORY, dir_fd=above)


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
    opened = _opened_directory(directory)
    try:
        _change(os.fstat(opened), f"{_HELD}{opened}", needed)
    finally:
        os.close(opened)


def _change(status: os.stat_result, path: str, needed: int) -> None:
    mode = stat.S_IMODE(status.st_mode)
    if mode & needed != needed:
        Path(path).chmod(mode | _ALL, follow_symlinks=sys.platform != "darwin")
