"""One phone: its messages, how large they may be, and how long it may be silent."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock
from websockets.frames import Opcode

from podiumd.gateway.frames import text_frame
from podiumd.gateway.http.head import check_upgrade, read_head
from podiumd.gateway.outbox import OutboxStream
from podiumd.gateway.websocket import Closed, WebSocket, serve_websocket
from tests.gateway.harness import Peer, echo, wait_until
from tests.gateway.served_phone import KIB, LIMITS, served, stay


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
            await serve_websocket(stream, key, echo, limits=LIMITS, large=large, peer="")

        nursery.start_soon(serve)
        while not early._events:
            await early._receive()
        early._events.pop(0)

        assert await early.message() == b"early"
        nursery.cancel_scope.cancel()


async def test_what_was_sent_is_delivered_when_the_phone_has_answered_a_ping_after_it() -> None:
    async with served(stay) as phone, trio.open_nursery() as nursery:
        delivered = trio.Event()

        async def wait() -> None:
            await phone.ours.delivered()
            delivered.set()

        phone.ours.send(b"one")
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        phone.ours.send(b"two")
        assert await phone.peer.message() == b"one"
        ping = await phone.peer.frame()  # it is answered as soon as it is read
        assert ping is not None and ping.opcode is Opcode.PING
        await delivered.wait()
        assert await phone.peer.message() == b"two"


async def test_nothing_is_delivered_to_a_phone_that_has_gone() -> None:
    async with served(stay) as phone:
        await phone.peer.close()
        await phone.over.wait()
        with pytest.raises(Closed):
            await phone.ours.delivered()


async def test_nothing_is_delivered_after_our_goodbye(autojump_clock: MockClock) -> None:
    async with served(stay) as phone, trio.open_nursery() as nursery:
        nursery.start_soon(phone.ours.close, 4001, "revoked")
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(Closed):
            await phone.ours.delivered()


async def test_a_phone_that_goes_before_it_answers_has_had_nothing() -> None:
    async with served(stay) as phone, trio.open_nursery() as nursery:
        refused = trio.Event()

        async def wait() -> None:
            with pytest.raises(Closed):
                await phone.ours.delivered()
            refused.set()

        phone.ours.send(b"one")
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        await phone.client.aclose()
        await refused.wait()


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
