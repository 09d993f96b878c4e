"""How a phone's connection ends, and what happens to one that does not read."""

from __future__ import annotations

import traceback

import pytest
import trio
from trio.testing import MockClock
from websockets.frames import Opcode

from podiumd.gateway.frames import close_frame
from podiumd.gateway.http.head import check_upgrade, read_head
from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.outbox import OutboxStream
from podiumd.gateway.websocket import Closed, WebSocket, _Wire, serve_websocket
from tests.gateway.harness import Peer, outbox_pair
from tests.gateway.served_phone import KIB, LIMITS, served, stay


async def test_a_phone_that_closes_is_answered_and_the_handler_told() -> None:
    told = []

    async def handler(socket: WebSocket) -> None:
        with pytest.raises(Closed):
            await stay(socket)
        told.append(socket)
        socket.send(b"too late")
        with pytest.raises(Closed):
            await socket.room()

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
            await serve_websocket(stream, key, stay, limits=LIMITS, large=large, peer="")

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
                    await serve_websocket(stream, key, handler, limits=LIMITS, large=large, peer="")

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
        await serve_websocket(stream, key, stay, limits=LIMITS, large=large, peer="")


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
