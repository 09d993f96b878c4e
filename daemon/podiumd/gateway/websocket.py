"""A phone's WebSocket: trio-websocket reads, the outbox writes, and both keep time.

trio-websocket parses frames, answers pings and shakes hands at the end; all it writes goes through
``_Wire`` into the connection's outbox, whole frames between our own. The parts that it leaves to
others are here: limits that grow with trust, the keepalive, and a client that does not read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from typing import Final, NamedTuple

import trio
from trio_websocket import ConnectionClosed, WebSocketConnection, wrap_server_stream
from wsproto.utilities import LocalProtocolError

from podiumd.gateway.frames import PING, Meter, close_frame, is_close_frame, text_frame
from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.outbox import OutboxStream
from podiumd.gateway.pace import Pace
from podiumd.gateway.turnstile import OPEN, Gate
from podiumd.observe.logs import log

__all__ = ["Closed", "WebSocket", "serve_websocket", "text_frame"]

# Template of the head for trio-websocket, which was checked before: two parsers that read the same
# foreign bytes could read them differently.
_HEAD = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %b\r\n%b\r\n"
)
_NORMAL = 1000
_GOING_AWAY = 1001
_PROTOCOL_ERROR = 1002
_NOT_UTF8 = 1007
_POLICY = 1008
_TOO_BIG = 1009
_INTERNAL = 1011


READ_BYTES: Final = 16 * 1024
"""Read at once of a large message."""

FEW_BYTES: Final = 2 * 1024
"""Read at once where no more is announced: small messages by the hundred must not hold the loop
up."""


class Closed(Exception):
    """The phone has gone."""


class _Wire(trio.abc.Stream):
    """The connection as trio-websocket sees it: first a head, nothing until the handshake is
    answered, then frames, as large as the phone is trusted."""

    def __init__(
        self,
        stream: OutboxStream,
        head: bytes,
        limits: GatewayLimits,
        large: trio.Semaphore,
        gate: Gate = OPEN,
    ) -> None:
        self._stream = stream
        self._gate = gate
        self._head = head
        self._limits = limits
        self._large = large
        self._large_messages: set[int] = set()
        self._pace = Pace(limits)  # of the latest of these
        self._meter = Meter()
        self.message_bytes = limits.stranger_message_bytes
        self.closing = False
        self.waiting: set[trio.CancelScope] = set()
        self._opened = trio.Event()
        self._end_code: Callable[[], int | None] = lambda: None

    def open(self, end_code: Callable[[], int | None]) -> None:
        """Let frames through; ``end_code`` returns the code with which trio-websocket has ended."""
        self._end_code = end_code
        self._opened.set()

    def ended(self) -> None:
        """End the waits for an answer of the phone: nothing arrives any more."""
        for scope in self.waiting:
            scope.cancel()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        if self._head:
            await trio.lowlevel.checkpoint()
            head, self._head = self._head, b""
            return head
        await self._opened.wait()
        data = await self._next_bytes()
        largest = self._meter.feed(data)
        if largest > self.message_bytes:
            self.end(_TOO_BIG, f"A message may have {self.message_bytes} bytes here.")
            raise trio.BrokenResourceError
        if self._meter.begun > self._limits.message_bytes:
            await self._claim(self._meter.messages)
        return data

    async def _next_bytes(self) -> bytes | bytearray:
        """Read what has arrived, at this phone's turn. A large message has to come at a pace."""
        large = self._meter.messages in self._large_messages
        count = max(FEW_BYTES, min(READ_BYTES, self._meter.coming))
        with self._pace.waiting() if large else nullcontext():
            await self._stream.arrival(count)
        if large and self._pace.too_slow:
            self.end(_POLICY, "So large a message has to come faster.")
            raise trio.BrokenResourceError
        await self._gate.enter()
        data = await self._stream.receive_some(count)
        if large:
            self._pace.arrived(len(data))
        return data

    async def _claim(self, message: int) -> None:
        if message not in self._large_messages:
            await self._large.acquire()
            self._large_messages.add(message)
            self._pace = Pace(self._limits)

    def let_go(self, messages: int | None) -> None:
        """Let go of the first ``messages`` messages (all): others may be large now."""
        for message in tuple(self._large_messages):
            if messages is not None and message >= messages:
                continue
            self._large_messages.remove(message)
            self._large.release()

    def end(self, code: int, reason: str = "") -> None:
        """Send a close frame of our own, and nothing after it."""
        if not self.closing:
            self.closing = True
            self._stream.put(close_frame(code, reason))
            self._stream.unread_input = True

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        frame = bytes(data)
        if is_close_frame(frame):
            if self.closing:
                raise trio.ClosedResourceError
            self.closing = True
        await self._stream.send_all(frame)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        code = self._end_code()
        if code in {_PROTOCOL_ERROR, _NOT_UTF8}:
            self.end(code)  # trio-websocket hangs up without a word
        await self._stream.aclose()


