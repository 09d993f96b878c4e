"""Reads a file at a path that another party chose: bounded, and without ever waiting for it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

MOST_LINK_BYTES: Final = 8192
"""Bytes of a file that names a place and no more, as a ``.git`` file does: twice the longest
path."""

_PIECE: Final = 1024 * 1024
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def is_directory(path: str | Path) -> bool:
    """Return whether a directory is there, also behind a link. Blocks.

    The answer is no behind a link that leads to a name which cannot exist, or to where looking is
    not permitted: ``Path.is_dir`` raises there.
    """
    return os.path.isdir(path)  # noqa: PTH112


def is_file(path: str | Path) -> bool:
    """Return whether a file is there, also behind a link; see ``is_directory``. Blocks."""
    return os.path.isfile(path)  # noqa: PTH113


def is_there(path: str | Path) -> bool:
    """Return whether anything is there, as ``is_directory``. Blocks. ``Path.exists`` raises
    instead."""
    return os.path.exists(path)  # noqa: PTH110


def is_link(path: str | Path) -> bool:
    """Return whether a link is there, by a name that another party may have chosen. Blocks."""
    return os.path.islink(path)  # noqa: PTH114


def named_in(path: str | Path, *, links: bool = True) -> str:
    """Read the place that a file names and no more, as a ``.git`` file does, or ``commondir``.

    With ``links`` the file may be behind a link. Blocks. Raises ``OSError``, and ``ValueError``
    where it names what no path can be.
    """
    named = read_plain(path, MOST_LINK_BYTES, links=links).removeprefix(b"gitdir: ").rstrip(b"\n")
    if b"\0" in named:
        raise ValueError(f"'{path}' names no place")
    return os.fsdecode(named)


def open_plain(path: str | Path) -> BinaryIO:
    """Open a plain file of any size for reading, also one that a link leads to.

    Raises ``OSError`` for anything else, as ``read_plain`` does. Blocks for the disk alone.
    """
    descriptor = os.open(path, _READ)
    try:
        require_plain(path, os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def require_plain(path: str | Path, status: os.stat_result) -> None:
    """Refuse what is no plain file: a pipe, a device, a directory. Raises ``OSError``."""
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), f"{path}")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "this is no plain file", f"{path}")


def read_plain(path: str | Path, most: int, *, links: bool = False) -> bytes:
    """Read a plain file of at most ``most`` bytes; with ``links`` also one that a link leads to.

    A pipe, from which one would read for ever, a device, a directory and what is larger are no
    such file: ``OSError``, as where there is none. Blocks for the disk alone.
    """
    descriptor = os.open(path, _READ if links else _READ | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        require_plain(path, status)
        # Not by open(): small ones are read all the time.
        data = os.read(descriptor, min(status.st_size, most) + 1)
        while len(data) <= most and (more := os.read(descriptor, _PIECE)):
            data += more
    finally:
        os.close(descriptor)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most} bytes", f"{path}")
    return data
