"""A connection of the gateway: each request judged first, then routed."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import trio

from podiumd.gateway.access.admission import Place
from podiumd.gateway.access.auth_throttle import AuthThrottle
from podiumd.gateway.access.hosts import HostRules, is_own_origin
from podiumd.gateway.access.notices import Notices
from podiumd.gateway.http.exchange import Answer, Body, Handler, Problem, Request, exchange, refuse
from podiumd.gateway.http.head import BadHead, Head, NotHttp, check_upgrade, read_head
from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.outbox import OutboxStream
from podiumd.gateway.turnstile import FairReadGate
from podiumd.gateway.web import door
from podiumd.gateway.web.door import Visit
from podiumd.gateway.websocket import NO_TRAFFIC, Traffic, WebSocket, serve_websocket
from podiumd.observe.logs import log

_GOING_AWAY: Final = 1001
_BACK_SECONDS: Final = "5"


async def no_pages(socket: WebSocket, visit: Visit) -> None:
    """Serve no page: there is no client to serve."""


@dataclass
class House:
    """State that all connections share. ``large`` has a place for each large message in memory."""

    phone: Callable[[WebSocket], Awaitable[None]]
    http: Handler
    throttle: AuthThrottle
    hosts: HostRules
    tls: ssl.SSLContext | None
    limits: GatewayLimits
    large: trio.Semaphore
    notices: Notices = field(default_factory=Notices)
    stopping: bool = False
    traffic: Traffic = NO_TRAFFIC
    turnstile: FairReadGate = field(default_factory=FairReadGate)
    page: Callable[[WebSocket, Visit], Awaitable[None]] = no_pages
    origins: frozenset[str] = frozenset()


class _Opening(NamedTuple):
    """A WebSocket that is about to be opened: its key, and the ``visit`` of a page."""

    key: str
    visit: Visit | None


class Link:
    """A connection; ``peer`` is its address, ``local`` and ``port`` where it arrived. ``place`` is
    to be given to it before it runs."""

    place: Place

    def __init__(self, house: House, sock: socket.socket, peer: str, local: str, port: int) -> None:
        self.peer = peer
        self.phone: WebSocket | None = None
        self._house = house
        self._limits = house.limits
        self._socket = sock
        self._stream: trio.SocketStream | None = None
        self._dropped = False
        self._local = local
        self._port = port
        self._secure = house.tls is not None
        self._waiting: trio.CancelScope | None = None
        self._working: trio.CancelScope | None = None
        self._answer_by = float("inf")
        self._stopping = trio.Event()

    def drop(self) -> None:
        """End at once, without a word: its place is another's."""
        self._dropped = True
        self._house.notices.tell(
            "Connection dropped",
            peer=self.peer,
            reason="too many connections that have not authenticated",
        )
        if self._stream is not None:
            _reset(self._stream)

    def stop(self, nursery: trio.Nursery) -> None:
        """Say goodbye to a phone; stop to wait for another request. One in hand goes on within the
        drain time."""
        self._stopping.set()
        self._answer_by = trio.current_time() + self._limits.drain_seconds
        if self._working is not None:
            self._working.deadline = self._answer_by
        if self.phone is not None:
            nursery.start_soon(self.phone.close, _GOING_AWAY, "The gateway is stopping.")
        elif self._waiting is not None:
            self._waiting.cancel()

    async def run(self) -> None:
        """Serve the connection until it has ended."""
        if self._dropped:
            return
        raw = self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(self._socket))
        transport: trio.abc.Stream = raw
        if self._house.tls is not None:
            secured = trio.SSLStream(raw, self._house.tls, server_side=True, https_compatible=True)
            transport = secured
            if not await self._shake_hands(secured):
                return
        direct = None if self._secure else self._socket
        stream = OutboxStream(transport, lambda: _reset(raw), direct, self._limits)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stream.run)
            try:
                opening = await self._serve_requests(stream)
                if opening is not None:
                    await self._serve_socket(stream, opening)
            finally:
                with trio.move_on_after(3 * self._limits.close_seconds, shield=True):
                    await stream.aclose()
                if stream.fault is not None and self.phone is not None:
                    self._tell_of_drop(stream.fault)
                nursery.cancel_scope.cancel()

    def _tell_of_drop(self, reason: str) -> None:
        if self.place.trusted:
            log("Phone dropped", "warning", peer=self.peer, reason=reason)
        else:
            self._house.notices.tell("Phone dropped", peer=self.peer, reason=reason)

    async def _shake_hands(self, stream: trio.SSLStream[trio.SocketStream]) -> bool:
        try:
            with trio.fail_after(self._limits.tls_seconds):
                await stream.do_handshake()
        except (trio.BrokenResourceError, trio.TooSlowError) as error:
            why = getattr(error.__cause__, "reason", None) or type(error).__name__
            advice = "connect with wss:// or https://, and trust the gateway's certificate"
            self._house.notices.tell(
                "TLS handshake failed", peer=self.peer, reason=why, advice=advice
            )
            return False
        return True

    async def _serve_requests(self, stream: OutboxStream) -> _Opening | None:
        """Answer one request after the other, until one ends the connection or opens a WebSocket:
        then that. (A phone stays for days, and needs no memory for its head.)"""
        seconds: float | None = None
        while True:
            try:
                head = await self._next_head(stream, seconds)
                if head is None:
                    return None
                self.place.ask()
                self._judge(head)
                if head.wants_websocket:
                    return self._open(head)
            except NotHttp as error:
                self._house.notices.tell("Connection closed", peer=self.peer, reason=str(error))
                return None
            except (BadHead, Problem) as refusal:
                await refuse(stream, refusal)
                return None
            if not await self._answer(stream, head):
                return None
            limits, visits = self._limits, self.place.visiting
            seconds = limits.visit_seconds if visits else limits.idle_seconds

    async def _next_head(self, stream: OutboxStream, idle_seconds: float | None) -> Head | None:
        """Read the next head; ``None`` when none came in time. The first has no time to idle."""
        with trio.CancelScope() as self._waiting:
            if self._house.stopping:
                return None
            if idle_seconds is not None:
                self._waiting.deadline = trio.current_time() + idle_seconds
                first = await stream.receive_some()
                self._waiting.deadline = float("inf")
                if not first:
                    return None
                stream.unread(bytes(first))
            with trio.move_on_after(self._limits.head_seconds) as patience:
                return await read_head(stream, self._limits.head_bytes)
            if patience.cancelled_caught:
                raise BadHead(408, "The request's head does not arrive.")
        return None

    def _judge(self, head: Head) -> None:
        """Host and Origin, before anything else. Raises ``Problem``."""
        for host in head.hosts:
            if not self._house.hosts.serves(host, self._local):
                self._house.notices.tell(
                    "Host refused",
                    peer=self.peer,
                    host=host[:200],
                    advice="to reach the gateway by this name, add it to [gateway] allowed_hosts",
                )
                words = (
                    "This gateway does not serve this Host: gateway.allowed_hosts has no such name."
                )
                raise Problem(421, detail=words)
        origin = head.headers.get("origin")
        if origin is None:
            return
        if origin.lower() not in self._house.origins and not all(
            is_own_origin(origin, host, self._port, self._secure) for host in head.hosts
        ):
            self._house.notices.tell(
                "Origin refused",
                peer=self.peer,
                origin=origin[:200],
                advice="pages of other sites may not connect; a proxy of yours in front of the "
                "gateway goes into [gateway] origins",
            )
            raise Problem(403, detail="Pages of other origins may not connect.")

    def _open(self, head: Head) -> _Opening:
        """Return what is opened for a phone or a page that may come in. Raises ``BadHead`` and
        ``Problem``."""
        key = check_upgrade(head)
        visit = door.check(head) if head.path == door.PATH else None
        delay = self._house.throttle.delay(self.peer)
        if delay > 0:
            wait = (("Retry-After", str(int(delay) + 1)),)
            raise Problem(429, detail="Too many wrong keys came from this address.", headers=wait)
        if self._house.stopping:
            raise Problem(503, detail="The gateway is stopping.")
        self.place.take_phone()
        return _Opening(key, visit)

    async def _serve_socket(self, stream: OutboxStream, opening: _Opening) -> None:
        def opened(phone: WebSocket) -> None:
            self.phone = phone

        handler, protocol = self._house.phone, None
        if (visit := opening.visit) is not None:
            protocol = door.PROTOCOL

            async def handler(socket: WebSocket) -> None:
                await self._house.page(socket, visit)

        await serve_websocket(
            stream,
            opening.key,
            handler,
            protocol=protocol,
            limits=self._limits,
            large=self._house.large,
            peer=self.peer,
            on_open=opened,
            on_authenticated=self.place.trust,
            traffic=self._house.traffic,
            gate=self._house.turnstile,
        )

    async def _answer(self, stream: OutboxStream, head: Head) -> bool:
        body = Body(stream, head, self._limits)
        place, stopping = self.place, self._stopping
        request = Request(head, body, self.peer, place.trust, stopping, place.visit)
        return await exchange(stream, request, body, head, self._handle, self._goes_on)

    async def _handle(self, request: Request) -> Answer:
        """Answer a request. Raises ``Problem`` when the gateway stops before there is an answer."""
        with trio.CancelScope(deadline=self._answer_by) as self._working:
            return await self._house.http(request)
        wait = (("Retry-After", _BACK_SECONDS),)
        raise Problem(503, detail="The gateway is stopping: ask it again later.", headers=wait)

    def _goes_on(self) -> bool:
        """Return whether another request may come.

        A stranger's connection is one of the few that there may be, and is not kept for what it
        might ask; but that of a page which is loading has a place of its own for a moment.
        """
        return (self.place.trusted or self.place.visiting) and not self._house.stopping


def _reset(stream: trio.SocketStream) -> None:
    """Close at once, and have the kernel forget what it still holds for the client."""
    with suppress(OSError):  # closed already
        stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.socket.close()
