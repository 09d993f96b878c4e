"""The gateway's server: listens, admits, and supervises each connection by itself."""

from __future__ import annotations

import itertools
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import trio

from podiumd.gateway.access.admission import Admission
from podiumd.gateway.access.auth_throttle import AuthThrottle
from podiumd.gateway.access.hosts import HostRules, canonical
from podiumd.gateway.http.exchange import ClientGone, Handler
from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.link import House, Link, no_pages
from podiumd.gateway.listener import open_sockets
from podiumd.gateway.web.door import Visit
from podiumd.gateway.websocket import NO_TRAFFIC, Traffic, WebSocket
from podiumd.host.accept import accept
from podiumd.observe.logs import log

_FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 10\r\n"
    b"Content-Length: 0\r\n\r\n"
)


@dataclass(frozen=True)
class GatewayOptions:
    """Options of a listener: where and how to listen.

    ``sockets``, bound and listening, stand in for ``host`` and ``port`` and stay the caller's.
    ``names`` are this machine's own; ``allowed_hosts`` are more names, addresses and ``*.domain``;
    ``origins`` are those of pages that come through a proxy.
    ``tls`` is a server's context, ``None`` for plain TCP. ``traffic`` is called with each message
    of a phone.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    sockets: Sequence[socket.socket] = ()
    names: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    tls: ssl.SSLContext | None = None
    limits: GatewayLimits = field(default_factory=GatewayLimits)
    traffic: Traffic = NO_TRAFFIC


class Gateway:
    """The gateway behind ``serve_gateway``; the task that started it calls ``stop``.

    ``port`` is where it listens, ``url`` where a phone connects to.
    """

    def __init__(self, options: GatewayOptions, port: int, house: House) -> None:
        host, scheme = options.host, "ws" if house.tls is None else "wss"
        self.port = port
        self._options = options
        self.url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        self._house = house
        self._admission = Admission(house.limits)
        self._links: set[Link] = set()
        self._numbers = itertools.count(1)
        self._accepting = trio.CancelScope()
        self._over = trio.Event()

    @property
    def clients(self) -> int:
        """Return how many phones are connected."""
        return sum(link.phone is not None for link in self._links)

    def allow(self, hosts: Iterable[str], origins: Iterable[str]) -> None:
        """Answer to these further names and pages from here on; connections that are there
        stay."""
        self._house.hosts = _host_rules(self._options, hosts)
        self._house.origins = frozenset(origins)

    def stop(self) -> None:
        """Accept no more; close WebSockets with 1001; let requests in hand finish within the
        drain time. ``serve_gateway`` returns when that is done."""
        self._accepting.cancel()

    async def wait_closed(self) -> None:
        """Wait until the last connection has ended after ``stop``."""
        await self._over.wait()

    async def run(self, listeners: Sequence[socket.socket]) -> None:
        """Serve until stopped."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._house.turnstile.run)
            await self._serve(listeners)
            nursery.cancel_scope.cancel()
        self._over.set()

    async def _serve(self, listeners: Sequence[socket.socket]) -> None:
        limits = self._house.limits
        async with trio.open_nursery() as nursery:
            take = partial(self._take, nursery)
            with self._accepting:
                async with trio.open_nursery() as accepting:
                    for sock in listeners:
                        accepting.start_soon(accept, sock, take, limits.resource_pause_seconds)
            self._house.stopping = True
            for link in tuple(self._links):
                link.stop(nursery)
            last_words = limits.drain_seconds + limits.linger_seconds
            nursery.cancel_scope.deadline = trio.current_time() + last_words

    def _take(self, nursery: trio.Nursery, sock: socket.socket) -> None:
        """Give an accepted connection its place and its task, or a closed door."""
        try:
            peer = canonical(sock.getpeername()[0])
            local, port = sock.getsockname()[:2]
        except OSError:
            sock.close()  # gone already
            return
        link = Link(self._house, sock, peer, canonical(local), port)
        place = self._admission.admit(peer, link.drop, self._house.throttle.knows(peer))
        if place is None:
            self._house.notices.tell("Connection refused", peer=peer, reason="too many connections")
            if self._house.tls is None:
                with suppress(OSError):  # it did not wait for the answer
                    sock.send(_FULL)
            sock.close()
            return
        link.place = place
        self._links.add(link)
        nursery.start_soon(self._supervise, link, sock)

    async def _supervise(self, link: Link, sock: socket.socket) -> None:
        """Run one connection; no fault of it reaches another, or the server."""
        number = next(self._numbers)
        try:
            await link.run()
        except* (ClientGone, trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the client has gone
        except* Exception as errors:  # noqa: BLE001 - one client's fault is not the server's
            log("Connection failed", "error", exception=errors, connection=number, peer=link.peer)
        finally:
            self._links.discard(link)
            link.place.leave()
            sock.close()


def _host_rules(options: GatewayOptions, allowed: Iterable[str]) -> HostRules:
    return HostRules((*options.names, options.host), allowed)


async def serve_gateway(
    options: GatewayOptions,
    phone: Callable[[WebSocket], Awaitable[None]],
    http: Handler,
    throttle: AuthThrottle,
    *,
    page: Callable[[WebSocket, Visit], Awaitable[None]] = no_pages,
    task_status: trio.TaskStatus[Gateway] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve phones, pages and HTTP on one port: ``phone`` and ``page`` serve one until it has gone,
    ``http`` answers everything that is no WebSocket.

    Ready when started, with the ``Gateway`` as its value; returns after its ``stop``, or is
    cancelled, which ends connections at once. Raises ``podiumd.gateway.listener.CannotListen``.
    """
    house = House(
        phone=phone,
        http=http,
        throttle=throttle,
        hosts=_host_rules(options, options.allowed_hosts),
        tls=options.tls,
        limits=options.limits,
        traffic=options.traffic,
        large=trio.Semaphore(options.limits.large_messages),
        page=page,
        origins=frozenset(options.origins),
    )
    own = [] if options.sockets else await open_sockets(options.host, options.port)
    listeners = [*options.sockets, *own]
    try:
        gateway = Gateway(options, listeners[0].getsockname()[1], house)
        task_status.started(gateway)  # early connections wait in the queue for the first accept
        await gateway.run(listeners)
    finally:
        for sock in own:
            sock.close()
