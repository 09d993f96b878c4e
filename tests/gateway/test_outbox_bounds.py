"""What a client may make the gateway keep for it is bounded, in the kernel as well."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from trio.testing import wait_all_tasks_blocked

from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.outbox import OutboxStream
from tests.patience import HANG_SECONDS

LIMITS = GatewayLimits(room_bytes=100_000, close_seconds=0.1)
PIECE = b"x" * 50_000
LARGEST_UNSENT = 256 * 1024


@asynccontextmanager
async def tcp_pair() -> AsyncIterator[tuple[OutboxStream, trio.SocketStream]]:
    """An outbox on a TCP connection, and the end of a client whose kernel takes little."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        theirs = socket.socket()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        theirs.connect(listener.getsockname())
        ours, _ = listener.accept()
    ours.setblocking(False)
    raw = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
    client = trio.SocketStream(trio.socket.from_stdlib_socket(theirs))
    stream = OutboxStream(raw, raw.socket.close, ours, LIMITS)
    with trio.fail_after(HANG_SECONDS):
        async with client, trio.open_nursery() as nursery:
            nursery.start_soon(stream.run)
            yield stream, client
            await stream.aclose()
            nursery.cancel_scope.cancel()


async def fill(stream: OutboxStream) -> int:
    """Put pieces until the kernel takes no more and there is no room; returns the bytes put."""
    put = 0
    while stream.pending < LIMITS.room_bytes:
        stream.put(PIECE)
        put += len(PIECE)
        await wait_all_tasks_blocked()
    return put


async def test_the_kernel_does_not_hide_that_a_client_does_not_read() -> None:
    """By itself it takes megabytes for such a client, though not at once."""
    async with tcp_pair() as (stream, _client):
        assert stream._direct is not None
        unsent = stream._direct.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT)

        assert 0 < unsent <= LARGEST_UNSENT


async def test_a_client_that_lets_its_answers_wait_is_not_listened_to_until_it_reads() -> None:
    async with tcp_pair() as (stream, client):
        put = await fill(stream)
        await client.send_all(b"more!")
        heard: list[bytes] = []

        async def listen() -> None:
            heard.append(bytes(await stream.receive_some()))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            await wait_all_tasks_blocked()
            assert heard == []
            taken = 0
            while taken < put:
                taken += len(await client.receive_some())

        assert heard == [b"more!"]


async def test_a_client_that_is_given_up_is_waited_for_no_longer() -> None:
    async with tcp_pair() as (stream, _client):
        await fill(stream)
        ended = trio.Event()

        async def listen() -> None:
            try:
                await stream.receive_some()
            except trio.ClosedResourceError:
                ended.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            await wait_all_tasks_blocked()
            stream.abort("enough")
            await ended.wait()
