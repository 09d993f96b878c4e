"""Leases: the right to write to a session, or to change a working tree.

A lease is an ``flock`` on a file in one directory per user, shared by all daemons of that user.
The lock belongs to the open file description, not to the process: an agent that inherits the
descriptor keeps the lease after the daemon's death, until the agent itself has ended. For the
same reason two leases conflict within one process exactly as between two.

What stands in a lock file says who holds it; only the lock says whether it is held.

Every call here is a few system calls on small local files, some tens of microseconds, and never
waits for a lock; so they are plain functions that the event loop may call. Looking through the
whole directory is the exception, and runs on a thread.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import trio

from podiumd.formats.session import public_id
from podiumd.runtime.locks import lockfile
from podiumd.runtime.locks.holder import Holder
from podiumd.runtime.locks.lockfile import LeaseError

_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_LOCK_FILE = re.compile(r"(?:session-(?P<session>.+)|tree-[0-9a-f]{64})\.lock")


def lock_name(own_id: str) -> str:
    """Return the id under which a session is locked, of an agent's own id of it.

    An agent may call a session as no file can be called. It is the id that clients know, then.
    """
    return own_id if _SESSION_ID.fullmatch(own_id) else public_id(own_id)


class Lease:
    """A held lease, or (after ``LeaseBook.adopt_session``) one that our own agent still holds.

    As a context manager it is released at the end.
    """

    def __init__(self, path: Path, holder: Holder) -> None:
        self._path = path
        self._holder = holder
        self._fd: int | None = None
        self._inherited = False

    @property
    def holder(self) -> Holder:
        """Return our record in the lock file."""
        return self._holder

    @property
    def held(self) -> bool:
        """Return whether this process holds the lock itself."""
        return self._fd is not None

    @property
    def fd(self) -> int:
        """Return the locked descriptor, to be inherited by the agent process (``pass_fds``).

        It is closed on exec unless passed on so. From the first use on the lease counts as
        inherited: ``release`` then cannot free it while such a process lives (see ``heir_ended``).
        """
        self._inherited = True
        return self._locked_fd()

    def update(self, **changes: Any) -> None:
        """Rewrite the record in the lock file, for example with ``turn_id`` and ``pid``.

        One write of a padded block: a crash leaves the old record or the new one. Nothing is
        synced, since no lock survives the machine's own crash.
        """
        fd = self._locked_fd()
        holder = msgspec.structs.replace(self._holder, **changes)
        lockfile.write_record(fd, holder)
        self._holder = holder

    def heir_ended(self) -> None:
        """Say that the process which inherited the descriptor was seen to end."""
        self._inherited = False

    def release(self) -> None:
        """Give the lease back. Harmless when it is not held.

        Normally the lock is dropped explicitly, which also takes it from copies of the descriptor
        that another child holds between fork and exec. When an agent inherited it and was not
        seen to end, our descriptor is only closed: the lease stays held as long as that agent.
        """
        if self._fd is None:
            return
        fd, self._fd = self._fd, None
        if self._inherited:
            os.close(fd)
        else:
            with suppress(OSError):  # the record is for people; the lock is what counts
                os.ftruncate(fd, 0)
            lockfile.unlock(fd)

    def forget_fd(self) -> None:
        """Close our descriptor; the agent that inherited it keeps the lease and the record."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def reclaim(self) -> bool:
        """Take the lock itself, once, without waiting: for when the agent that held it is gone.

        Returns whether the lease is held now. Raises ``LeaseError`` as the book does.
        """
        if self._fd is None:
            fd = lockfile.try_lock(self._path)
            if fd is None:
                return False
            try:
                lockfile.write_record(fd, self._holder)
            except OSError:  # the disk is full: a lease without a name would mislead
                lockfile.unlock(fd)
                raise
            self._fd, self._inherited = fd, False
        return True

    def _locked_fd(self) -> int:
        if self._fd is None:
            raise LeaseError(f"The lease on {self._path.name} is not held by this process.")
        return self._fd

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


