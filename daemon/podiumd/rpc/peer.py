"""The peer of a Unix socket, as the kernel reports it."""

from __future__ import annotations

import socket
import struct
import sys
from typing import Final

_LINUX_CREDENTIALS: Final = struct.Struct("3i")  # pid, uid, gid: unix(7)
_XUCRED: Final = struct.Struct("II")  # version, uid, ...: sys/ucred.h of macOS
_XUCRED_BYTES: Final = 76
_SOL_LOCAL: Final = 0
_LOCAL_PEERCRED: Final = 1


def peer_uid(sock: socket.socket, platform: str = sys.platform) -> int:
    """Return the user id of the process that connected. Raises OSError when the kernel does not
    know it."""
    if platform == "darwin":
        credentials = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
        return int(_XUCRED.unpack_from(credentials)[1])
    option = getattr(socket, "SO_PEERCRED")  # noqa: B009 - absent from the types of other systems
    credentials = sock.getsockopt(socket.SOL_SOCKET, option, _LINUX_CREDENTIALS.size)
    return int(_LINUX_CREDENTIALS.unpack(credentials)[1])
