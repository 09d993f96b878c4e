"""The attacker's server: it serves his page, takes his report, and hands everything else on to the
gateway as it came, which is what a browser sees after its name was bound anew."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio


class Relay:
    """Listens on ``port`` of loopback. ``page`` is served at /attack."""

    def __init__(self, gateway: int) -> None:
        self.port = 0
        self.page = b""
        self.served = 0
        self._gateway = gateway
        self._report: Any = None
        self._reported = trio.Event()

    async def report(self) -> Any:
        """What the page reports."""
        await self._reported.wait()
        return self._report

    async def handle(self, stream: trio.SocketStream) -> None:
        """One connection: one request of our own, or all of it for the gateway."""
        async with stream:
            try:
                await self._handle(stream)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass  # the browser went away

    async def _handle(self, stream: trio.SocketStream) -> None:
        received = bytearray()
        while b"\r\n\r\n" not in received:
            chunk = await stream.receive_some(65_536)
            if not chunk:
                return
            received += chunk
        if received.startswith(b"GET /attack"):
            self.served += 1
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"
            await stream.send_all(
                b"%bContent-Length: %d\r\n\r\n" % (head, len(self.page)) + self.page
            )
        elif received.startswith((b"POST /report", b"GET /favicon")):
            await self._take(stream, bytes(received))
        else:
            await self._hand_on(stream, bytes(received))

    async def _take(self, stream: trio.SocketStream, received: bytes) -> None:
        head, _, body = received.partition(b"\r\n\r\n")
        lengths = [
            line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
        ]
        length = int(lengths[0].partition(b":")[2]) if lengths else 0
        while len(body) < length:
            body += await stream.receive_some(65_536)
        await stream.send_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        if body:
            self._report = json.loads(body)
            self._reported.set()

    async def _hand_on(self, stream: trio.SocketStream, received: bytes) -> None:
        async with await trio.open_tcp_stream("127.0.0.1", self._gateway) as gateway:
            await gateway.send_all(received)
            async with trio.open_nursery() as nursery:

                async def pump(source: trio.SocketStream, sink: trio.SocketStream) -> None:
                    try:
                        while chunk := await source.receive_some(65_536):
                            await sink.send_all(chunk)
                    except (trio.BrokenResourceError, trio.ClosedResourceError):
                        pass
                    nursery.cancel_scope.cancel()

                nursery.start_soon(pump, stream, gateway)
                nursery.start_soon(pump, gateway, stream)


@asynccontextmanager
async def open_relay(gateway: int) -> AsyncIterator[Relay]:
    """The attacker's server, in front of a gateway's port."""
    relay = Relay(gateway)
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        relay.port = listeners[0].socket.getsockname()[1]
        await nursery.start(trio.serve_listeners, relay.handle, listeners)
        yield relay
        nursery.cancel_scope.cancel()
