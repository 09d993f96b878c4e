"""Handlers that wait for long, and clients that do not."""

from __future__ import annotations

import pytest
import trio

from podiumd.gateway.http.exchange import Body, Request
from podiumd.gateway.http.head import read_head
from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.outbox import OutboxStream
from tests.gateway.harness import outbox_pair

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
