"""An answer that is sent piece by piece: its framing, its back-pressure, and its ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import h11
import pytest
import trio

from podiumd.gateway.http.exchange import (
    KEEPALIVE_SECONDS,
    STREAMED,
    Answer,
    ClientGone,
    EventStream,
    Pieces,
    Problem,
    Request,
    Response,
    open_events,
)
from podiumd.gateway.limits import GatewayLimits
from tests.gateway.harness import SMALL, Apps, connect, read_all, served, wait_until

Handler = Callable[[Request], Awaitable[Answer]]

HEAD = Response(200, content_type="text/event-stream", headers=(("X-Own", "1"),))
ASK = b"POST /s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi"


def apps(handler: Handler) -> Apps:
    async def known(request: Request) -> Answer:
        request.authenticated()
        await request.body(100)
        return await handler(request)

    found = Apps()
    found.http = known
    return found


async def answer(stream: trio.abc.Stream) -> tuple[h11.Response, bytes, bool]:
    """The next answer: head, body, and whether it came to its end in order."""
    peer = h11.Connection(h11.CLIENT)
    peer.send(h11.Request(method="POST", target="/s", headers=[("Host", "a")]))
    peer.send(h11.EndOfMessage())
    head, body = None, bytearray()
    while True:
        await trio.lowlevel.checkpoint()
        try:
            event = peer.next_event()
        except h11.RemoteProtocolError:
            assert head is not None
            return head, bytes(body), False
        if event is h11.NEED_DATA:
            try:
                peer.receive_data(bytes(await stream.receive_some(65_536)))
            except trio.BrokenResourceError:
                peer.receive_data(b"")
        elif isinstance(event, h11.Response):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        else:
            assert head is not None
            return head, bytes(body), True


async def three(request: Request) -> Answer:
    pieces = await request.stream(HEAD)
    for piece in (b"one ", b"two ", b"three"):
        await pieces.send(piece)
    return STREAMED


async def test_pieces_are_chunks_and_the_connection_goes_on() -> None:
    async with served(apps(three)) as gateway:
        stream = await connect(gateway)
        for _ in range(2):
            await stream.send_all(ASK)
            head, body, whole = await answer(stream)
            headers = dict(head.headers)
            assert (head.status_code, body, whole) == (200, b"one two three", True)
            assert headers[b"transfer-encoding"] == b"chunked"
            assert headers[b"content-type"] == b"text/event-stream"
            assert (headers[b"x-own"], headers[b"cache-control"]) == (b"1", b"no-store")
            assert b"content-length" not in headers


async def test_a_piece_arrives_when_it_is_sent() -> None:
    more = trio.Event()

    async def slow(request: Request) -> Answer:
        pieces = await request.stream(HEAD)
        await pieces.send(b"first")
        await more.wait()
        await pieces.send(b"second")
        return STREAMED

    async with served(apps(slow)) as gateway:
        stream = await connect(gateway)
        await stream.send_all(ASK)
        got = b""
        while b"first" not in got:
            got += bytes(await stream.receive_some(65_536))
        more.set()
        while not got.endswith(b"0\r\n\r\n"):
            got += bytes(await stream.receive_some(65_536))
        assert b"second" in got


async def test_a_piece_is_sent_whole_though_its_sender_is_cancelled() -> None:
    """Else what comes after it would speak of what was never told."""

    async def cancelled(request: Request) -> Answer:
        pieces = await request.stream(HEAD)
        with trio.CancelScope() as scope:
            scope.cancel()
            await pieces.send(b"all of it")
        assert scope.cancelled_caught
        return STREAMED

    async with served(apps(cancelled)) as gateway:
        stream = await connect(gateway)
        await stream.send_all(ASK)
        _, body, whole = await answer(stream)
    assert (body, whole) == (b"all of it", True)


async def test_a_client_of_old_gets_pieces_up_to_the_end_of_the_connection() -> None:
    async with served(apps(three)) as gateway:
        stream = await connect(gateway)
        await stream.send_all(ASK.replace(b"HTTP/1.1", b"HTTP/1.0"))
        head, _, body = (await read_all(stream)).partition(b"\r\n\r\n")
        assert body == b"one two three"
        assert b"Connection: close" in head and b"chunked" not in head


async def test_a_client_that_does_not_read_holds_up_whoever_sends() -> None:
    sent = 0

    async def flood(request: Request) -> Answer:
        nonlocal sent
        pieces = await request.stream(HEAD)
        while True:
            await pieces.send(b"x" * 65_536)
            sent += 1

    limits = GatewayLimits(stall_seconds=0.5, close_seconds=0.2)
    async with served(apps(flood), limits=limits) as gateway:
        stream = await connect(gateway)
        await stream.send_all(ASK)
        await wait_until(lambda: bool(gateway._links))
        await wait_until(lambda: not gateway._links or sent > 1000)
        assert 0 < sent < 1000, "what is sent is bounded by what the client takes"


async def test_a_client_that_hangs_up_ends_what_is_told_and_nothing_else() -> None:
    ended = trio.Event()

    async def endless(request: Request) -> Answer:
        pieces = await request.stream(HEAD)
        await pieces.send(b"first")

        async def wait() -> None:
            try:
                await trio.sleep_forever()
            finally:
                ended.set()

        await request.while_connected(wait)
        return STREAMED

    async with served(apps(endless)) as gateway:
        stream = await connect(gateway)
        await stream.send_all(ASK)
        got = b""
        while b"first" not in got:
            got += bytes(await stream.receive_some(65_536))
        await stream.aclose()
        await ended.wait()
        await wait_until(lambda: not gateway._links)


@pytest.mark.parametrize("how", ["problem", "fault", "plain"])
async def test_what_fails_once_a_stream_has_begun_breaks_it_off(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def failing(request: Request) -> Answer:
        pieces = await request.stream(HEAD)
        await pieces.send(b"first")
        if how == "plain":
            return Response(200, b"never sent")
        raise Problem(401) if how == "problem" else ValueError("a secret of ours")

    async with served(apps(failing)) as gateway:
        stream = await connect(gateway)
        await stream.send_all(ASK)
        _, body, whole = await answer(stream)
    assert (body, whole) == (b"first", False)
    assert ("Request failed" in caplog.text) is (how == "fault")


async def test_a_stream_is_told_when_the_gateway_stops_and_ends_in_order() -> None:
    async def until_stop(request: Request) -> Answer:
        pieces = await request.stream(HEAD)
        await pieces.send(b"first ")
        await request.stopping.wait()
        await pieces.send(b"last")
        return STREAMED

    async with served(apps(until_stop)) as gateway:
        stream = await connect(gateway)
        await stream.send_all(ASK)
        await wait_until(lambda: bool(gateway._links))
        first = bytes(await stream.receive_some(65_536))
        gateway.stop()
        rest = await read_all(stream)
        await gateway.wait_closed()
    assert (first + rest).endswith(b"4\r\nlast\r\n0\r\n\r\n")


async def test_a_stream_that_does_not_end_when_the_gateway_stops_is_cut() -> None:
    async def deaf(request: Request) -> Answer:
        pieces = await request.stream(HEAD)
        await pieces.send(b"first")
        await trio.sleep_forever()
        raise AssertionError

    async with served(apps(deaf), limits=SMALL) as gateway:
        stream = await connect(gateway)
        await stream.send_all(ASK)
        first = bytes(await stream.receive_some(65_536))
        gateway.stop()
        rest = await read_all(stream)
        await gateway.wait_closed()
    assert not (first + rest).endswith(b"0\r\n\r\n")


# -- server-sent events ----------------------------------------------------------------------


class Sent(Pieces):
    """Takes what is sent, as long as the client is there."""

    def __init__(self) -> None:
        self.sent: list[tuple[float, bytes]] = []
        self.gone = False

    async def send(self, data: bytes) -> None:
        await trio.lowlevel.checkpoint()
        if self.gone:
            raise ClientGone
        self.sent.append((trio.current_time(), data))


async def test_a_silence_is_broken_by_a_comment(autojump_clock: trio.testing.MockClock) -> None:
    pieces = Sent()
    stream = EventStream(pieces)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.keep_alive)
        began = trio.current_time()
        await trio.sleep(KEEPALIVE_SECONDS - 1)
        await stream.tell([b"data: 1\n\n", b"data: 2\n\n"])
        await stream.tell([])
        await trio.sleep(2 * KEEPALIVE_SECONDS + 1)
        nursery.cancel_scope.cancel()
    assert [(round(at - began), data) for at, data in pieces.sent] == [
        (14, b"data: 1\n\ndata: 2\n\n"),
        (29, b": keep-alive\n\n"),
        (44, b": keep-alive\n\n"),
    ]


async def test_nobody_is_kept_alive_who_has_gone(autojump_clock: trio.testing.MockClock) -> None:
    pieces = Sent()
    pieces.gone = True
    await EventStream(pieces).keep_alive()
    assert pieces.sent == []


async def test_events_begin_with_a_head_that_no_proxy_holds_back() -> None:
    async def events(request: Request) -> Answer:
        stream = await open_events(request)
        await stream.tell([b"data: {}\n\n"])
        return STREAMED

    async with served(apps(events)) as gateway:
        stream = await connect(gateway)
        await stream.send_all(ASK)
        head, body, whole = await answer(stream)
    headers = dict(head.headers)
    assert (body, whole) == (b"data: {}\n\n", True)
    assert headers[b"content-type"] == b"text/event-stream"
    assert headers[b"x-accel-buffering"] == b"no"
