"""A served gateway, and peers that are not ours: raw bytes, and the ``websockets`` library."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trio
from websockets.client import ClientProtocol
from websockets.frames import Close, Frame, Opcode
from websockets.uri import parse_uri

from podiumd.gateway.http.exchange import Answer, Request, Response
from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.outbox import OutboxStream
from podiumd.gateway.server import Gateway, GatewayOptions, serve_gateway
from podiumd.gateway.websocket import WebSocket
from tests.patience import HANG_SECONDS

KEY = b"dGhlIHNhbXBsZSBub25jZQ=="
_connected: list[trio.SocketStream] = []  # closed by ``served``, whatever a test left open
SMALL = GatewayLimits(close_seconds=0.5, linger_seconds=0.2, drain_seconds=1)


async def wait_until(condition: Callable[[], bool]) -> None:
    """Let other tasks run until the condition holds; the test's deadline bounds the time."""
    while not condition():
        await trio.lowlevel.checkpoint()


async def echo(socket: WebSocket) -> None:
    """Authenticates at once and sends every text back."""
    socket.authenticated()
    while True:
        message = await socket.receive()
        socket.send(message.encode() if isinstance(message, str) else b"%d bytes" % len(message))


class Apps:
    """A phone app, an HTTP app and a doorkeeper, each of which a test may replace."""

    def __init__(self) -> None:
        self.phone: Callable[[WebSocket], Awaitable[None]] = echo
        self.http: Callable[[Request], Awaitable[Answer]] = self._fine
        self.delays: dict[str, float] = {}
        self.known: set[str] = set()

    async def _fine(self, request: Request) -> Response:
        request.authenticated()
        return Response(200, b'{"path":"%b"}' % request.path.encode())

    async def serve(self, socket: WebSocket) -> None:
        await self.phone(socket)

    async def handle(self, request: Request) -> Answer:
        return await self.http(request)

    def delay(self, address: str) -> float:
        return self.delays.get(address, 0.0)

    def knows(self, address: str) -> bool:
        return address in self.known


@asynccontextmanager
async def served(apps: Apps | None = None, **options: Any) -> AsyncIterator[Gateway]:
    """A gateway on a free port of loopback; cancelled when the test is done with it."""
    settings: dict[str, Any] = {"port": 0, "limits": SMALL} | options
    given = apps or Apps()
    with trio.fail_after(HANG_SECONDS):
        async with trio.open_nursery() as nursery:
            gateway: Gateway = await nursery.start(
                serve_gateway, GatewayOptions(**settings), given.serve, given.handle, given
            )
            try:
                yield gateway
            finally:
                while _connected:
                    _connected.pop().socket.close()
            nursery.cancel_scope.cancel()


async def connect(gateway: Gateway, tls: ssl.SSLContext | None = None) -> trio.abc.Stream:
    """A raw connection to it."""
    stream = await trio.open_tcp_stream("127.0.0.1", gateway.port)
    _connected.append(stream)
    if tls is None:
        return stream
    return trio.SSLStream(stream, tls, server_hostname="localhost", https_compatible=True)


async def read_all(stream: trio.abc.Stream) -> bytes:
    """All that comes until the end; a reset is an end."""
    data = bytearray()
    try:
        while chunk := await stream.receive_some(65536):
            data += chunk
    except trio.BrokenResourceError:
        pass
    return bytes(data)


async def talk(gateway: Gateway, request: bytes) -> bytes:
    """Send bytes, end the sending half, and return all that is answered."""
    stream = await trio.open_tcp_stream("127.0.0.1", gateway.port)
    async with stream:
        await stream.send_all(request)
        await stream.send_eof()
        return await read_all(stream)


class Peer:
    """A WebSocket client over any stream; the protocol is the ``websockets`` library's."""

    def __init__(
        self, stream: trio.abc.Stream, url: str = "ws://localhost/", **options: Any
    ) -> None:
        self.stream = stream
        self.protocol = ClientProtocol(parse_uri(url), max_size=1 << 28, **options)
        self._events: list[Any] = []
        self.ended = False

    async def flush(self) -> None:
        for data in self.protocol.data_to_send():
            if data:
                await self.stream.send_all(data)

    async def open(self, headers: Mapping[str, str] | None = None) -> Peer:
        """Shake hands, with further headers; the refusal of the gateway is raised."""
        request = self.protocol.connect()
        request.headers.update(headers or {})
        self.protocol.send_request(request)
        await self.flush()
        while not self._events and not self.ended:
            await self._receive()
        self._events.pop(0)
        if self.protocol.handshake_exc is not None:
            raise self.protocol.handshake_exc
        return self

    async def _receive(self, answer: bool = True) -> None:
        try:
            data = await self.stream.receive_some(65536)
        except trio.BrokenResourceError:
            data = b""
        if data:
            self.protocol.receive_data(bytes(data))
        elif not self.ended:
            self.ended = True
            self.protocol.receive_eof()
        self._events += self.protocol.events_received()
        if answer:
            try:
                await self.flush()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                self.ended = True

    async def frame(self) -> Frame | None:
        """The next frame of any kind, ``None`` at the end."""
        while not self._events and not self.ended:
            await self._receive()
        frame: Frame | None = self._events.pop(0) if self._events else None
        return frame

    async def message(self) -> bytes:
        """The next message; pings are passed over."""
        while (frame := await self.frame()) is not None:
            if frame.opcode in {Opcode.TEXT, Opcode.BINARY}:
                assert frame.fin
                return bytes(frame.data)
        raise EOFError(f"closed with {self.protocol.close_code}")

    async def send(self, text: str) -> None:
        self.protocol.send_text(text.encode())
        await self.flush()

    async def ask(self, text: str) -> bytes:
        await self.send(text)
        return await self.message()

    async def closed(self) -> Close | None:
        """Read to the end and hang up; with which code and reason the gateway closed."""
        while await self.frame() is not None:
            pass
        await self.stream.aclose()
        return self.protocol.close_rcvd

    async def close(self) -> Close | None:
        self.protocol.send_close(1000)
        await self.flush()
        return await self.closed()


async def phone(gateway: Gateway, tls: ssl.SSLContext | None = None) -> Peer:
    """An open WebSocket to the gateway."""
    return await Peer(await connect(gateway, tls)).open()


@asynccontextmanager
async def outbox_pair(
    limits: GatewayLimits | None = None,
) -> AsyncIterator[tuple[OutboxStream, trio.abc.Stream]]:
    """An outbox over memory with its writer, and the client's end."""
    client, server = trio.testing.memory_stream_pair()

    def hang_up() -> None:
        server.send_stream.close()
        server.receive_stream.close()

    stream = OutboxStream(server, hang_up, limits=limits)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.run)
        yield stream, client
        await stream.aclose()
        nursery.cancel_scope.cancel()


def get(path: bytes = b"/", *headers: bytes, host: bytes = b"localhost") -> bytes:
    lines = b"".join(header + b"\r\n" for header in headers)
    return b"GET %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (path, host, lines)


def upgrade(*headers: bytes, host: bytes = b"localhost", path: bytes = b"/") -> bytes:
    return get(
        path,
        b"Upgrade: websocket",
        b"Connection: Upgrade",
        b"Sec-WebSocket-Version: 13",
        b"Sec-WebSocket-Key: " + KEY,
        *headers,
        host=host,
    )


def status(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer
    return int(answer[9:12])
