"""Sessions that an agent's own processes have open, by the file that each of them locks (Linux).

Codex locks ``CODEX_HOME/thread-writer-locks/THREAD.lock`` (``flock``) as long as a process has the
thread loaded, idle or not, and refuses the thread to any other (0.169.0). Who holds a lock stands
in ``/proc/locks``. No lock is tried here: it would turn Codex away that begins at that moment. On
other systems nothing is found, and Codex's own refusal is what remains.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from podiumd.runtime.locks.foreign_sessions import started
from podiumd.runtime.locks.holder import Holder
from podiumd.tools.process.processes import identity_of, wait_gone

_LOCKS: Final = Path("/proc/locks")
_SUFFIX: Final = ".lock"


class _Lock(msgspec.Struct, frozen=True):
    pid: int
    device: tuple[int, int]
    inode: int


def writer(session_id: str, directory: Path) -> Holder | None:
    """Find the process that has a session open, by the agent's own id of the session."""
    path = directory / f"{session_id}{_SUFFIX}"
    try:
        inode = path.stat().st_ino
    except (OSError, ValueError):  # an id with a zero byte is no name of a file
        return None
    locks = [lock for lock in _locks() if lock.inode == inode]
    return _holder(path, locks)


def all_writers(directory: Path) -> list[Holder]:
    """List every session that a process has open."""
    try:
        files = {entry.inode(): Path(entry.path) for entry in os.scandir(directory)}
    except OSError:
        return []
    locks = [lock for lock in _locks() if lock.inode in files]
    held = {files[lock.inode] for lock in locks if files[lock.inode].suffix == _SUFFIX}
    found = (_holder(path, locks) for path in sorted(held) if not path.name.startswith("."))
    return [holder for holder in found if holder is not None]


async def wait_unlocked(session_id: str, directory: Path) -> bool:
    """Return once no process has the session open; ``False`` if it is not known which one has."""
    while (holder := writer(session_id, directory)) is not None:
        identity = None if holder.pid is None else identity_of(holder.pid)
        if identity is None:
            return False
        await wait_gone(identity)
    return True


def _holder(path: Path, locks: list[_Lock]) -> Holder | None:
    found = next((lock for lock in locks if _is_of(lock, path)), None)
    if found is None:
        return None
    identity = identity_of(found.pid) if found.pid > 0 else None
    return Holder(
        kind="foreign",
        pid=None if identity is None else identity.pid,
        since=None if identity is None else started(identity),
        session_id=path.stem,
    )


def _is_of(lock: _Lock, path: Path) -> bool:
    """Return whether a lock is that of a file. Some file systems give other numbers of devices to
    files than to their locks: there the process must have the file open."""
    with suppress(OSError):
        there = path.stat()
        if there.st_ino != lock.inode:
            return False
        if (os.major(there.st_dev), os.minor(there.st_dev)) == lock.device:
            return True
        name = os.path.realpath(path)
        opened = Path(f"/proc/{lock.pid}/fd").iterdir()
        return any(str(each.readlink()) == name for each in opened)
    return False


def _locks() -> Iterator[_Lock]:
    """Read the locks of whole files that processes have. ``1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:
    INODE 0 EOF``, the device in hexadecimal; a process that waits for one has ``->`` before it."""
    try:
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        fields = line.split()
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[3] == "WRITE":
            major, minor, inode = fields[5].split(":")
            yield _Lock(int(fields[4]), (int(major, 16), int(minor, 16)), int(inode))
