"""The listening Unix socket: ours alone from its first moment, a dead daemon's replaced."""

from __future__ import annotations

import os
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from podiumd.config.paths import PlaceError
from podiumd.host.instance import hold_lock

_BACKLOG: Final = 128
_LINUX_CREDENTIALS: Final = struct.Struct("3i")  # pid, uid, gid: unix(7)
_XUCRED: Final = struct.Struct("II")  # version, uid, ...: sys/ucred.h of macOS
_XUCRED_BYTES: Final = 76
_SOL_LOCAL: Final = 0
_LOCAL_PEERCRED: Final = 1


@contextmanager
def listening(path: Path, uid: int) -> Iterator[socket.socket]:
    """Listen on ``path`` with mode 0600; leaving removes the socket.

    The directory must have been checked. A lock beside the socket decides who may replace it, so
    two daemons with different state cannot take it from each other. Raises ``PlaceError`` when
    the path is in use, ``podiumd.host.instance.AlreadyRunning`` when another daemon listens there.
    """
    with hold_lock(path.with_name(path.name + ".lock")):
        _remove_dead(path, uid)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _bind_private(sock, path)
            ours = path.lstat()
            sock.listen(_BACKLOG)
            sock.setblocking(False)
            try:
                yield sock
            finally:
                _remove_ours(path, ours)
        finally:
            sock.close()


def _bind_private(sock: socket.socket, path: Path) -> None:
    before = os.umask(0o177)  # the socket must not be open to others even for a moment
    try:
        sock.bind(os.fspath(path))
    except OSError as error:
        raise PlaceError(f"Cannot listen on {path}: {error.strerror or error}.") from None
    finally:
        os.umask(before)


def _remove_dead(path: Path, uid: int) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise PlaceError(f"{path} exists and is not a socket; move it away, or set PODIUM_SOCKET.")
    if found.st_uid != uid:
        raise PlaceError(f"{path} belongs to user {found.st_uid}; set PODIUM_SOCKET to another.")
    if _answers(path):
        raise PlaceError(f"Another program listens on {path}; stop it, or set PODIUM_SOCKET.")
    path.unlink()


def _answers(path: Path) -> bool:
    """Return whether something without our lock listens there (a service manager, say)."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(os.fspath(path))
        except BlockingIOError:
            return True  # its queue is full
        except OSError:
            return False
    return True


def _remove_ours(path: Path, ours: os.stat_result) -> None:
    try:
        if os.path.samestat(path.lstat(), ours):
            path.unlink()
    except FileNotFoundError:
        return


def peer_uid(sock: socket.socket, platform: str = sys.platform) -> int:
    """Return the user id of the process that connected. Raises OSError when the kernel does not
    know it."""
    if platform == "darwin":
        credentials = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
        return int(_XUCRED.unpack_from(credentials)[1])
    option = getattr(socket, "SO_PEERCRED")  # noqa: B009 - absent from the types of other systems
    credentials = sock.getsockopt(socket.SOL_SOCKET, option, _LINUX_CREDENTIALS.size)
    return int(_LINUX_CREDENTIALS.unpack(credentials)[1])
