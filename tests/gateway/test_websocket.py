"""One phone over memory, with the clock in the test's hand."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock
from websockets.frames import Opcode

from podiumd.gateway.frames import close_frame, text_frame
from podiumd.gateway.head import check_upgrade, read_head
from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.outbox import OutboxStream
from podiumd.gateway.websocket import Closed, WebSocket, _Wire, serve_websocket
from tests.gateway.harness import Peer, echo, outbox_pair, wait_until

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

    async def serve() -> None:
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
                secure=False,
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
        nursery.start_soon(serve)
        await phone.peer.open()
        await wait_until(lambda: phone.socket is not None)
        yield phone
        nursery.cancel_scope.cancel()


async def stay(socket: WebSocket) -> None:
    """Authenticates and reads until the end, saying nothing."""
    socket.authenticated()
    while True:
        await socket.receive()


async def test_messages_are_echoed_whatever_their_size_and_kind() -> None:
    async with served() as phone:
        assert await phone.peer.ask("") == b""
        assert await phone.peer.ask("häuser") == "häuser".encode()
        for size in (125, 126, 65535, 65536, 99_000):
            assert await phone.peer.ask("x" * size) == b"x" * size
        phone.peer.protocol.send_binary(b"\x00\xff")
        await phone.peer.flush()
        assert await phone.peer.message() == b"2 bytes"


async def test_a_fragmented_message_arrives_whole_with_pings_between() -> None:
    async with served() as phone:
        peer = phone.peer
        peer.protocol.send_text(b"one ", fin=False)
        peer.protocol.send_ping(b"here")
        peer.protocol.send_continuation("zwö".encode()[:3], fin=False)
        peer.protocol.send_continuation("zwö".encode()[3:], fin=True)
        await peer.flush()

        pong = await peer.frame()
        assert pong is not None and (pong.opcode, bytes(pong.data)) == (Opcode.PONG, b"here")
        assert await peer.message() == "one zwö".encode()


async def test_frames_that_arrive_byte_by_byte_are_the_same() -> None:
    async with served() as phone:
        phone.peer.protocol.send_text(b"x" * 200)
        for data in phone.peer.protocol.data_to_send():
            for byte in data:
                await phone.client.send_all(bytes([byte]))

        assert await phone.peer.message() == b"x" * 200


async def test_bytes_that_come_before_the_handshake_is_answered_are_kept() -> None:
    client, server = trio.testing.memory_stream_pair()
    stream = OutboxStream(server, server.send_stream.close, limits=LIMITS)
    early = Peer(client)
    early.protocol.send_request(early.protocol.connect())
    request = b"".join(early.protocol.data_to_send())
    later = Peer(client)
    later.protocol.state = later.protocol.state.OPEN
    later.protocol.send_text(b"early")
    await client.send_all(request + b"".join(later.protocol.data_to_send()))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.run)
        head = await read_head(stream, 16 * KIB)
        assert head is not None
        key = check_upgrade(head)

        async def serve() -> None:
            large = trio.Semaphore(1)
            await serve_websocket(
                stream, key, echo, limits=LIMITS, large=large, peer="", secure=False
            )

        nursery.start_soon(serve)
        while not early._events:
            await early._receive()
        early._events.pop(0)

        assert await early.message() == b"early"
        nursery.cancel_scope.cancel()


async def test_a_shared_frame_is_sent_as_it_is() -> None:
    async with served(stay) as phone:
        phone.ours.send_frame(text_frame(b"for all"))
        phone.ours.send(b"for one")

        assert [await phone.peer.message() for _ in range(2)] == [b"for all", b"for one"]


async def test_a_stranger_is_allowed_small_messages_only() -> None:
    async def wait(socket: WebSocket) -> None:
        assert len(await socket.receive()) == LIMITS.stranger_message_bytes
        await socket.receive()

    async with served(wait) as phone:
        await phone.peer.send("x" * LIMITS.stranger_message_bytes)
        await phone.peer.send("x" * (LIMITS.stranger_message_bytes + 1))
        closed = await phone.peer.closed()

        assert closed is not None and closed.code == 1009
        assert closed.reason == "A message may have 1024 bytes here."
        await phone.over.wait()
    assert not phone.trusted


async def test_fragments_are_counted_together() -> None:
    async def wait(socket: WebSocket) -> None:
        await socket.receive()

    async with served(wait) as phone:
        phone.peer.protocol.send_text(b"x" * 1000, fin=False)
        phone.peer.protocol.send_continuation(b"x" * 1000, fin=True)
        await phone.peer.flush()
        closed = await phone.peer.closed()

    assert closed is not None and closed.code == 1009


async def test_a_message_is_refused_by_its_header_before_it_is_received() -> None:
    async with served(stay) as phone:
        await phone.client.send_all(b"\x81\xff" + (1 << 40).to_bytes(8, "big") + b"mask")
        closed = await phone.peer.closed()

    assert closed is not None and closed.code == 1009


async def test_authentication_and_allow_raise_the_limit_as_far_as_it_goes() -> None:
    async def handler(socket: WebSocket) -> None:
        socket.authenticated()
        assert len(await socket.receive()) == 100 * KIB
        socket.allow(1 << 40)
        socket.send(b"go on")
        assert len(await socket.receive()) == 1024 * KIB
        await socket.receive()

    async with served(handler) as phone:
        await phone.peer.send("x" * 100 * KIB)
        assert await phone.peer.message() == b"go on"
        assert phone.trusted
        await phone.peer.send("x" * 1024 * KIB)
        await phone.peer.send("x" * (1024 * KIB + 1))
        closed = await phone.peer.closed()

    assert closed is not None and closed.code == 1009


async def test_large_messages_wait_for_each_other() -> None:
    """With one place, the second phone is read only when the first is done with its message."""
    large = trio.Semaphore(1)
    done = trio.Event()
    handled = []

    async def handler(socket: WebSocket) -> None:
        socket.authenticated()
        socket.allow(1 << 20)
        socket.send(b"go on")
        handled.append(len(await socket.receive()))
        if len(handled) == 1:
            await done.wait()
        await socket.receive()

    async with served(handler, large=large) as one, served(handler, large=large) as two:
        for phone in (one, two):
            await phone.peer.message()
            phone.peer.protocol.send_text(b"x" * 200 * KIB)
            data = b"".join(phone.peer.protocol.data_to_send())
            await phone.client.send_all(data[:1000])  # a socket, too, gives it in pieces
            await trio.testing.wait_all_tasks_blocked()
            await phone.client.send_all(data[1000:])
        await wait_until(lambda: len(handled) == 1)
        await trio.testing.wait_all_tasks_blocked()
        assert large.value == 0 and len(handled) == 1
        done.set()
        await wait_until(lambda: len(handled) == 2)
        await trio.testing.wait_all_tasks_blocked()

        assert large.value == 1


async def test_a_phone_that_leaves_gives_its_place_for_a_large_message_back() -> None:
    large = trio.Semaphore(1)

    async def handler(socket: WebSocket) -> None:
        socket.authenticated()
        socket.allow(1 << 20)
        socket.send(b"go on")
        await socket.receive()

    async with served(handler, large=large) as phone:
        await phone.peer.message()
        header = b"\x81\xff" + (1 << 20).to_bytes(8, "big") + b"mask"
        await phone.client.send_all(header)
        await wait_until(lambda: large.value == 0)
        await phone.client.aclose()
        await phone.over.wait()

    assert large.value == 1


async def test_a_stranger_has_ten_seconds(autojump_clock: MockClock) -> None:
    async def wait(socket: WebSocket) -> None:
        await socket.receive()

    async with served(wait) as phone:
        started = trio.current_time()
        closed = await phone.peer.closed()

        assert closed is not None
        assert (closed.code, closed.reason) == (1008, "Authenticate first.")
        assert trio.current_time() - started == pytest.approx(LIMITS.authenticate_seconds)
        await phone.over.wait()


async def test_a_phone_that_answers_pings_stays(autojump_clock: MockClock) -> None:
    async with served(stay) as phone:
        for number in range(1, 6):
            ping = await phone.peer.frame()
            assert ping is not None and ping.opcode is Opcode.PING
            assert trio.current_time() == pytest.approx(number * 30 - 20, abs=0.01)

        assert not phone.over.is_set()


async def test_a_phone_that_falls_silent_is_dropped(autojump_clock: MockClock) -> None:
    """P-1.19."""
    async with served(stay) as phone:
        await phone.over.wait()

        assert phone.stream.fault == "the client answers no ping"
        assert trio.current_time() == pytest.approx(30, abs=0.01)


async def test_a_phone_that_sends_anything_is_alive(autojump_clock: MockClock) -> None:
    """A slow upload in one frame leaves no room for a pong."""
    async with served(stay) as phone:
        await phone.client.send_all(b"\x81\xff" + (99_000).to_bytes(8, "big") + b"mask")
        for _ in range(30):
            await trio.sleep(5)
            await phone.client.send_all(b"x")

        assert not phone.over.is_set()


async def test_a_phone_is_not_blamed_while_nobody_reads_it(autojump_clock: MockClock) -> None:
    async def busy(socket: WebSocket) -> None:
        socket.authenticated()
        await socket.receive()
        await trio.sleep(600)
        socket.send(await socket.receive())  # type: ignore[arg-type]

    async with served(busy) as phone:
        for text in ("one", "two", "three"):
            await phone.peer.send(text)
        await trio.sleep(300)

        assert not phone.over.is_set()


async def test_a_phone_that_closes_is_answered_and_the_handler_told() -> None:
    told = []

    async def handler(socket: WebSocket) -> None:
        try:
            await stay(socket)
        except Closed:
            told.append(socket)
            socket.send(b"too late")
            with pytest.raises(Closed):
                await socket.room()
            raise

    async with served(handler) as phone:
        closed = await phone.peer.close()
        await phone.over.wait()

        assert closed is not None and closed.code == 1000
        assert told == [phone.socket]
        assert phone.faults is None


async def test_messages_sent_before_a_close_are_still_received() -> None:
    received = []

    async def handler(socket: WebSocket) -> None:
        socket.authenticated()
        while True:
            received.append(await socket.receive())

    async with served(handler) as phone:
        phone.peer.protocol.send_text(b"one")
        phone.peer.protocol.send_text(b"two")
        phone.peer.protocol.send_close(1000)
        await phone.peer.flush()
        await phone.over.wait()

    assert received == ["one", "two"]


async def test_a_handler_that_is_done_closes_after_its_last_word() -> None:
    async def handler(socket: WebSocket) -> None:
        socket.send(b"goodbye")

    async with served(handler) as phone:
        assert await phone.peer.message() == b"goodbye"
        closed = await phone.peer.closed()

        assert closed is not None and closed.code == 1000
        await phone.over.wait()


async def test_close_says_why_and_nothing_is_sent_after_it() -> None:
    async def handler(socket: WebSocket) -> None:
        await socket.close(4001, "revoked")
        socket.send(b"too late")
        await socket.close(4002, "twice")
        with pytest.raises(Closed):
            await socket.receive()

    async with served(handler) as phone:
        closed = await phone.peer.closed()

        assert closed is not None and (closed.code, closed.reason) == (4001, "revoked")
        await phone.over.wait()
        assert phone.faults is None


async def test_a_phone_that_does_not_answer_a_close_is_hung_up_on(
    autojump_clock: MockClock,
) -> None:
    async def handler(socket: WebSocket) -> None:
        socket.authenticated()

    async with served(handler) as phone:
        started = trio.current_time()
        await phone.over.wait()

        assert trio.current_time() - started == pytest.approx(LIMITS.close_seconds)


async def test_both_sides_may_close_at_once() -> None:
    async with served(stay) as phone, trio.open_nursery() as nursery:
        phone.peer.protocol.send_close(1000)
        nursery.start_soon(phone.ours.close, 4001)
        nursery.start_soon(phone.ours.close, 4001)
        await phone.peer.flush()
        await phone.peer.closed()
        await phone.over.wait()

    assert phone.faults is None


async def test_a_ping_that_crosses_our_close_harms_nobody(autojump_clock: MockClock) -> None:
    async with served(stay) as phone:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(phone.ours.close, 4001, "revoked")
            await trio.testing.wait_all_tasks_blocked()
            phone.peer.protocol.send_ping(b"are you there")
            await phone.peer.flush()
            started = trio.current_time()
        await phone.over.wait()

        assert trio.current_time() == started, "it did not wait for an answer any more"
        closed = await phone.peer.closed()
        assert closed is not None and closed.code == 4001


async def test_a_handlers_fault_is_its_own_and_the_phone_hears_1011() -> None:
    async def handler(socket: WebSocket) -> None:
        socket.authenticated()
        await socket.receive()
        raise ValueError("secret")

    async with served(handler) as phone:
        await phone.peer.send("go")
        closed = await phone.peer.closed()
        await phone.over.wait()

        assert closed is not None and (closed.code, closed.reason) == (1011, "")
        assert "secret" in "".join(traceback.format_exception(phone.faults))


@pytest.mark.parametrize(
    ("wire", "code"),
    [
        (b"\x81\x05hello", 1002),  # not masked
        (b"\x83\x80mask", 1002),  # an unknown opcode
        (b"\xc1\x80mask", 1002),  # a reserved bit
        (b"\x80\x80mask", 1002),  # the end of nothing
        (b"\x09\x80mask", 1002),  # a ping in parts
        (b"\x89\xfe\x00\x7emask" + b"x" * 126, 1002),  # a ping too long
        (b"\x81\x81\x00\x00\x00\x00\xff", 1007),  # not UTF-8
        (b"\x88\x81\x00\x00\x00\x00\x00", 1002),  # half a close code
        (b"\x88\x82\x00\x00\x00\x00\x03\xed", 1002),  # a close code that is not for the wire
    ],
)
async def test_what_breaks_the_protocol_is_told_so(wire: bytes, code: int) -> None:
    async with served(stay) as phone:
        await phone.client.send_all(wire)
        closed = await phone.peer.closed()
        await phone.over.wait()

    assert closed is not None and closed.code == code
    assert phone.faults is None


async def test_pings_are_answered_in_the_middle_of_bulk() -> None:
    """Each pong stands between whole frames, in the order of its ping."""
    bulk = b"x" * 50_000

    async def handler(socket: WebSocket) -> None:
        socket.authenticated()
        for _ in range(50):
            await socket.room()
            socket.send(bulk)
        await stay(socket)

    async with served(handler) as phone:
        pings = [b"%d" % number for number in range(20)]

        async def ping() -> None:
            for payload in pings:
                phone.peer.protocol.send_ping(payload)
                await phone.peer.flush()

        pongs: list[bytes] = []
        texts = 0
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ping)
            while len(pongs) < 20 or texts < 50:
                frame = await phone.peer.frame()
                assert frame is not None
                if frame.opcode is Opcode.PONG:
                    pongs.append(bytes(frame.data))
                elif frame.opcode is Opcode.TEXT:
                    assert bytes(frame.data) == bulk
                    texts += 1

        assert pongs == pings


async def test_a_flood_of_pings_from_one_who_does_not_read_fills_no_memory() -> None:
    client_to_us, we_receive = trio.testing.memory_stream_one_way_pair()
    we_send, _unread = trio.testing.lockstep_stream_one_way_pair()
    stream = OutboxStream(trio.StapledStream(we_send, we_receive), lambda: None, limits=LIMITS)
    peer = Peer(trio.StapledStream(client_to_us, _unread))
    peer.protocol.send_request(peer.protocol.connect())
    await peer.flush()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.run)
        head = await read_head(stream, 16 * KIB)
        assert head is not None
        key = check_upgrade(head)

        async def serve() -> None:
            large = trio.Semaphore(1)
            await serve_websocket(
                stream, key, stay, limits=LIMITS, large=large, peer="", secure=False
            )

        nursery.start_soon(serve)
        while not peer._events:
            await peer._receive()
        for _ in range(5000):
            peer.protocol.send_ping(b"x" * 100)
        await peer.flush()
        await trio.testing.wait_all_tasks_blocked()

        assert 0 < stream.pending <= 102
        nursery.cancel_scope.cancel()


async def test_cancelled_while_a_phone_does_not_read_it_ends_in_time(
    autojump_clock: MockClock,
) -> None:
    client_to_us, we_receive = trio.testing.memory_stream_one_way_pair()
    we_send, unread = trio.testing.lockstep_stream_one_way_pair()
    hung_up = trio.Event()
    stream = OutboxStream(trio.StapledStream(we_send, we_receive), hung_up.set, limits=LIMITS)
    peer = Peer(trio.StapledStream(client_to_us, unread))
    peer.protocol.send_request(peer.protocol.connect())
    await peer.flush()

    async def handler(socket: WebSocket) -> None:
        socket.authenticated()
        socket.send(b"x" * 300 * KIB)
        await socket.room()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.run)
        head = await read_head(stream, 16 * KIB)
        assert head is not None
        key = check_upgrade(head)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as serving:

                async def serve() -> None:
                    large = trio.Semaphore(1)
                    await serve_websocket(
                        stream, key, handler, limits=LIMITS, large=large, peer="", secure=False
                    )

                serving.start_soon(serve)
                while not peer._events:
                    await peer._receive()
                await trio.testing.wait_all_tasks_blocked()
                assert stream.pending > LIMITS.room_bytes
                started = trio.current_time()
                scope.cancel()
        assert hung_up.is_set()
        assert trio.current_time() - started <= 3 * LIMITS.close_seconds
        nursery.cancel_scope.cancel()


async def test_garbage_after_the_handshake_ends_the_connection_only() -> None:
    async with served(stay) as phone:
        try:
            await phone.client.send_all(bytes(range(256)) * 40)
        except trio.BrokenResourceError:
            pass
        await phone.client.aclose()
        await phone.over.wait()

    assert phone.faults is None


async def test_after_our_own_close_frame_no_other_is_sent() -> None:
    async with outbox_pair() as (stream, client):
        wire = _Wire(stream, b"", LIMITS, trio.Semaphore(1))
        wire.end(1009, "too big")
        wire.end(1002)
        with pytest.raises(trio.ClosedResourceError):
            await wire.send_all(close_frame(1000))
        await wire.wait_send_all_might_not_block()

        assert await client.receive_some() == close_frame(1009, "too big")
        await client.aclose()


async def test_a_phone_that_goes_before_the_handshake_is_answered_is_no_fault() -> None:
    async with outbox_pair() as (stream, _client):
        stream.abort("the client has gone")
        large = trio.Semaphore(1)
        key = "dGhlIHNhbXBsZSBub25jZQ=="
        await serve_websocket(stream, key, stay, limits=LIMITS, large=large, peer="", secure=False)


async def test_what_is_pending_is_told_until_there_is_room() -> None:
    async with served(stay) as phone:
        assert phone.ours.pending == 0
        phone.ours.send(b"x" * 300 * KIB)
        assert phone.ours.pending > LIMITS.room_bytes
        async with trio.open_nursery() as nursery:
            nursery.start_soon(phone.peer.message)
            await phone.ours.room()
        assert phone.ours.pending == 0


async def test_a_phone_that_is_being_sent_bulk_is_not_pinged(autojump_clock: MockClock) -> None:
    """What waits would hold the ping up; the outbox watches whether the phone takes it."""
    limits = GatewayLimits(stall_seconds=1000)
    async with served(stay, limits) as phone:
        release = trio.Event()

        async def hold() -> None:
            await release.wait()

        server = phone.stream._transport
        assert isinstance(server, trio.StapledStream)
        server.send_stream.send_all_hook = hold
        phone.ours.send(b"x" * 100)
        await trio.sleep(300)

        assert phone.stream.fault is None and not phone.over.is_set()
        release.set()
