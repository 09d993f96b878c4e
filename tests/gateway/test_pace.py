"""Clients that send a byte now and then hold no place for ever."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from podiumd.gateway.http.exchange import Body, Problem, Request
from podiumd.gateway.http.head import read_head
from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.pace import Pace
from podiumd.gateway.websocket import Closed, WebSocket
from tests.gateway.harness import outbox_pair, wait_until
from tests.gateway.served_phone import KIB, LIMITS, served


async def test_a_pause_is_bounded_and_so_is_the_whole(autojump_clock: MockClock) -> None:
    pace = Pace(GatewayLimits(body_stall_seconds=30, body_bytes_per_second=10))
    with pace.waiting():
        await trio.sleep(29)
    assert not pace.too_slow
    pace.arrived(100)
    with pace.waiting():
        await trio.sleep(10.9)
    assert not pace.too_slow
    with pace.waiting():
        await trio.sleep_forever()
    assert pace.too_slow and trio.current_time() == pytest.approx(40, abs=0.2)


async def test_what_we_do_between_two_waits_is_not_the_clients(autojump_clock: MockClock) -> None:
    pace = Pace(GatewayLimits())
    for _ in range(3):
        with pace.waiting():
            await trio.sleep(1)
        await trio.sleep(1000)
    assert not pace.too_slow


async def test_a_body_that_trickles_is_given_up(autojump_clock: MockClock) -> None:
    limits = GatewayLimits()
    async with outbox_pair(limits) as (stream, client), trio.open_nursery() as nursery:

        async def trickle() -> None:
            await client.send_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
            while True:
                await client.send_all(b"x")
                await trio.sleep(limits.body_stall_seconds - 5)

        nursery.start_soon(trickle)
        head = await read_head(stream, 16_384)
        assert head is not None
        started = trio.current_time()
        request = Request(head, Body(stream, head, limits), "10.0.0.1")
        with pytest.raises(Problem) as caught:
            await request.body(1_000_000)
        nursery.cancel_scope.cancel()

    assert caught.value.status == 408
    assert trio.current_time() - started < limits.body_stall_seconds + 1


async def test_a_large_message_that_trickles_gives_its_place_back(
    autojump_clock: MockClock,
) -> None:
    large = trio.Semaphore(1)
    ended = trio.Event()

    async def handler(socket: WebSocket) -> None:
        socket.authenticated()
        socket.allow(1024 * KIB)
        socket.send(b"go on")
        with pytest.raises(Closed):
            await socket.receive()
        ended.set()

    async with served(handler, large=large) as phone, trio.open_nursery() as nursery:
        await phone.peer.message()
        await phone.client.send_all(b"\x81\xff" + (1024 * KIB).to_bytes(8, "big") + b"mask")
        await wait_until(lambda: large.value == 0)
        started = trio.current_time()

        async def trickle() -> None:
            while True:
                await phone.client.send_all(b"x")
                await trio.sleep(15)  # sooner than the keepalive would find it silent

        nursery.start_soon(trickle)
        await ended.wait()
        assert trio.current_time() - started < LIMITS.body_stall_seconds + 1
        nursery.cancel_scope.cancel()
        await phone.over.wait()

    assert large.value == 1
