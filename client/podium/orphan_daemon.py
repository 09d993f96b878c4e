"""A daemon that cannot be reached by its socket: found by the lock that it holds for life."""

from __future__ import annotations

import fcntl
import os

from podium import paths


def daemon_pid() -> int | None:
    """Return the process that holds the lock of STATE; ``None`` where no daemon has it.

    Trying the lock means to hold it for a moment, in which no daemon could start: it is tried only
    where the process that the file names is alive, and callers must not ask again and again.
    """
    try:
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(paths.lock_file(), flags)
    except OSError:
        return None
    try:
        pid = int(os.pread(descriptor, 32, 0))
        os.kill(pid, 0)
        return pid if _is_held(descriptor) else None
    except (OSError, ValueError, OverflowError):
        return None  # no process, or not ours
    finally:
        os.close(descriptor)


def _is_held(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
