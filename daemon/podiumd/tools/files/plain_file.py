"""Reads a file of which somebody else says what it is: bounded, and without ever waiting for it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

MOST_LINK_BYTES: Final = 8192
"""Of what names a place and no more, as a ``.git`` file does: twice the longest path."""

_PIECE: Final = 1024 * 1024
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def is_directory(path: str | Path) -> bool:
    """Whether a directory is there, also behind a link. Behind one that leads to a name which none
    can have, or to where nobody may look, there is none: ``Path.is_dir`` raises there. Blocks."""
    return os.path.isdir(path)  # noqa: PTH112


def is_file(path: str | Path) -> bool:
    """The same for a file."""
    return os.path.isfile(path)  # noqa: PTH113


def is_there(path: str | Path) -> bool:
    """The same for anything. ``Path.exists`` raises there."""
    return os.path.exists(path)  # noqa: PTH110


def is_link(path: str | Path) -> bool:
    """Whether a link is there, by a name that somebody else may have chosen. Blocks."""
    return os.path.islink(path)  # noqa: PTH114


def read_plain(path: str | Path, most: int, *, links: bool = False) -> bytes:
    """Read a plain file of at most ``most`` bytes; with ``links`` also one that a link leads to.

    A pipe, from which one would read for ever, a device, a directory and what is larger are no
    such file: ``OSError``, as where there is none. Blocks for the disk alone.
    """
    descriptor = os.open(path, _READ if links else _READ | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "this is no plain file", f"{path}")
        # Not by open(): small ones are read all the time.
        data = os.read(descriptor, min(status.st_size, most) + 1)
        while len(data) <= most and (more := os.read(descriptor, _PIECE)):
            data += more
    finally:
        os.close(descriptor)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most} bytes", f"{path}")
    return data
