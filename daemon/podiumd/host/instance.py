"""Locks held for life: one daemon on one STATE, one listener on one socket path.

A lock is advisory (``flock``) on a file that is never removed, so two starts at once cannot both
win, and a daemon that was killed leaves nothing that must be cleaned up.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PID_TRIES: Final = 50
_PID_WAIT_SECONDS: Final = 0.01


class AlreadyRunning(Exception):
    """Another living process holds the lock. ``pid`` is its number where it could be read."""

    def __init__(self, path: Path, pid: int | None) -> None:
        who = f"pid {pid}" if pid else "its pid is not known yet"
        super().__init__(
            f"Another podiumd ({who}) holds {path}; 'podium down' stops it, or set PODIUM_HOME "
            "to run a second, private one."
        )
        self.pid = pid


@contextmanager
def hold_lock(path: Path) -> Iterator[int]:
    """Hold the lock file ``path`` with our pid in it; yields the descriptor.

    The descriptor is closed on exec, so no agent inherits it. Raises ``AlreadyRunning`` when a
    living process holds it, OSError when the file cannot be opened.
    """
    descriptor = _locked(path)
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _locked(path: Path) -> int:
    """Open and lock; again if the file was exchanged between the two."""
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _still_there(path, descriptor):
                return descriptor
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                os.close(descriptor)
                raise
            pid = _holder(descriptor)
            os.close(descriptor)
            raise AlreadyRunning(path, pid) from None
        os.close(descriptor)


def _still_there(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _holder(descriptor: int) -> int | None:
    """Read the holder's pid. It writes it right after locking: until then a dead one may stand
    there, so a pid without a process is given a moment."""
    for _ in range(_PID_TRIES):
        text = os.pread(descriptor, 32, 0).strip()
        if text.isdigit() and _exists(int(text)):
            return int(text)
        time.sleep(_PID_WAIT_SECONDS)
    return None


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
