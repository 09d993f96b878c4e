"""Open files at paths where another program may have put a pipe, which would be waited for."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

HANDED_OVER = ("/dev/fd/", "/proc/self/fd/")
"""Paths of what a shell hands over, as by ``<(command)``: pipes that are meant to be read."""


def open_plain(path: str) -> BinaryIO:
    """Open a plain file for reading, also one that a link leads to. Raises ``OSError``."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind) and not path.startswith(HANDED_OVER):
        os.close(descriptor)
        if stat.S_ISDIR(kind):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        raise OSError(errno.EINVAL, "this is no plain file", path)
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "rb")
