"""The gateway's sockets: where it listens."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from typing import Any, Final

import trio

_BACKLOG: Final = 256
_NO_SUCH_FAMILY: Final = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)
_FREE_PORT_TRIES: Final = 8
_SETTING: Final = "[gateway] host"


class CannotListen(Exception):
    """The gateway cannot listen where its settings say; the message says what to do."""


class AddressInUse(CannotListen):
    """Another program listens there."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"Port {port} on {host} is in use by another program. Stop that program, or set"
            " [gateway] port to another one (0: any free port)."
        )
        self.host = host
        self.port = port


async def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Listen on every address of ``host`` (a name or an address), all with one port.

    ``port`` 0 is any free one. "::" takes IPv4 as well. Raises ``CannotListen``.
    """
    try:
        found = await trio.socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise CannotListen(
            f"{_SETTING} is {host!r}, which cannot be resolved ({error.strerror or error})."
            " Use a name or an address of this machine."
        ) from None
    places = list(dict.fromkeys((family, address) for family, *_, address in found))
    for _ in range(_FREE_PORT_TRIES - 1 if port == 0 else 0):
        try:
            return _listen_on_all(host, port, places)
        except AddressInUse:
            continue  # another program has our free port on the next address
    return _listen_on_all(host, port, places)


def _listen_on_all(
    host: str, port: int, places: Sequence[tuple[int, tuple[Any, ...]]]
) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    try:
        for family, address in places:
            try:
                sockets.append(_listen(family, (address[0], port, *address[2:])))
            except OSError as error:
                if error.errno not in _NO_SUCH_FAMILY:
                    raise
                missing = error  # a name may have addresses of a family this machine lacks
                continue
            port = sockets[-1].getsockname()[1]
    except OSError as error:
        _close(sockets)
        raise _refusal(host, port, error) from None
    if missing is not None and not sockets:
        raise _refusal(host, port, missing) from None
    return sockets


def _listen(family: int, address: tuple[Any, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            only_ipv6 = address[0] != "::"
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, only_ipv6)
        sock.bind(address)
        sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


def _refusal(host: str, port: int, error: OSError) -> CannotListen:
    if error.errno == errno.EADDRINUSE:
        return AddressInUse(host, port)
    if error.errno in _NO_SUCH_FAMILY:
        return CannotListen(
            f"{_SETTING} is {host!r}, which is no address of this machine. Use 127.0.0.1 for this"
            " machine alone, or one of its own addresses."
        )
    if error.errno in {errno.EACCES, errno.EPERM}:
        return CannotListen(
            f"This user may not listen on port {port}. Set [gateway] port to 1024 or more."
        )
    return CannotListen(f"Cannot listen on {host} port {port}: {error.strerror or error}.")


def _close(sockets: Sequence[socket.socket]) -> None:
    for sock in sockets:
        sock.close()
