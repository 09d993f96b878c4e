"""Accept connections on a listening socket, whatever becomes of one of them."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from typing import Final

import trio

from podiumd.observe.logs import log

_OURS: Final = (errno.EBADF, errno.EINVAL, errno.ENOTSOCK, errno.EFAULT, errno.EOPNOTSUPP)
"""Errors of the listening socket itself. Any other error of accept(2) is of the one connection, or
for want of descriptors or memory, and the next one may do."""


async def accept(
    listener: socket.socket, take: Callable[[socket.socket], None], pause_seconds: float
) -> None:
    """Hand every connection to ``take``, non-blocking, until cancelled.

    When that fails (out of descriptors or memory, refused by a firewall, the network gone) it
    waits ``pause_seconds`` and goes on. Raises ``OSError`` for a socket that does not listen.
    """
    listener.setblocking(False)
    while True:
        await trio.lowlevel.wait_readable(listener)
        try:
            sock, _ = listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            continue
        except OSError as error:
            if error.errno in _OURS:
                raise
            log("Accept failed", "warning", reason=error.strerror or str(error))
            await trio.sleep(pause_seconds)
            continue
        sock.setblocking(False)
        take(sock)
