"""Who has not authenticated makes room for who may, over real sockets."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from podiumd.gateway.http.exchange import Request, Response
from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.websocket import WebSocket
from tests.gateway.harness import (
    SMALL,
    Apps,
    connect,
    echo,
    get,
    phone,
    read_all,
    served,
    status,
    talk,
    upgrade,
    wait_until,
)
from tests.long import sampled


async def test_of_more_than_sixty_four_strangers_the_oldest_makes_room() -> None:
    async with served() as gateway:
        silent = [await connect(gateway) for _ in range(64)]
        await wait_until(lambda: len(gateway._links) == 64)
        one_more = await connect(gateway)

        assert await read_all(silent[0]) == b""
        await wait_until(lambda: len(gateway._links) == 64)
        for stream in (*silent, one_more):
            await stream.aclose()


@pytest.mark.parametrize("hostile", sampled([upgrade(), b"", b"GET / HTTP/1.1\r\nX: "]))
async def test_idle_strangers_that_come_again_and_again_keep_nobody_out(hostile: bytes) -> None:
    """Silent, in the middle of a head, and as phones that never say their key."""

    async def wait(socket: WebSocket) -> None:
        await socket.receive()

    apps = Apps()
    apps.phone = wait
    async with served(apps) as gateway:
        for _ in range(5):
            for _ in range(70):
                await (await connect(gateway)).send_all(hostile)
            assert status(await talk(gateway, get())) == 200
            assert len(gateway._admission.strangers) <= SMALL.strangers


async def test_a_phone_that_shakes_hands_outlasts_silent_strangers() -> None:
    apps = Apps()

    async def late(socket: WebSocket) -> None:
        await socket.receive()
        await echo(socket)

    apps.phone = late
    async with served(apps) as gateway:
        peer = await phone(gateway)
        for _ in range(200):
            await connect(gateway)

        await peer.send("here is my key")
        assert await peer.ask("still there?") == b"still there?"
        await peer.close()


async def test_phones_that_have_authenticated_make_room_for_others() -> None:
    limits = GatewayLimits(strangers=2, strange_phones_on_loopback=1, close_seconds=0.5)
    async with served(limits=limits) as gateway:
        peers = []
        for _ in range(5):
            peers.append(await phone(gateway))
            assert await peers[-1].ask("hello") == b"hello"

        assert gateway.clients == 5
        for peer in peers:
            await peer.close()
        await wait_until(lambda: gateway.clients == 0)


async def test_strange_phones_are_limited() -> None:
    async def wait(socket: WebSocket) -> None:
        await socket.receive()

    apps = Apps()
    apps.phone = wait
    limits = GatewayLimits(strange_phones_on_loopback=1, linger_seconds=0.05, close_seconds=0.5)
    async with served(apps, limits=limits) as gateway:
        stranger = await phone(gateway)
        another = await phone(gateway)

        assert await stranger.closed() is None, "it was hung up on"
        assert gateway.clients == 1
        await another.close()


async def test_a_request_that_authenticates_is_no_stranger() -> None:
    apps = Apps()
    started = trio.Event()
    finish = trio.Event()

    async def handler(request: Request) -> Response:
        request.authenticated()
        started.set()
        await finish.wait()
        return Response(200, request.peer.encode())

    apps.http = handler
    limits = GatewayLimits(strangers=1, close_seconds=0.5)
    async with served(apps, limits=limits) as gateway, trio.open_nursery() as nursery:
        nursery.start_soon(talk, gateway, get())
        await started.wait()
        stream = await connect(gateway)
        await stream.send_all(get())
        await trio.testing.wait_all_tasks_blocked()
        finish.set()

        assert b"127.0.0.1" in await stream.receive_some(1000)
        await stream.aclose()
