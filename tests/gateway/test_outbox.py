"""Bytes leave whole and in order, and nobody waits for a client that does not read."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.outbox import OutboxStream
from tests.gateway.harness import outbox_pair, read_all
from tests.patience import HANG_SECONDS

LIMITS = GatewayLimits(
    room_bytes=1000, most_pending_bytes=4000, stall_seconds=30, close_seconds=2, linger_seconds=1
)


@asynccontextmanager
async def socket_pair(
    limits: GatewayLimits = LIMITS,
) -> AsyncIterator[tuple[OutboxStream, socket.socket, trio.SocketStream]]:
    """An outbox on a socket that may be written to directly, and the client's stream."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    raw = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
    client = trio.SocketStream(trio.socket.from_stdlib_socket(theirs))
    stream = OutboxStream(raw, raw.socket.close, ours, limits)
    with trio.fail_after(HANG_SECONDS):
        async with client, trio.open_nursery() as nursery:
            nursery.start_soon(stream.run)
            yield stream, ours, client
            await stream.aclose()
            nursery.cancel_scope.cancel()


def fill(stream: OutboxStream, piece: bytes) -> int:
    """Put pieces until the socket takes no more; how many."""
    count = 0
    while not stream.pending:
        stream.put(piece)
        count += 1
    return count


async def test_what_the_socket_takes_is_sent_before_put_returns() -> None:
    async with socket_pair() as (stream, _, client):
        stream.put(b"now")

        assert stream.pending == 0
        assert await client.receive_some() == b"now"


async def test_pieces_of_any_size_arrive_whole_and_in_order() -> None:
    limits = GatewayLimits(most_pending_bytes=1 << 30)
    pieces = [bytes([number % 251]) * (number * 37 % 5000) for number in range(2000)]
    async with socket_pair(limits) as (stream, _, client):
        for piece in pieces:
            stream.put(piece)
        assert stream.pending > 0
        received = bytearray()
        while len(received) < sum(map(len, pieces)):
            received += await client.receive_some()

        assert received == b"".join(pieces)
        assert stream.pending == 0


async def test_pieces_arrive_in_order_over_a_transport_without_a_socket() -> None:
    pieces = [bytes([number % 251]) * (number * 97 % 40_000) for number in range(200)]
    async with outbox_pair(GatewayLimits(most_pending_bytes=1 << 30)) as (stream, client):
        for piece in pieces:
            stream.put(piece)
        received = bytearray()
        while len(received) < sum(map(len, pieces)):
            received += await client.receive_some()

        assert received == b"".join(pieces)


async def test_send_all_returns_when_its_bytes_are_taken_and_never_sends_half() -> None:
    async with socket_pair(GatewayLimits(most_pending_bytes=1 << 30)) as (stream, _, client):
        count = fill(stream, b"a" * 10_000)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(stream.send_all, b"b" * 10_000)
                await trio.testing.wait_all_tasks_blocked()
                assert stream.pending > 10_000
                scope.cancel()
        stream.put(b"c")
        received = bytearray()
        while len(received) < count * 10_000 + 10_001:
            received += await client.receive_some()

        assert received[count * 10_000 :] == b"b" * 10_000 + b"c"


async def test_room_waits_until_the_client_has_read() -> None:
    limits = GatewayLimits(room_bytes=1000)
    async with socket_pair(limits) as (stream, _, client), trio.open_nursery() as nursery:
        fill(stream, b"a" * 5000)
        stream.put(b"a" * 1000)
        roomy = trio.Event()

        async def wait_for_room() -> None:
            await stream.room()
            assert stream.pending < limits.room_bytes
            roomy.set()

        nursery.start_soon(wait_for_room)
        await trio.testing.wait_all_tasks_blocked()
        assert not roomy.is_set()
        nursery.start_soon(read_all, client)
        await roomy.wait()
        nursery.cancel_scope.cancel()


