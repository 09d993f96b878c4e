"""A browser that loads the page keeps its few connections, and no stranger or device pays."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from podiumd.gateway.access.devices import Devices
from podiumd.gateway.limits import GatewayLimits
from tests.gateway.harness import connect, get, read_all, status
from tests.gateway.web.served_page import Served, serving

CONNECTIONS = 6
"""That browsers open to a host at once."""


async def release(served: Served) -> str:
    page = (await served.ask("GET", "/")).body.decode()
    return page.partition("data-release=")[2].partition(">")[0]


async def answer_to(stream: trio.abc.Stream, request: bytes) -> bytes:
    """One answer on a connection that may go on."""
    await stream.send_all(request)
    got = b""
    while b"\r\n\r\n" not in got:
        chunk = await stream.receive_some(65_536)
        assert chunk, got
        got += chunk
    head, _, body = got.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += await stream.receive_some(65_536)
    return head + b"\r\n\r\n" + body


async def test_a_browser_loads_twenty_files_by_six_connections(served: Served) -> None:
    at = await release(served)
    streams = [await connect(served.gateway) for _ in range(CONNECTIONS)]
    for number in range(20):
        for stream in streams:
            answer = await answer_to(stream, get(f"/w/{at}/file{number}.js".encode()))
            assert status(answer) == 200 and answer.endswith(b"// %d\n" % number)
            assert b"connection: close" not in answer.lower()
    assert len(served.gateway._links) == CONNECTIONS


@pytest.mark.parametrize("path", [b"/healthz", b"/metrics", b"/nothing"])
async def test_the_next_request_for_anything_else_ends_it_as_a_stranger_s(
    served: Served, path: bytes
) -> None:
    stream = await connect(served.gateway)
    await answer_to(stream, get(b"/"))
    await stream.send_all(get(path) + get(b"/"))
    answer = await read_all(stream)

    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in answer.lower()


async def test_a_page_s_first_post_is_answered_on_a_connection_that_has_loaded_files(
    served: Served,
) -> None:
    """Else the pairing of each page would begin with a connection that has just ended."""
    stream = await connect(served.gateway)
    await answer_to(stream, get(b"/pair"))
    body = b'{"token": "%s"}' % served.invited().encode()
    head = (
        b"POST /v1/pair HTTP/1.1\r\nHost: %b\r\nOrigin: http://%b\r\nContent-Type: application/json"
        b"\r\nContent-Length: %d\r\n\r\n" % (served.host.encode(), served.host.encode(), len(body))
    )
    assert status(await answer_to(stream, head + body)) == 200


async def test_one_that_asks_for_nothing_more_is_let_go_in_seconds(
    devices: Devices, page_files: Path, mock_clock: MockClock
) -> None:
    limits = GatewayLimits(visit_seconds=5, idle_seconds=60)
    async with serving(devices, page_files, limits=limits) as served:
        stream = await connect(served.gateway)
        await answer_to(stream, get(b"/"))
        await trio.testing.wait_all_tasks_blocked(cushion=0.01)
        mock_clock.jump(limits.visit_seconds)
        assert await read_all(stream) == b""


async def test_visitors_are_bounded_and_cost_neither_strangers_nor_devices_their_place(
    devices: Devices, page_files: Path
) -> None:
    limits = GatewayLimits(strangers=2, visitors=4, close_seconds=0.5)
    async with serving(devices, page_files, limits=limits) as served:
        page = await served.paired()
        device = await served.hello(page.key, page.secret)
        await device.message()
        strangers = [await connect(served.gateway) for _ in range(1)]
        visitors = []
        for _ in range(7):
            visitors.append(await connect(served.gateway))
            await answer_to(visitors[-1], get(b"/"))

        for gone in visitors[:3]:
            assert await read_all(gone) == b""
        for there in visitors[3:]:
            assert status(await answer_to(there, get(b"/"))) == 200
        assert status(await answer_to(strangers[0], get(b"/healthz"))) == 200
        assert [one.connected for one in served.devices.list()] == [True]
