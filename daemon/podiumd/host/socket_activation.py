"""Sockets that a service manager holds for us: a connect is never refused while we restart.

systemd hands them over by number (sd_listen_fds(3)): ``LISTEN_FDS`` of them from descriptor 3 on,
for the process ``LISTEN_PID``, named by ``LISTEN_FDNAMES``. launchd is asked for them by name.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, MutableMapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from podiumd.config.paths import PlaceError

RPC: Final = "rpc"
GATEWAY: Final = "gateway"
NAMES: Final = (RPC, GATEWAY)

_FIRST: Final = 3
_MOST: Final = 64


@dataclass
class Handed:
    """The listening sockets that came with the process; the code that takes them closes them.

    ``rpc`` is the Unix socket, ``gateway`` the TCP ones.
    """

    rpc: socket.socket | None = None
    gateway: list[socket.socket] = field(default_factory=list)

    @property
    def rpc_path(self) -> Path | None:
        """Return the path of the Unix socket."""
        return None if self.rpc is None else Path(os.fsdecode(self.rpc.getsockname()))

    def close(self) -> None:
        """Close our ends; the manager's stay."""
        for sock in (*([self.rpc] if self.rpc else []), *self.gateway):
            sock.close()


def handed_over(
    environ: MutableMapping[str, str],
    pid: int,
    platform: str = sys.platform,
    ask_launchd: Callable[[str], list[int]] | None = None,
) -> Handed:
    """Take the sockets of this process, closed on exec from now on: no agent inherits them.

    systemd's variables are taken out of ``environ``. Raises ``PlaceError`` for a socket that is not
    ours to serve on: its unit is wrong.
    """
    listed = _from_systemd(environ, pid)
    if platform == "darwin":
        ask = ask_launchd or _ask_launchd
        listed += [(number, name) for name in NAMES for number in ask(name)]
    handed = Handed()
    with ExitStack() as stack:
        for number, name in listed:
            sock = _adopt(number)
            stack.callback(sock.close)
            _sort(sock, name, handed)
        stack.pop_all()
    return handed


def _ask_launchd(name: str) -> list[int]:
    from podiumd.host.launchd import activate  # only now: it loads ctypes

    return activate(name)


def _from_systemd(environ: MutableMapping[str, str], pid: int) -> list[tuple[int, str]]:
    count = environ.pop("LISTEN_FDS", "")
    meant_for = environ.pop("LISTEN_PID", "")
    names = environ.pop("LISTEN_FDNAMES", "").split(":")
    if meant_for != str(pid) or not count.isdecimal():
        return []  # none, or they were handed to a process that started us
    number = int(count)
    if number > _MOST:
        raise PlaceError(f"The service manager handed over {number} sockets; {_MOST} at most.")
    names += [""] * (number - len(names))
    return [(_FIRST + index, names[index]) for index in range(number)]


def _adopt(number: int) -> socket.socket:
    try:
        os.set_inheritable(number, False)
        sock = socket.socket(fileno=number)
    except OSError as error:
        raise PlaceError(
            f"Descriptor {number}, handed over by the service manager, is no socket"
            f" ({error.strerror}): LISTEN_FDS is wrong."
        ) from None
    sock.setblocking(False)
    return sock


def _sort(sock: socket.socket, name: str, handed: Handed) -> None:
    """Give a socket its use: by its name where that is one of ours, else by its kind."""
    kind = GATEWAY if sock.family in (socket.AF_INET, socket.AF_INET6) else RPC
    known = sock.family == socket.AF_UNIX or kind == GATEWAY
    if not (known and sock.type == socket.SOCK_STREAM and _listens(sock)):
        raise PlaceError(
            f"The socket '{name}' of the service manager is no stream socket that listens: "
            "use ListenStream= and no Accept=."
        )
    if name in NAMES and name != kind:
        wanted = "a Unix socket" if name == RPC else "a TCP socket"
        raise PlaceError(f"The service manager's socket '{name}' must be {wanted}.")
    if kind == GATEWAY:
        handed.gateway.append(sock)
    elif handed.rpc is None:
        handed.rpc = sock
    else:
        raise PlaceError("The service manager handed over two Unix sockets; one is served.")


def _listens(sock: socket.socket) -> bool:
    try:
        return bool(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    except OSError:
        return sys.platform == "darwin"  # launchd hands over nothing else; older ones cannot say
