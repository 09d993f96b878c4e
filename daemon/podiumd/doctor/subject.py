"""The subject of the doctor: settings, places, and the daemon where one runs."""

from __future__ import annotations

import fcntl
import math
import os
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from podiumd.config.paths import Places
from podiumd.config.settings import Config
from podiumd.service.daemon_link import DaemonLink, NoDaemon
from podiumd.wording import restart_command

_ANSWER_SECONDS: Final = 3.0
PROC: Final = Path("/proc")


class Daemon(msgspec.Struct, frozen=True, kw_only=True):
    """The daemon of this STATE.

    ``pid``: the holder of its lock, ``None`` where there is none. ``status``: its answer to
    ``daemon.status``; ``silent``: why there is none although it runs.
    """

    pid: int | None = None
    status: dict[str, Any] | None = None
    silent: str = ""


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """Subject of the checks.

    ``environ`` is our own environment, ``daemon_environ`` the one in which agents are looked for:
    the daemon's, where it runs and shows it. ``platform`` is ``sys.platform``. ``answers`` is what
    programs have answered already, by program and environment; ``until`` is when agents are waited
    for no more (``time.monotonic``).
    """

    config: Config
    places: Places
    environ: Mapping[str, str]
    daemon_environ: Mapping[str, str]
    home: Path
    uid: int
    platform: str
    now: datetime
    daemon: Daemon
    answers: dict[tuple[object, ...], Any] = msgspec.field(default_factory=dict)
    until: float = math.inf

    @property
    def linux(self) -> bool:
        return self.platform == "linux"

    @property
    def restart(self) -> str:
        """Return the command, quoted, that starts the daemon anew."""
        return f"'{restart_command((self.daemon.status or {}).get('service'))}'"


def find_daemon(places: Places) -> Daemon:
    """Find the daemon that has this STATE, and its status. Starts none.

    A socket that a service manager holds is not connected to unless the daemon runs.
    """
    pid = holder(places.instance_lock)
    if pid is None:
        return Daemon()
    try:
        with DaemonLink(places.socket, _ANSWER_SECONDS) as link:
            status = link.call("daemon.status")
    except (NoDaemon, ValueError) as error:
        return Daemon(pid=pid, silent=error.reason if isinstance(error, NoDaemon) else str(error))
    if not isinstance(status, dict):
        return Daemon(pid=pid, silent="it answered with an error")
    return Daemon(pid=pid, status=status)


def descriptors(process: Path) -> Iterator[str]:
    """List a process's open files by name, as far as its directory in ``/proc`` shows them."""
    try:
        entries = list((process / "fd").iterdir())
    except OSError:
        return  # another user's, or gone
    for entry in entries:
        try:
            yield str(entry.readlink())
        except OSError:
            continue  # closed meanwhile


def holder(lock: Path) -> int | None:
    """Find the living process that holds a lock file, ``None`` where none does.

    Trying the lock means to hold it for a moment, so it is tried only where the process that the
    file names is alive.
    """
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
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


if sys.platform == "linux":

    def pids() -> list[int]:
        """List the visible processes of the machine."""
        return sorted(int(path.name) for path in PROC.iterdir() if path.name.isdecimal())

    def environment_of(pid: int) -> dict[str, str]:
        """Read the environment of a process at its start; empty where it cannot be read."""
        try:
            data = (PROC / str(pid) / "environ").read_bytes()
        except OSError:
            return {}
        pairs = (os.fsdecode(entry).partition("=") for entry in data.split(b"\0") if entry)
        return {name: value for name, _, value in pairs}

else:
    import psutil

    def pids() -> list[int]:
        """List the visible processes of the machine."""
        return list(psutil.pids())

    def environment_of(pid: int) -> dict[str, str]:
        """Read the environment of a process at its start; empty where it cannot be read."""
        try:
            return dict(psutil.Process(pid).environ())
        except psutil.Error:
            return {}
