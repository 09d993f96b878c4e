"""Browsers' ways in: names that are not ours, and pages of other sites. Raw, and with the key."""

from __future__ import annotations

import pytest
import trio

from tests.doors.house import House
from tests.patience import HANG_SECONDS

NONCE = "dGhlIHNhbXBsZSBub25jZQ=="

FOREIGN_HOSTS = [
    "evil.test",
    "evil.test:{port}",
    "EVIL.TEST",
    "localhost.evil.test",
    "127.0.0.1.evil.test:{port}",
    "evil.test.",
    "127.0.0.1.nip.io",
    "evil.local.test",
    "evillocalhost",
    "xn--localhost-",
    "8.8.8.8",
    "192.0.2.1:{port}",
    "[2001:db8::1]",
    "[::ffff:8.8.8.8]",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "localhost:{port}@evil.test",
    "evil.test#localhost",
    "localhost/evil.test",
    "localhost evil.test",
    "localhost:99999",
    "localhost, evil.test",
    "",
]
FOREIGN_ORIGINS = [
    "null",
    "http://evil.test",
    "http://evil.test:{port}",
    "https://evil.test:{port}",
    "http://localhost",
    "http://localhost:1",
    "https://localhost:{port}",
    "http://localhost:{port}.evil.test",
    "http://localhost.evil.test:{port}",
    "http://evil.test#@localhost:{port}",
    "http://evil@localhost:{port}",
    "http://127.0.0.1:{port}",
    "http://localhost:{port}/",
    "http://localhost:{port} http://evil.test",
    "file://",
    "chrome-extension://abcdefghijklmnop",
    "ws://localhost:{port}",
    "localhost:{port}",
    "",
]


async def answer(house: House, head: str) -> bytes:
    """What raw bytes get, up to the end or the first frame of a WebSocket."""
    with trio.fail_after(HANG_SECONDS):
        async with await trio.open_tcp_stream("127.0.0.1", house.port) as stream:
            await stream.send_all(head.encode("latin-1"))
            got = bytearray()
            while b"\r\n\r\n" not in got:
                chunk = await stream.receive_some(65_536)
                if not chunk:
                    break
                got += chunk
            return bytes(got)


def heads(house: House, *lines: str) -> list[str]:
    """A request for each door, with the right key and these lines."""
    more = "".join(f"{line}\r\n" for line in lines).replace("{port}", str(house.port))
    key = f"Authorization: Bearer {house.key}\r\n"
    text = '{"text": "Count this", "agent": "scripted", "working_directory": "/"}'
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    about = f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n"
    run = '{"threadId": "t", "runId": "r", "messages": []}'
    about_run = f"Content-Type: application/json\r\nContent-Length: {len(run)}\r\n"
    return [
        f"GET / HTTP/1.1\r\n{more}{upgrade}Sec-WebSocket-Key: {NONCE}\r\n\r\n",
        f"GET /metrics HTTP/1.1\r\n{more}{key}\r\n",
        f"GET /healthz HTTP/1.1\r\n{more}\r\n",
        f"POST /v1/prompt HTTP/1.1\r\n{more}{key}{about}\r\n{text}",
        f"POST /agui HTTP/1.1\r\n{more}{key}{about_run}\r\n{run}",
        f"OPTIONS /agui HTTP/1.1\r\n{more}Access-Control-Request-Method: POST\r\n\r\n",
        f"OPTIONS /v1/prompt HTTP/1.1\r\n{more}Access-Control-Request-Method: POST\r\n\r\n",
    ]


def refused(got: bytes, *statuses: int) -> None:
    """It is one of these refusals, and gives no page leave to read it."""
    assert got.startswith(b"HTTP/1.1 ") and int(got[9:12]) in statuses, got
    assert b"access-control" not in got.lower() and b"podium_" not in got


async def test_a_foreign_host_gets_nothing_at_any_door(house: House) -> None:
    for host in FOREIGN_HOSTS:
        for head in heads(house, f"Host: {host}"):
            refused(await answer(house, head), 400, 421)
    assert house.podium.logged("Device connected") == []


async def test_a_foreign_origin_gets_nothing_at_any_door(house: House) -> None:
    """Also that of another name of this machine: only the page's own gateway is its own."""
    for origin in FOREIGN_ORIGINS:
        for head in heads(house, "Host: localhost:{port}", f"Origin: {origin}"):
            refused(await answer(house, head), 400, 403)
    assert house.podium.logged("Device connected") == []


@pytest.mark.parametrize(
    ("lines", "statuses"),
    [
        ((), (400,)),
        (("Host: localhost", "Host: evil.test"), (400,)),
        (("Host: evil.test", "X-Forwarded-Host: localhost"), (421,)),
        (("Host: evil.test", "Forwarded: host=localhost"), (421,)),
        (("Host: localhost", "Origin: http://localhost:{port}", "Origin: null"), (400,)),
        (("Host: evil.test", "Origin: http://evil.test:{port}"), (421,)),
        (("Host: evil.test:{port}", "Origin: http://evil.test:{port}"), (421,)),
    ],
)
async def test_two_hosts_no_host_and_what_proxies_add_do_not_help(
    house: House, lines: tuple[str, ...], statuses: tuple[int, ...]
) -> None:
    for head in heads(house, *lines):
        refused(await answer(house, head), *statuses)


async def test_an_address_in_the_request_line_does_not_stand_for_the_host(house: House) -> None:
    for line, host in (
        ("http://evil.test/metrics", "localhost"),
        ("http://localhost/", "evil.test"),
    ):
        refused(await answer(house, f"GET {line} HTTP/1.1\r\nHost: {host}\r\n\r\n"), 421)


@pytest.mark.parametrize("host", ["localhost", "localhost:{port}", "127.0.0.1:{port}", "[::1]"])
async def test_the_gateways_own_names_are_let_through_to_the_next_door(
    house: House, host: str
) -> None:
    """So that the tests above are refused for what they test."""
    statuses = [(await answer(house, head))[9:12] for head in heads(house, f"Host: {host}")[:3]]
    assert statuses == [b"101", b"200", b"200"]


async def test_a_page_of_the_gateways_own_is_let_through_to_the_next_door(house: House) -> None:
    own = heads(house, "Host: localhost:{port}", "Origin: http://localhost:{port}")
    statuses = [(await answer(house, head))[9:12] for head in own[:3]]
    assert statuses == [b"101", b"200", b"200"]
