"""The whole gateway over real sockets."""

from __future__ import annotations

import socket
import struct

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from podiumd.gateway.http.exchange import Request, Response
from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.server import GatewayOptions, serve_gateway
from podiumd.gateway.websocket import WebSocket, text_frame
from tests.gateway.harness import (
    KEY,
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
from tests.patience import HANG_SECONDS


async def test_one_port_serves_websocket_on_any_path_and_http() -> None:
    """P-1.2."""
    async with served() as gateway:
        for path in (b"/", b"/ws", b"/any/thing?x=1"):
            answer = await talk(gateway, upgrade(path=path))
            assert answer.startswith(b"HTTP/1.1 101 ")
            assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in answer  # RFC 6455, section 1.3
        assert b'{"path":"/x"}' in await talk(gateway, get(b"/x"))


async def test_a_message_of_two_mebibytes_comes_back() -> None:
    async with served() as gateway:
        peer = await phone(gateway)
        text = "x" * (2 << 20)

        assert await peer.ask(text) == text.encode()
        closed = await peer.close()
        assert closed is not None and closed.code == 1000


async def test_a_handshake_split_at_every_byte_is_the_same() -> None:
    async with served() as gateway:
        stream = await connect(gateway)
        for byte in upgrade() + b"\x81\x82\x00\x00\x00\x00hi":
            await stream.send_all(bytes([byte]))
        received = b""
        while b"\x81\x02hi" not in received:
            received += await stream.receive_some(1000)

        assert received.startswith(b"HTTP/1.1 101 ")
        await stream.aclose()


async def test_a_websocket_may_be_opened_after_a_request() -> None:
    async with served() as gateway:
        answer = await talk(gateway, get() + upgrade())

    assert answer.count(b"HTTP/1.1 200") == 1
    assert answer.count(b"HTTP/1.1 101") == 1


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"\x00\xff" * 100, 400),
        (b"hello\r\n\r\n", 400),
        (get(b"/", b"X: " + b"x" * 65536), 431),
        (upgrade().replace(b"13", b"12"), 426),
        (upgrade().replace(KEY, b"short"), 400),
    ],
)
async def test_garbage_is_answered_and_the_gateway_serves_on(raw: bytes, expected: int) -> None:
    async with served() as gateway:
        answer = await talk(gateway, raw)
        assert status(answer) == expected
        assert b"application/problem+json" in answer
        assert status(await talk(gateway, get())) == 200


async def test_a_slow_head_is_cut_off() -> None:
    limits = GatewayLimits(head_seconds=0.05, linger_seconds=0.05)
    async with served(limits=limits) as gateway:
        stream = await connect(gateway)
        await stream.send_all(b"GET / HT")

        assert status(await read_all(stream)) == 408
        await stream.aclose()


async def test_an_idle_connection_is_ended_without_a_word() -> None:
    limits = GatewayLimits(idle_seconds=0.05)
    async with served(limits=limits) as gateway:
        stream = await connect(gateway)
        await stream.send_all(get())
        answer = await read_all(stream)

        assert answer.count(b"HTTP/1.1 ") == 1 and b"Connection: close" not in answer
        await stream.aclose()


async def test_a_half_open_phone_is_told_from_one_that_is_there(mock_clock: MockClock) -> None:
    """Of two silent phones, the one whose system does not answer pings is dropped."""
    limits = GatewayLimits(ping_seconds=30, pong_seconds=20)
    async with served(limits=limits) as gateway:
        dead, alive = await phone(gateway), await phone(gateway)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(alive.closed)
            for seconds in (limits.ping_seconds, limits.pong_seconds):
                await trio.testing.wait_all_tasks_blocked(cushion=0.01)
                mock_clock.jump(seconds)
            await wait_until(lambda: gateway.clients == 1)

            assert await dead.closed() is None
            nursery.cancel_scope.cancel()


async def test_a_client_that_never_reads_holds_up_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """P-1.20."""
    sockets: list[WebSocket] = []

    async def listen(socket: WebSocket) -> None:
        socket.authenticated()
        sockets.append(socket)
        await socket.receive()

    apps = Apps()
    apps.phone = listen
    async with served(apps) as gateway:
        readers = [await phone(gateway) for _ in range(3)]
        deaf = await phone(gateway)
        await wait_until(lambda: len(sockets) == 4)
        frame = text_frame(b"x" * 200_000)
        for _ in range(100):
            for one in sockets:
                one.send_frame(frame)
            for reader in readers:
                assert await reader.message() == b"x" * 200_000
        await wait_until(lambda: gateway.clients == 3)

        await deaf.stream.aclose()
    told = [record.podium for record in caplog.records]  # type: ignore[attr-defined]
    assert {"peer": "127.0.0.1", "reason": "the client does not read what it is sent"} in told


