"""Lock files: a private directory of files that are locked with ``flock``.

A file is unlinked only by who holds its lock, long after its last use. Who has opened it meanwhile
finds out by the comparison after locking, and opens the path anew: a path always means one lock.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from podiumd.runtime.locks.holder import UNKNOWN, Holder, decode_record, encode_record
from podiumd.tools.files.disk import is_full

_READ_LIMIT = 64 * 1024
_ATTEMPTS = 100


class LeaseError(Exception):
    """The lock directory or a lock file cannot be used; the message says why and what to do."""


def lock_directory(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the user's directory of lock files.

    It lies under ``$HOME`` and nothing else moves it, so that a second, private daemon of the same
    user contends for the same locks. Raises ``LeaseError`` if ``HOME`` is no absolute path.
    """
    home = environ.get("HOME", "")
    if not Path(home).is_absolute():
        raise LeaseError(
            f"HOME is {home!r}; an absolute path is needed to find the directory of lock files."
        )
    if platform == "darwin":
        return Path(home, "Library", "Application Support", "podium-locks")
    return Path(home, ".local", "state", "podium-locks")


def prepare_directory(directory: Path) -> None:
    """Make the directory, for its user alone, or check the one that is there.

    Raises ``LeaseError`` for a link, another user's directory, or one that others may enter;
    ``OSError`` when the disk is full.
    """
    try:
        make_private(directory)
        found = directory.lstat()
    except OSError as error:
        if is_full(error):
            raise
        raise LeaseError(
            f"The directory of lock files {directory} cannot be made: {error.strerror}."
        ) from error
    fault = None
    if not stat.S_ISDIR(found.st_mode):
        fault = "is not a directory (links are not followed); move it away"
    elif found.st_uid != os.geteuid():
        fault = f"belongs to user {found.st_uid}, not to {os.geteuid()}; move it away"
    elif stat.S_IMODE(found.st_mode) & 0o077:
        fault = f"has mode {stat.S_IMODE(found.st_mode):04o}; run: chmod 700 '{directory}'"
    if fault is not None:
        raise LeaseError(f"The directory of lock files {directory} {fault}.")


def try_lock(path: Path) -> int | None:
    """Open ``path`` with the exclusive lock; return ``None`` if another process has it.

    The file is made if need be. Raises ``LeaseError`` when it cannot be opened or locked,
    ``OSError`` when the disk is full.
    """
    for _ in range(_ATTEMPTS):
        fd = _open(path, create=True)
        with contextlib.ExitStack() as undo:
            undo.callback(unlock, fd)
            if _flock(fd, fcntl.LOCK_EX):
                if _is_still(fd, path):
                    undo.pop_all()
                    return fd
            elif not _flock(fd, fcntl.LOCK_SH):
                return None
        # The file was replaced, or only a look at it (a shared lock of a few microseconds) stood in
        # the way: again, at once.
    return None


def name_also(path: Path, other: Path) -> bool:
    """Give a lock file a second name, so that one lock is both; ``False``: the other is locked.

    The lock of ``path`` is held. Raises ``LeaseError``, ``OSError`` where the file system has no
    such names.
    """
    for _ in range(_ATTEMPTS):
        if other.exists() and other.samefile(path):
            return True
        fd = try_lock(other)
        if fd is None:
            return False
        try:
            other.unlink()
            with contextlib.suppress(FileExistsError):  # another was quicker: once more
                other.hardlink_to(path)
        finally:
            unlock(fd)
    return False


def remove_unused(path: Path, before: float) -> bool:
    """Unlink a lock file without holder, if it was taken last before a time; return whether.

    Raises ``LeaseError``, ``OSError``.
    """
    if path.lstat().st_mtime >= before:
        return False
    fd = try_lock(path)
    if fd is None:
        return False
    try:
        if os.fstat(fd).st_mtime >= before:  # taken, and given back, just now
            return False
        path.unlink()
    finally:
        unlock(fd)
    return True


def unlock(fd: int) -> None:
    """Drop the lock and close the descriptor.

    The lock is dropped by name, since a child between fork and exec may have a copy of the
    descriptor, and closing ours would leave the lock with it.
    """
    with contextlib.suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)


def peek(path: Path) -> Holder | None:
    """Read the record of a locked file (``UNKNOWN`` if it makes no sense); ``None``: free."""
    try:
        fd = _open(path, create=False)
    except FileNotFoundError:
        return None
    try:
        free = _flock(fd, fcntl.LOCK_SH)
        return None if free else decode_record(os.pread(fd, _READ_LIMIT, 0))
    finally:
        unlock(fd)


def read_record(path: Path) -> Holder:
    """Read the record, locked or not; ``UNKNOWN`` if it makes no sense."""
    try:
        fd = _open(path, create=False)
    except FileNotFoundError:
        return UNKNOWN
    try:
        return decode_record(os.pread(fd, _READ_LIMIT, 0))
    finally:
        os.close(fd)


def write_record(fd: int, holder: Holder) -> None:
    """Replace the record. Raises ``OSError`` when the disk is full.

    It is one write of a padded block, so a crash leaves the old record or the new one. Nothing is
    synced: no lock survives the machine's own crash.
    """
    record = encode_record(holder)
    if os.pwrite(fd, record, 0) != len(record):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.ftruncate(fd, len(record))


def make_private(directory: Path) -> None:
    """Make a directory and those above it, each that is missing for its user alone.

    Raises ``OSError``.
    """
    missing = list[Path]()
    for path in (directory, *directory.parents):
        if os.path.lexists(path):
            break  # so are those above it
        missing.append(path)
    for path in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another daemon was quicker
            path.mkdir(0o700)


def _open(path: Path, *, create: bool) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(path, flags | (os.O_CREAT if create else 0), 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        if is_full(error):
            raise
        raise LeaseError(f"The lock file {path} cannot be opened: {error.strerror}.") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise LeaseError(f"The lock file {path} is not a regular file; move it away.")
    return fd


def _flock(fd: int, operation: int) -> bool:
    try:
        fcntl.flock(fd, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise LeaseError(
            f"The file system of the lock files has no usable locks: {error.strerror}."
        ) from error
    return True


def _is_still(fd: int, path: Path) -> bool:
    """Return whether ``path`` still is the file that was locked."""
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False
