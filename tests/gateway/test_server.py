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
from tests.long import sampled
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


# -- Who has not authenticated makes room for who may, over real sockets --


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


# -- Who is let in over real sockets: Host and Origin before anything else --


@pytest.mark.parametrize(
    "host", [b"evil.com", b"localhost.evil.com", b"evil.ts.net.attacker.io", b"user@localhost", b""]
)
@pytest.mark.parametrize("make", [get, upgrade])
async def test_a_foreign_host_is_refused_and_the_log_names_the_remedy(
    make: object, host: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with served() as gateway:
        assert callable(make)
        answer = await talk(gateway, make(host=host))

    assert status(answer) == 421
    assert b"127.0.0.1" not in answer
    told = [record.podium for record in caplog.records]  # type: ignore[attr-defined]
    assert [fields["host"] for fields in told] == [host.decode()]
    assert "add it to [gateway] allowed_hosts" in told[0]["advice"]


async def test_an_absolute_target_cannot_smuggle_a_host_past_the_guard() -> None:
    async with served() as gateway:
        assert status(await talk(gateway, get(b"http://evil.com/"))) == 421
        assert status(await talk(gateway, get(b"http://localhost/", host=b"evil.com"))) == 421
        assert status(await talk(gateway, get(b"http://localhost/"))) == 200


async def test_allowed_hosts_and_own_names_are_served() -> None:
    async with served(names=("tower",), allowed_hosts=("*.example.com",)) as gateway:
        for host in (b"tower", b"a.example.com", b"127.0.0.1", b"x.local", b"x.ts.net"):
            assert status(await talk(gateway, get(host=host))) == 200
        assert status(await talk(gateway, get(host=b"example.com"))) == 421


async def test_a_host_that_is_no_international_name_does_not_break_the_handshake() -> None:
    async with served() as gateway:
        answer = await talk(gateway, upgrade(host=b"xn--99999999.local"))

    assert status(answer) == 101


@pytest.mark.parametrize("origin", [b"http://evil.com", b"null", b"https://localhost", b"file://"])
@pytest.mark.parametrize("path", [b"/upload", b"websocket"])
async def test_a_foreign_origin_is_refused(
    path: bytes, origin: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    header = b"Origin: " + origin
    async with served() as gateway:
        raw = upgrade(header) if path == b"websocket" else get(path, header)
        answer = await talk(gateway, raw)

    assert status(answer) == 403
    assert "Origin refused" in caplog.text


async def test_the_gateways_own_origin_is_let_in() -> None:
    async with served() as gateway:
        own = b"localhost:%d" % gateway.port
        answer = await talk(gateway, upgrade(b"Origin: http://" + own, host=own))

    assert status(answer) == 101


async def test_every_request_of_a_connection_is_judged() -> None:
    async with served() as gateway:
        answer = await talk(gateway, get() + get(host=b"evil.com") + get())

    assert answer.count(b"HTTP/1.1 200") == 1
    assert answer.count(b"HTTP/1.1 421") == 1
    assert answer.count(b"HTTP/1.1 ") == 2


async def test_a_strangers_connection_carries_one_answer_and_a_known_ones_more() -> None:
    """Strangers that come for nothing and stay would shut the others out."""
    apps = Apps()

    async def answer(request: Request) -> Response:
        if request.path == "/known":
            request.authenticated()
        return Response(200, request.path.encode())

    apps.http = answer
    async with served(apps) as gateway:
        strange = await talk(gateway, get(b"/healthz") + get(b"/healthz"))
        known = await talk(gateway, get(b"/known") + get(b"/healthz"))

    assert strange.count(b"HTTP/1.1 200") == 1 and b"Connection: close" in strange
    assert known.count(b"HTTP/1.1 200") == 2 and b"Connection: close" not in known