async def test_a_client_that_lets_too_much_wait_is_given_up() -> None:
    async with socket_pair() as (stream, _, client):
        fill(stream, b"a" * 5000)
        while stream.fault is None:
            stream.put(b"more")

        assert stream.fault == "the client does not read what it is sent"
        assert stream.pending == 0
        with pytest.raises(trio.BrokenResourceError):
            await stream.room()
        with pytest.raises(trio.BrokenResourceError):
            await stream.send_all(b"x")
        await read_all(client)  # what the kernel held, and then the end


async def test_one_piece_larger_than_the_limit_is_sent(mock_clock: MockClock) -> None:
    async with outbox_pair(LIMITS) as (stream, client):
        stream.put(b"a" * 100_000)
        received = bytearray()
        while len(received) < 100_000:
            received += await client.receive_some()

        assert stream.fault is None


class Stuck(trio.abc.Stream):
    """A transport that takes so many pieces and then none; closing it ends every wait."""

    def __init__(self, takes: int) -> None:
        self.takes = takes
        self.taken = bytearray()
        self.closed = trio.Event()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.lowlevel.checkpoint()
        if not self.takes:
            await self.closed.wait()
            raise trio.ClosedResourceError
        self.takes -= 1
        self.taken += data

    async def wait_send_all_might_not_block(self) -> None:
        raise NotImplementedError

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await self.closed.wait()
        raise trio.ClosedResourceError

    async def aclose(self) -> None:
        self.closed.set()
        await trio.lowlevel.checkpoint()


async def test_a_client_that_takes_nothing_for_too_long_is_given_up(
    autojump_clock: MockClock,
) -> None:
    transport = Stuck(takes=1)
    stream = OutboxStream(transport, transport.closed.set, limits=LIMITS)
    started = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.run)
        stream.put(b"a" * 40_000)
        with pytest.raises(trio.ClosedResourceError):
            await stream.receive_some()

    assert stream.fault == "the client takes no byte of what waits for it"
    assert trio.current_time() - started == pytest.approx(LIMITS.stall_seconds)


async def test_nothing_is_taken_after_the_end() -> None:
    async with socket_pair() as (stream, _, client):
        stream.put(b"last")
        await stream.aclose()
        stream.put(b"too late")

        assert await read_all(client) == b"last"
        with pytest.raises(trio.ClosedResourceError):
            await stream.send_all(b"too late")
        with pytest.raises(trio.ClosedResourceError):
            await stream.room()


async def test_closing_waits_for_what_is_pending_and_a_second_close_for_the_first() -> None:
    async with socket_pair(GatewayLimits(most_pending_bytes=1 << 30)) as (stream, _, client):
        count = fill(stream, b"a" * 50_000)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stream.aclose)
            nursery.start_soon(stream.aclose)
            received = await read_all(client)

        assert len(received) == count * 50_000
        assert stream.fault is None


async def test_closing_gives_up_on_a_client_that_does_not_read(autojump_clock: MockClock) -> None:
    transport = Stuck(takes=0)
    stream = OutboxStream(transport, transport.closed.set, limits=LIMITS)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.run)
        stream.put(b"a")
        started = trio.current_time()
        await stream.aclose()

    assert trio.current_time() - started == pytest.approx(LIMITS.close_seconds)
    assert transport.closed.is_set()


async def test_a_cancelled_close_still_closes() -> None:
    transport = Stuck(takes=0)
    stream = OutboxStream(transport, transport.closed.set, limits=LIMITS)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.run)
        stream.put(b"a")
        with trio.CancelScope() as scope:
            scope.cancel()
            await stream.aclose()

    assert transport.closed.is_set() and stream.gone


