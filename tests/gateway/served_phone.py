"""One phone that is served over memory, with the clock in the test's hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio

from podiumd.gateway.http.head import check_upgrade, read_head
from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.outbox import OutboxStream
from podiumd.gateway.websocket import WebSocket, serve_websocket
from tests.gateway.harness import Peer, echo, wait_until

KIB = 1024
LIMITS = GatewayLimits(
    stranger_message_bytes=1 * KIB,
    message_bytes=100 * KIB,
    largest_message_bytes=1024 * KIB,
    large_messages=1,
)


class Phone:
    """A phone that is being served. ``stream`` is the gateway's, ``peer`` the client."""

    def __init__(self, peer: Peer, client: Any, stream: OutboxStream) -> None:
        self.peer = peer
        self.client = client
        self.stream = stream
        self.socket: WebSocket | None = None
        self.trusted = False
        self.over = trio.Event()
        self.faults: BaseExceptionGroup | None = None

    def opened(self, socket: WebSocket) -> None:
        self.socket = socket

    def trust(self) -> None:
        self.trusted = True

    @property
    def ours(self) -> WebSocket:
        assert self.socket is not None
        return self.socket


@asynccontextmanager
async def served(
    handler: Callable[[WebSocket], Awaitable[None]] = echo,
    limits: GatewayLimits = LIMITS,
    large: trio.Semaphore | None = None,
) -> AsyncIterator[Phone]:
    """A phone with its handshake done."""
    client, server = trio.testing.memory_stream_pair()

    def hang_up() -> None:
        server.send_stream.close()
        server.receive_stream.close()

    stream = OutboxStream(server, hang_up, limits=limits)
    phone = Phone(Peer(client), client, stream)

    async def serve_it() -> None:
        head = await read_head(stream, 16 * KIB)
        assert head is not None
        try:
            await serve_websocket(
                stream,
                check_upgrade(head),
                handler,
                limits=limits,
                large=large or trio.Semaphore(limits.large_messages),
                peer="10.0.0.1",
                on_open=phone.opened,
                on_authenticated=phone.trust,
            )
        except* ValueError as group:
            phone.faults = group
        finally:
            await stream.aclose()
            phone.over.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.run)
        nursery.start_soon(serve_it)
        await phone.peer.open()
        await wait_until(lambda: phone.socket is not None)
        yield phone
        nursery.cancel_scope.cancel()


async def stay(socket: WebSocket) -> None:
    """Authenticates and reads until the end, saying nothing."""
    socket.authenticated()
    while True:
        await socket.receive()
