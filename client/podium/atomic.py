"""Files written whole or not at all: who looks meanwhile sees the old one or the new one."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress

LONGEST_NAME = 200
"""Bytes of a file's own name in its temporary one; systems allow 255."""


def write(path: str, written: bytes, *, replace: bool = True) -> None:
    """Put a file in its place once all of it is on the disk.

    A target that is no regular file, such as a pipe, is written as it is; a link stays and its
    target is replaced. Without ``replace`` nothing that is there is touched.

    Raises:
        FileExistsError: there is something, and it is not to be replaced.
        OSError: it cannot be written; what was there is as it was.
    """
    target = os.path.realpath(path) if replace else os.path.abspath(path)
    if replace and os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as file:
            file.write(written)
        return
    directory, name = os.path.split(target)
    short = os.fsencode(name)[:LONGEST_NAME].decode(errors="replace")
    temporary = os.path.join(directory, f".{short}.{os.getpid()}")
    try:
        with open(temporary, "xb") as file:
            file.write(written)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            if os.path.exists(target):
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        else:
            _place(temporary, target)
    finally:
        with suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(temporary)


def _place(temporary: str, target: str) -> None:
    """Give a file its name if nothing has it."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError(target) from None
        os.rename(temporary, target)