class Traffic(NamedTuple):
    """Counters that are called with each message of a phone."""

    received: Callable[[], None]
    sent: Callable[[], None]


NO_TRAFFIC: Final = Traffic(lambda: None, lambda: None)


class WebSocket:
    """A phone's socket. ``peer`` is its address without a port."""

    def __init__(
        self,
        connection: WebSocketConnection,
        stream: OutboxStream,
        wire: _Wire,
        gate: Gate,
        limits: GatewayLimits,
        peer: str,
        on_authenticated: Callable[[], None],
        traffic: Traffic,
    ) -> None:
        self.peer = peer
        self._connection = connection
        self._stream = stream
        self._wire = wire
        self._gate = gate
        self._limits = limits
        self._on_authenticated = on_authenticated
        self._traffic = traffic
        self._authenticated = trio.Event()
        self._received = 0
        self._close_begun = False
        self._close_over = trio.Event()

    @property
    def pending(self) -> int:
        """Bytes that the socket has not taken yet."""
        return self._stream.pending

    async def receive(self) -> str | bytes:
        """Receive the next whole message; pings and pongs are answered inside.

        A call for the next one means that the last one is done with. Raises ``Closed``.
        """
        self._wire.let_go(self._received)
        try:
            message = await self._connection.get_message()
        except ConnectionClosed:
            raise Closed from None
        await self._gate.enter()
        self._received += 1
        self._traffic.received()
        return message

    def send(self, text: bytes) -> None:
        """Send one text message of UTF-8; never blocks; nothing is sent after the close."""
        self.send_frame(text_frame(text))

    def send_frame(self, frame: bytes) -> None:
        """Send what ``text_frame`` made, which may be shared between phones."""
        if not self._wire.closing:
            self._stream.put(frame)
            self._traffic.sent()

    async def room(self) -> None:
        """Wait until bulk may be sent again: less than ``room_bytes`` pending. Raises
        ``Closed``."""
        try:
            await self._stream.room()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise Closed from None

    async def delivered(self) -> None:
        """Return once the phone has everything that was sent before this call: it has answered a
        ping that went out after all of it.

        Raises ``Closed``. However long it takes, nothing that is sent later is held up.
        """
        with trio.CancelScope() as scope:
            self._wire.waiting.add(scope)
            try:
                await self._stream.flushed()
                if not self._wire.closing:  # nothing may follow our goodbye
                    return await self._connection.ping()
            except (ConnectionClosed, trio.BrokenResourceError, trio.ClosedResourceError):
                raise Closed from None
            finally:
                self._wire.waiting.discard(scope)
        raise Closed

    def authenticated(self) -> None:
        """Trust this phone: its place among strangers is free, its messages may be larger."""
        if not self._authenticated.is_set():
            self._authenticated.set()
            self.allow(self._limits.message_bytes)
            self._on_authenticated()

    def allow(self, message_bytes: int) -> None:
        """Take messages of up to so many bytes, at most ``largest_message_bytes``."""
        self._wire.message_bytes = min(message_bytes, self._limits.largest_message_bytes)

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Say goodbye and wait for the phone's answer, for at most ``close_seconds`` each.

        Called again, it waits for the first call.
        """
        if self._close_begun:
            await self._close_over.wait()
            return
        self._close_begun = True
        try:
            await self._close(code, reason)
        finally:
            self._close_over.set()

    async def _close(self, code: int, reason: str) -> None:
        with trio.move_on_after(self._limits.close_seconds) as scope:
            self._wire.waiting.add(scope)
            await self._connection.aclose(code, reason)
        await self._wire.aclose()

    async def keep_time(self) -> None:
        """Close a stranger that does not authenticate, drop a phone that fell silent."""
        with trio.move_on_after(self._limits.authenticate_seconds):
            await self._authenticated.wait()
        if not self._authenticated.is_set():
            log("Phone closed", "warning", peer=self.peer, reason="it did not authenticate")
            await self.close(_POLICY, "Authenticate first.")
            return
        rest = max(0.0, self._limits.ping_seconds - self._limits.pong_seconds)
        while not self._stream.gone:
            await trio.sleep(rest)
            pinged_at, heard = trio.current_time(), self._stream.heard
            # Bytes still waiting would hold the ping up; then the outbox itself watches the client.
            pinged = self._stream.pending == 0 and not self._wire.closing
            if pinged:
                self._stream.put(PING)
            await trio.sleep(self._limits.pong_seconds)
            silent = self._stream.heard == heard and self._stream.listened_since(pinged_at)
            if pinged and silent and self._stream.pending == 0:
                self._stream.abort("the client answers no ping")


async def _reading(
    begun: trio.Event,
    ended: Callable[[], None],
    *,
    task_status: trio.TaskStatus[trio.Nursery],
) -> None:
    """Give trio-websocket's reader a home: its end, of any kind, is the connection's alone."""
    try:
        async with trio.open_nursery() as nursery:
            task_status.started(nursery)
            await begun.wait()
    except* LocalProtocolError:
        pass  # trio-websocket answers a ping that crosses our close frame, which is not allowed
    finally:
        ended()


async def serve_websocket(
    stream: OutboxStream,
    key: str,
    handler: Callable[[WebSocket], Awaitable[None]],
    *,
    limits: GatewayLimits,
    large: trio.Semaphore,
    peer: str,
    on_open: Callable[[WebSocket], None] = lambda socket: None,
    on_authenticated: Callable[[], None] = lambda: None,
    traffic: Traffic = NO_TRAFFIC,
    gate: Gate = OPEN,
    protocol: str | None = None,
) -> None:
    """Serve one phone until it has gone or the handler is done, then close.

    ``key`` is the Sec-WebSocket-Key of a head that passed ``check_upgrade``, ``protocol`` the
    subprotocol that it is answered; ``large`` has a place
    for each message over ``message_bytes`` that may be in memory; every read and every message
    passes ``gate``. All that the handler raises comes out in a group, after the phone was sent
    1011.
    """
    offered = "" if protocol is None else f"Sec-WebSocket-Protocol: {protocol}\r\n"
    head = _HEAD % (key.encode("ascii"), offered.encode("ascii"))
    wire = _Wire(stream, head, limits, large, gate)
    begun = trio.Event()
    try:
        async with trio.open_nursery() as nursery:
            home = await nursery.start(_reading, begun, wire.ended)
            request = await wrap_server_stream(
                home,
                wire,
                message_queue_size=0,
                max_message_size=limits.largest_message_bytes,
                receive_buffer_size=None,
            )
            begun.set()
            with suppress(ConnectionClosed):  # before the handshake was answered
                connection = await request.accept(subprotocol=protocol)
                socket = WebSocket(
                    connection, stream, wire, gate, limits, peer, on_authenticated, traffic
                )
                wire.open(lambda: connection.closed.code if connection.closed else None)
                on_open(socket)
                nursery.start_soon(socket.keep_time)
                await _handle(socket, handler, 3 * limits.close_seconds)
            nursery.cancel_scope.cancel()
    finally:
        wire.let_go(None)


async def _handle(
    socket: WebSocket, handler: Callable[[WebSocket], Awaitable[None]], seconds: float
) -> None:
    code = _GOING_AWAY  # when cancelled
    try:
        try:
            await handler(socket)
            code = _NORMAL
        except* Closed:
            code = _NORMAL
        except* Exception:
            code = _INTERNAL
            raise
    finally:
        with trio.move_on_after(seconds, shield=True):
            await socket.close(code)