async def test_unread_input_is_discarded_so_that_the_last_words_arrive() -> None:
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = listeners[0].socket.getsockname()[1]
        client = await trio.open_tcp_stream("127.0.0.1", port)
        server = await listeners[0].accept()
        stream = OutboxStream(server, server.socket.close, limits=LIMITS)
        nursery.start_soon(stream.run)
        await client.send_all(b"never read" * 1000)
        stream.put(b"last words")
        stream.unread_input = True
        async with trio.open_nursery() as closing:
            closing.start_soon(stream.aclose)
            received = await read_all(client)
            await client.aclose()
        await listeners[0].aclose()

    assert received == b"last words"


async def test_a_client_that_has_gone_ends_the_writer() -> None:
    async with socket_pair() as (stream, _, client):
        await client.aclose()
        while stream.fault is None:
            stream.put(b"a")
            await trio.lowlevel.checkpoint()

        assert stream.fault == "the client has gone"
        stream.abort("twice")
        assert stream.fault == "the client has gone"


async def test_unread_bytes_come_first_and_in_order() -> None:
    async with outbox_pair() as (stream, client):
        await client.send_all(b"ef")
        stream.unread(b"cd")
        stream.unread(b"ab")

        assert await stream.receive_some(3) == b"abc"
        assert await stream.receive_some() == b"d"
        assert await stream.receive_some() == b"ef"
        assert stream.heard == 2


async def test_what_has_arrived_on_a_socket_stays_there_until_it_is_asked_for() -> None:
    async with socket_pair() as (stream, ours, client), trio.open_nursery() as nursery:
        arrived = trio.Event()

        async def wait() -> None:
            await stream.arrival(2)
            arrived.set()

        began = trio.current_time()
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        assert not arrived.is_set() and stream.listened_since(trio.current_time())
        await client.send_all(b"abc")
        await arrived.wait()

        assert not stream.listened_since(began) and stream.heard == 0
        assert ours.recv(10, socket.MSG_PEEK) == b"abc"
        assert await stream.receive_some(2) == b"ab"


async def test_what_cannot_be_seen_to_arrive_is_taken_a_little_of_and_kept() -> None:
    async with outbox_pair() as (stream, client):
        await client.send_all(b"abc")
        await stream.arrival(2)
        await stream.arrival(2)

        assert stream.heard == 2
        assert await stream.receive_some() == b"ab"
        assert await stream.receive_some() == b"c"


async def test_the_end_is_something_that_arrives() -> None:
    async with socket_pair() as (stream, _, client):
        await client.send_eof()
        await stream.arrival(10)
        assert await stream.receive_some() == b""
    async with outbox_pair() as (stream, over_memory):
        await over_memory.aclose()
        await stream.arrival(10)
        assert await stream.receive_some() == b""


async def test_nothing_arrives_where_the_connection_was_given_up() -> None:
    async with socket_pair() as (stream, _, _client), trio.open_nursery() as nursery:
        nursery.start_soon(_arrival_fails, stream)
        await trio.testing.wait_all_tasks_blocked()
        stream.abort("the client has gone")
        await _arrival_fails(stream)


async def _arrival_fails(stream: OutboxStream) -> None:
    with pytest.raises(trio.ClosedResourceError):
        await stream.arrival(10)


async def test_it_knows_since_when_it_has_been_listening(autojump_clock: MockClock) -> None:
    async with outbox_pair() as (stream, client), trio.open_nursery() as nursery:
        asked_at = trio.current_time()
        assert not stream.listened_since(asked_at)
        nursery.start_soon(stream.receive_some)
        await trio.testing.wait_all_tasks_blocked()
        await trio.sleep(1)
        assert stream.listened_since(asked_at)
        assert not stream.listened_since(asked_at - 1)
        await client.send_all(b"x")
        await trio.testing.wait_all_tasks_blocked()
        assert not stream.listened_since(asked_at)


async def test_many_small_pieces_that_wait_cost_little_more_than_their_bytes() -> None:
    transport = Stuck(takes=0)
    stream = OutboxStream(transport, transport.closed.set, limits=GatewayLimits())
    for _ in range(100_000):
        stream.put(b"0123456789")

    assert stream.pending == 1_000_000
    assert len(stream._waiting) < 100