class LeaseBook:
    """The leases of one user, in ``directory`` (see ``lockfile.lock_directory``).

    Raises ``LeaseError`` when the directory is not the user's own, private one, or when its file
    system has no locks; ``OSError`` when the disk is full.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        lockfile.prepare_directory(directory)

    @property
    def directory(self) -> Path:
        """Return the directory of the lock files."""
        return self._directory

    def try_session(self, session_id: str, holder: Holder) -> Lease | Holder:
        """Take the lease of a session, or say who has it. Never waits.

        Raises ``ValueError`` for an id that could not be a session's.
        """
        wanted = msgspec.structs.replace(holder, session_id=session_id)
        return self._try(self._session_path(session_id), wanted)

    def name_also(self, session_id: str, other: str) -> Holder | None:
        """Let a lease that the caller has also be that of another id of its session.

        It is one lock with two names, so whoever holds the one, an agent that has inherited it too,
        holds the other. Returns the holder of the other, if that is not the same. Raises
        ``ValueError`` for an id that no session can have, ``LeaseError``, ``OSError``.
        """
        second = self._session_path(other)
        if lockfile.name_also(self._session_path(session_id), second):
            return None
        return _named(second, lockfile.read_record(second))

    def try_tree(self, path: str | os.PathLike[str], holder: Holder) -> Lease | Holder:
        """Take the lease of a working tree, identified by its real path, or return its holder."""
        real = os.path.realpath(path)
        wanted = msgspec.structs.replace(holder, working_directory=real)
        return self._try(self._tree_path(real), wanted)

    def adopt_session(self, session_id: str, holder: Holder) -> Lease | Holder:
        """Return the lease of a session whose turn is being taken up.

        ``holder`` is that turn, as it was recorded. If its agent still holds the lock, the result
        is a lease that is not ``held`` and can be reclaimed once the agent is gone; if the lock is
        free, it is taken. Any other holder is returned as from ``try_session``.
        """
        path = self._session_path(session_id)
        wanted = msgspec.structs.replace(holder, session_id=session_id)
        found = self._try(path, wanted)
        if isinstance(found, Holder) and found.same_turn(wanted):
            return Lease(path, found)
        return found

    def adopt_tree(self, path: str | os.PathLike[str], holder: Holder) -> Lease | Holder:
        """Return the lease of a working tree that a run has again after a restart.

        ``holder`` is that run. Where a process that it started before lives on and holds the lock,
        the result is a lease that is not ``held``, as from ``adopt_session``.
        """
        real = os.path.realpath(path)
        found = self.try_tree(real, holder)
        if isinstance(found, Holder) and found.same_work(holder):
            return Lease(self._tree_path(real), found)
        return found

    def peek(self, session_id: str) -> Holder | None:
        """Look up the holder of a session; ``None`` if there is none.

        ``kind`` ``foreign`` without ``pid``: held, but the record does not name the holder.
        """
        return self._peek(self._session_path(session_id))

    def peek_tree(self, path: str | os.PathLike[str]) -> Holder | None:
        """Look up the holder of a working tree; ``None`` if there is none."""
        return self._peek(self._tree_path(os.path.realpath(path)))

    async def all_held(self) -> list[Holder]:
        """List every lease that is held, sorted by file name.

        Files of ended sessions stay for long, so there may be thousands: done on a thread.
        """
        return await trio.to_thread.run_sync(self._scan)

    def unused(self, before: float) -> list[Path]:
        """List the lock files that were taken last before a time and have no holder. Blocks."""
        found = []
        for path in self._files():
            with suppress(OSError, LeaseError):
                if path.lstat().st_mtime < before and self._peek(path) is None:
                    found.append(path)
        return found

    def _files(self) -> list[Path]:
        try:
            names = sorted(entry.name for entry in os.scandir(self._directory))
        except FileNotFoundError:
            return []
        return [self._directory / name for name in names if _LOCK_FILE.fullmatch(name)]

    def _scan(self) -> list[Holder]:
        """List the holders, of a lock with two names under that of its record."""
        held: dict[tuple[int, int], Holder] = {}
        for path in self._files():
            holder = lockfile.peek(path)
            if holder is None:
                continue
            with suppress(FileNotFoundError):
                status = path.lstat()
                named = _named(path, holder)
                if named.session_id == holder.session_id:
                    held[status.st_dev, status.st_ino] = named
                else:
                    held.setdefault((status.st_dev, status.st_ino), named)
        return [*held.values()]

    def _try(self, path: Path, holder: Holder) -> Lease | Holder:
        lockfile.prepare_directory(self._directory)
        lease = Lease(path, holder)
        return lease if lease.reclaim() else _named(path, lockfile.read_record(path))

    def _peek(self, path: Path) -> Holder | None:
        holder = lockfile.peek(path)
        return None if holder is None else _named(path, holder)

    def _session_path(self, session_id: str) -> Path:
        if not _SESSION_ID.fullmatch(session_id):
            raise ValueError(
                f"{session_id!r} is no session id: up to 128 letters, digits, '.', '_' and '-', "
                "beginning with a letter or digit, were expected"
            )
        return self._directory / f"session-{session_id}.lock"

    def _tree_path(self, real: str) -> Path:
        digest = hashlib.sha256(os.fsencode(real)).hexdigest()
        return self._directory / f"tree-{digest}.lock"


def _named(path: Path, holder: Holder) -> Holder:
    """Return the holder with the session its file is named after, not that of its record."""
    found = _LOCK_FILE.fullmatch(path.name)
    session_id = found["session"] if found else None
    return msgspec.structs.replace(holder, session_id=session_id)
