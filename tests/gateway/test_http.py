"""One exchange after the other, with bodies of every kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import h11
import msgspec
import pytest
import trio
from trio.testing import MockClock

from podiumd.gateway.http.exchange import (
    Body,
    ClientGone,
    Problem,
    Request,
    Response,
    TooLarge,
    exchange,
)
from podiumd.gateway.http.head import read_head
from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.outbox import OutboxStream
from tests.gateway.harness import outbox_pair, read_all

LIMITS = GatewayLimits(drain_bytes=100, close_seconds=1, linger_seconds=0.1)
Handler = Callable[[Request], Awaitable[Response]]


def answers(data: bytes, *methods: str) -> list[tuple[int, dict[str, str], bytes]]:
    """The responses in ``data``, read by a client that sent requests with these methods."""
    found = []
    client = h11.Connection(h11.CLIENT)
    client.receive_data(data)
    for method in methods:
        client.send(h11.Request(method=method, target="/", headers=[("Host", "a")]))
        client.send(h11.EndOfMessage())
        body = b""
        status, headers = 0, {}
        while not isinstance(event := client.next_event(), h11.EndOfMessage):
            assert event is not h11.NEED_DATA, data
            if isinstance(event, h11.Response):
                status = event.status_code
                headers = {name.decode(): value.decode() for name, value in event.headers}
            elif isinstance(event, h11.Data):
                body += event.data
        found.append((status, headers, bytes(body)))
        if client.our_state is not h11.DONE or client.their_state is not h11.DONE:
            break
        client.start_next_cycle()
    return found


async def serve(
    handler: Handler, *pieces: bytes, going_on: bool = True, limits: GatewayLimits = LIMITS
) -> bytes:
    """All that is answered when these pieces arrive, each when everybody waits for it."""
    answered = b""
    gone: ClientGone | None = None
    async with outbox_pair(limits) as (stream, client), trio.open_nursery() as nursery:

        async def send() -> None:
            for piece in pieces:
                await trio.testing.wait_all_tasks_blocked()
                await client.send_all(piece)
            await client.send_eof()  # type: ignore[attr-defined]

        async def receive() -> None:
            nonlocal answered
            answered = await read_all(client)

        nursery.start_soon(send)
        nursery.start_soon(receive)
        try:
            while (head := await read_head(stream, 16_384)) is not None:
                body = Body(stream, head, limits)
                request = Request(head, body, "10.0.0.1")
                if not await exchange(stream, request, body, head, handler, lambda: going_on):
                    break
        except ClientGone as error:
            gone = error
        await stream.aclose()
    if gone is not None:
        raise gone  # out of the nursery, so not in a group
    return answered


def post(body: bytes = b"", *headers: bytes, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    lines = b"".join(header + b"\r\n" for header in headers)
    return b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%b\r\n%b" % (size, lines, body)


def chunked(*chunks: bytes) -> bytes:
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return b"POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body


async def size_of_body(request: Request) -> Response:
    return Response(200, b"%d" % len(await request.body(1_000_000)), "text/plain")


async def ignore_body(request: Request) -> Response:
    return Response(200, b"ignored")


async def test_requests_on_one_connection_are_answered_in_order() -> None:
    answered = await serve(size_of_body, post(b"abc") + post(b"") + chunked(b"12345", b"6", b""))

    assert [body for *_, body in answers(answered, *["POST"] * 3)] == [b"3", b"0", b"6"]


async def test_a_pipelined_request_waits_for_the_answer_to_the_one_before() -> None:
    running = 0
    most = 0

    async def slow(request: Request) -> Response:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.testing.wait_all_tasks_blocked()
        running -= 1
        return Response(200, request.path.encode())

    get = b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n"
    answered = await serve(slow, b"".join(get % number for number in range(5)))

    assert [body for *_, body in answers(answered, *["GET"] * 5)] == [
        b"/%d" % number for number in range(5)
    ]
    assert most == 1


async def test_a_body_cut_at_every_byte_is_the_same() -> None:
    pieces = [bytes([byte]) for byte in chunked(b"hello", b"world", b"")]
    answered = await serve(size_of_body, *pieces)

    assert answers(answered, "POST")[0][2] == b"10"


async def test_the_headers_of_an_answer() -> None:
    async def handler(request: Request) -> Response:
        return Response(201, b"{}", headers=(("X-Own", "1"),))

    status, headers, body = answers(await serve(handler, post()), "POST")[0]

    assert (status, body) == (201, b"{}")
    assert headers["content-type"] == "application/json"
    assert headers["content-length"] == "2"
    assert headers["x-own"] == "1"
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["date"].endswith(" GMT")
    assert not {"server", "connection"} & headers.keys()


async def test_the_answer_to_head_has_the_length_and_no_body() -> None:
    answered = await serve(ignore_body, b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" + post())

    assert [
        (headers["content-length"], body) for _, headers, body in answers(answered, "HEAD", "POST")
    ] == [
        ("7", b""),
        ("7", b"ignored"),
    ]


async def test_an_answer_without_content_has_no_length() -> None:
    async def handler(request: Request) -> Response:
        return Response(204)

    status, headers, _ = answers(await serve(handler, post()), "POST")[0]

    assert status == 204 and "content-length" not in headers and "content-type" not in headers


@pytest.mark.parametrize(
    "asked",
    [
        b"GET / HTTP/1.0\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    ],
)
async def test_a_client_that_wants_one_answer_gets_one(asked: bytes) -> None:
    answered = await serve(ignore_body, asked + post())

    assert answered.count(b"HTTP/1.1 ") == 1
    assert b"Connection: close" in answered


async def test_a_gateway_that_stops_says_so() -> None:
    answered = await serve(ignore_body, post() + post(), going_on=False)

    assert answered.count(b"HTTP/1.1 ") == 1
    assert b"Connection: close" in answered


async def test_an_upgrade_that_is_not_offered_is_answered_as_usual() -> None:
    upgrade = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    answered = await serve(ignore_body, upgrade + post())

    assert answered.count(b"HTTP/1.1 200") == 2


async def test_a_body_is_asked_for_when_it_is_wanted() -> None:
    answered = await serve(size_of_body, post(b"", b"Expect: 100-continue", length=3), b"abc")

    assert answered.startswith(b"HTTP/1.1 100 ")
    assert answered.count(b"HTTP/1.1 200") == 1


async def test_a_body_that_is_not_wanted_is_not_asked_for() -> None:
    answered = await serve(ignore_body, post(b"", b"Expect: 100-continue", length=3))

    assert b"HTTP/1.1 100" not in answered
    assert b"Connection: close" in answered


async def limited(request: Request) -> Response:
    return Response(200, await request.body(10))


async def test_a_body_declared_too_large_is_refused_before_it_is_read() -> None:
    answered = await serve(limited, post(b"", b"Expect: 100-continue", length=11))
    status, headers, body = answers(answered, "POST")[0]

    assert status == 413
    assert headers["content-type"] == "application/problem+json"
    assert msgspec.json.decode(body)["detail"] == "The body is larger than 10 bytes."
    assert b"HTTP/1.1 100" not in answered


async def test_a_chunked_body_is_refused_once_it_is_too_large() -> None:
    answered = await serve(limited, chunked(b"12345", b"67890", b"1", b""))

    assert answered.startswith(b"HTTP/1.1 413 ")


async def test_a_small_body_nobody_read_does_not_end_the_connection() -> None:
    answered = await serve(ignore_body, post(b"x" * 100) + chunked(b"y" * 100, b"") + post())

    assert answered.count(b"HTTP/1.1 200") == 3


async def test_a_large_body_nobody_read_ends_it() -> None:
    answered = await serve(ignore_body, post(b"x" * 101) + post())

    assert answered.count(b"HTTP/1.1 ") == 1
    assert b"Connection: close" in answered


async def test_a_large_chunked_body_nobody_read_ends_it() -> None:
    answered = await serve(ignore_body, chunked(b"x" * 101, b"") + post())

    assert answered.count(b"HTTP/1.1 ") == 1


async def test_a_malformed_body_is_named() -> None:
    answered = await serve(size_of_body, chunked() + b"zz\r\n")
    status, headers, body = answers(answered, "POST")[0]

    assert (status, headers["connection"]) == (400, "close")
    assert msgspec.json.decode(body)["title"] == "Bad Request"


async def test_a_body_that_stalls_is_not_waited_for(autojump_clock: MockClock) -> None:
    async with outbox_pair(LIMITS) as (stream, client), trio.open_nursery() as nursery:
        answered = []

        async def receive() -> None:
            answered.append(await read_all(client))

        nursery.start_soon(receive)
        await client.send_all(post(b"ab", length=3))
        head = await read_head(stream, 16_384)
        assert head is not None
        started = trio.current_time()
        body = Body(stream, head, LIMITS)
        request = Request(head, body, "10.0.0.1")
        assert not await exchange(stream, request, body, head, size_of_body, lambda: True)
        assert trio.current_time() - started == pytest.approx(LIMITS.body_stall_seconds)
        await stream.aclose()

    assert answers(answered[0], "POST")[0][0] == 408


async def test_a_client_that_leaves_within_its_body_gets_no_answer() -> None:
    with pytest.raises(ClientGone):
        await serve(size_of_body, post(b"ab", length=3))


async def test_a_body_is_read_once() -> None:
    async def twice(request: Request) -> Response:
        first = await request.body(10)
        return Response(200, first + b"|" + await request.body(10))

    assert answers(await serve(twice, post(b"abc")), "POST")[0][2] == b"abc|"


async def test_a_problem_is_answered_as_one() -> None:
    async def handler(request: Request) -> Response:
        raise Problem(429, "Slow down", "Later.", (("Retry-After", "7"),), wait=7)

    status, headers, body = answers(await serve(handler, post()), "POST")[0]

    assert (status, headers["retry-after"]) == (429, "7")
    assert msgspec.json.decode(body) == {
        "type": "about:blank",
        "title": "Slow down",
        "status": 429,
        "detail": "Later.",
        "wait": 7,
    }


async def test_a_fault_of_the_handler_is_logged_and_answered_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handler(request: Request) -> Response:
        raise RuntimeError("the secret is 42")

    answered = await serve(handler, post() + post())
    found = answers(answered, "POST", "POST")

    assert [status for status, *_ in found] == [500, 500]
    assert b"secret" not in answered
    assert len({msgspec.json.decode(body)["fault"] for *_, body in found}) == 2
    told = [record.podium["fault"] for record in caplog.records if record.msg == "%s"]  # type: ignore[attr-defined]
    assert told == [msgspec.json.decode(body)["fault"] for *_, body in found]


@pytest.mark.parametrize(
    "response",
    [
        Response(200, headers=(("X-Split", "a\r\nSet-Cookie: b"),)),
        Response(200, headers=(("X Bad", "a"),)),
        Response(799),
    ],
)
async def test_a_malformed_response_is_a_fault_of_ours(
    response: Response, caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(request: Request) -> Response:
        return response

    answered = await serve(handler, post())

    assert answered.startswith(b"HTTP/1.1 500 ")
    assert b"Set-Cookie" not in answered
    assert "Response is malformed" in caplog.text


def test_too_large_is_a_problem_with_413() -> None:
    assert TooLarge(5).response().status == 413


# -- Handlers that wait for long, and clients that do not --


GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


async def begun(stream: OutboxStream, client: trio.abc.Stream, *, read: bool = True) -> Request:
    """A request that has arrived; its body is read."""
    await client.send_all(GET)
    head = await read_head(stream, 16_384)
    assert head is not None
    request = Request(head, Body(stream, head, GatewayLimits()), "10.0.0.1")
    if read:
        assert await request.body(0) == b""
    return request


async def wait_for_ever(request: Request, over: trio.Event) -> None:
    await request.while_connected(trio.sleep_forever)
    over.set()


@pytest.mark.parametrize("how", ["the whole connection", "its half of it"])
async def test_the_wait_ends_when_the_client_ends(how: str) -> None:
    async with outbox_pair() as (stream, client), trio.open_nursery() as nursery:
        request, over = await begun(stream, client), trio.Event()
        nursery.start_soon(wait_for_ever, request, over)
        await trio.testing.wait_all_tasks_blocked()
        assert not over.is_set()
        if how == "the whole connection":
            await client.aclose()
        else:
            await client.send_eof()  # type: ignore[attr-defined]
        await over.wait()


async def test_it_ends_when_the_connection_is_broken() -> None:
    async with outbox_pair() as (stream, client), trio.open_nursery() as nursery:
        request, over = await begun(stream, client), trio.Event()
        nursery.start_soon(wait_for_ever, request, over)
        await trio.testing.wait_all_tasks_blocked()
        stream.abort("the client has gone")
        await over.wait()


async def test_what_is_waited_for_comes_back_as_it_is_and_the_client_may_go_on() -> None:
    async with outbox_pair() as (stream, client):
        request = await begun(stream, client)
        await request.while_connected(trio.lowlevel.checkpoint)
        with pytest.raises(LookupError):
            await request.while_connected(fail)
        await client.send_all(GET)
        assert await read_head(stream, 16_384) is not None


async def fail() -> None:
    raise LookupError


async def test_what_a_client_sends_ahead_is_kept_and_little_of_it_read() -> None:
    ahead = bytes(range(256)) * 40
    async with outbox_pair() as (stream, client), trio.open_nursery() as nursery:
        request = await begun(stream, client)
        nursery.start_soon(client.send_all, ahead)
        await request.while_connected(trio.testing.wait_all_tasks_blocked)
        assert stream.heard == len(GET) + 4096
        received = b""
        while len(received) < len(ahead):
            received += await stream.receive_some()
        assert received == ahead


async def test_before_the_body_was_read_nothing_is_taken_from_it() -> None:
    async with outbox_pair() as (stream, client):
        request = await begun(stream, client, read=False)
        await client.send_all(b"body")
        await request.while_connected(trio.testing.wait_all_tasks_blocked)
        assert stream.heard == len(GET)