async def test_a_fault_in_one_handler_ends_that_connection_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handler(socket: WebSocket) -> None:
        socket.authenticated()
        if await socket.receive() == "fail":
            raise RuntimeError("the secret is 42")
        await echo(socket)

    apps = Apps()
    apps.phone = handler
    async with served(apps) as gateway:
        good, bad = await phone(gateway), await phone(gateway)
        await good.send("stay")
        await bad.send("fail")
        closed = await bad.closed()

        assert closed is not None and (closed.code, closed.reason) == (1011, "")
        assert await good.ask("still there?") == b"still there?"
    assert "Connection failed" in caplog.text


async def test_a_connection_that_went_before_it_was_accepted_is_passed_over() -> None:
    async with served() as gateway, trio.open_nursery() as nursery:
        stale = socket.socket()
        gateway._take(nursery, stale)

        assert stale.fileno() == -1
        assert status(await talk(gateway, get())) == 200


async def test_a_client_that_resets_its_connection_is_no_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    apps = Apps()
    started = trio.Event()

    async def handler(request: Request) -> Response:
        started.set()
        return Response(200, await request.body(1000))

    apps.http = handler
    async with served(apps) as gateway:
        stream = await trio.open_tcp_stream("127.0.0.1", gateway.port)
        await stream.send_all(get().replace(b"GET", b"POST")[:-2] + b"Content-Length: 9\r\n\r\n")
        await started.wait()
        linger = struct.pack("ii", 1, 0)
        stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        await stream.aclose()
        await wait_until(lambda: not gateway._links)

    assert "failed" not in caplog.text


async def test_an_address_that_is_shut_out_opens_no_websocket() -> None:
    apps = Apps()
    apps.delays["127.0.0.1"] = 2.5
    async with served(apps) as gateway:
        answer = await talk(gateway, upgrade())

        assert status(answer) == 429
        assert b"retry-after: 3" in answer.lower()
        assert status(await talk(gateway, get())) == 200


async def test_stopping_says_goodbye_and_lets_requests_finish() -> None:
    apps = Apps()
    started = trio.Event()
    finish = trio.Event()

    async def handler(request: Request) -> Response:
        started.set()
        await finish.wait()
        return Response(200, b"finished")

    apps.http = handler
    answers = []
    async with served(apps) as gateway, trio.open_nursery() as nursery:
        peer = await phone(gateway)
        idle = await connect(gateway)

        async def ask() -> None:
            answers.append(await talk(gateway, get()))

        nursery.start_soon(ask)
        await started.wait()
        await wait_until(lambda: gateway.clients == 1 and len(gateway._links) == 3)
        gateway.stop()
        closed = await peer.closed()
        assert closed is not None and closed.code == 1001
        assert await read_all(idle) == b""
        finish.set()
        await gateway.wait_closed()

    assert answers[0].endswith(b"finished") and b"Connection: close" in answers[0]
    await idle.aclose()


async def test_stopping_does_not_wait_for_those_who_never_end_and_tells_them_to_come_again() -> (
    None
):
    apps = Apps()
    answers = []
    started = trio.Event()

    async def forever(request: Request) -> Response:
        started.set()
        await trio.sleep_forever()
        raise AssertionError

    apps.http = forever

    async def ask() -> None:
        answers.append(await talk(gateway, get()))

    limits = GatewayLimits(drain_seconds=0.05, close_seconds=0.05)
    async with served(apps, limits=limits) as gateway:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await started.wait()
            gateway.stop()
        await gateway.wait_closed()

    assert status(answers[0]) == 503
    assert b"Retry-After: 5\r\n" in answers[0] and b"Connection: close" in answers[0]


async def test_ready_made_sockets_are_used_and_stay_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        async with served(sockets=[sock], host="localhost", port=1) as gateway:
            assert gateway.port == sock.getsockname()[1]
            assert gateway.url == f"ws://localhost:{gateway.port}"
            peer = await phone(gateway)
            assert await peer.ask("hello") == b"hello"
            await peer.close()
        assert sock.fileno() >= 0


async def test_own_sockets_are_closed_when_it_has_stopped() -> None:
    async with served() as gateway:
        gateway.stop()
        await gateway.wait_closed()
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(OSError, match="all attempts"):
            await trio.open_tcp_stream("127.0.0.1", gateway.port)


async def test_the_url_of_an_ipv6_address_has_brackets() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        async with served(sockets=[sock], host="::1") as gateway:
            assert gateway.url == f"ws://[::1]:{gateway.port}"


async def test_cancelling_the_gateway_ends_everything_at_once() -> None:
    apps = Apps()
    async with trio.open_nursery() as nursery:
        options = GatewayOptions(port=0, limits=SMALL)
        gateway = await nursery.start(serve_gateway, options, apps.serve, apps.handle, apps)
        peer = await phone(gateway)
        nursery.cancel_scope.cancel()

    with trio.fail_after(HANG_SECONDS):
        closed = await peer.closed()
    assert closed is not None and closed.code == 1001
