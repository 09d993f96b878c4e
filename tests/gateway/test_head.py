"""A request head is read within bounds, whatever comes."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from podiumd.gateway.http.head import BadHead, Head, NotHttp, check_upgrade, parse_head, read_head
from tests.gateway.harness import outbox_pair

LIMIT = 16 * 1024
GET = b"GET /a%20b?x=1&y=&x=2 HTTP/1.1\r\nHost: localhost\r\nX-One: 1\r\nx-one: 2\r\n\r\n"
BOTH_LENGTHS = (
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
)
KEY = "dGhlIHNhbXBsZSBub25jZQ=="


async def read(*pieces: bytes, end: bool = True) -> Head | None:
    """What is made of pieces that arrive one after the other."""
    async with outbox_pair() as (stream, client), trio.open_nursery() as nursery:

        async def send() -> None:
            for piece in pieces:
                await client.send_all(piece)
                await trio.testing.wait_all_tasks_blocked()
            if end:
                await client.aclose()

        nursery.start_soon(send)
        try:
            found: Head | BadHead | NotHttp | None = await read_head(stream, LIMIT)
        except (BadHead, NotHttp) as error:
            found = error
        nursery.cancel_scope.cancel()
    if isinstance(found, BadHead | NotHttp):
        raise found  # out of the nursery, so not in a group
    return found


async def test_a_head_is_read_and_what_follows_is_left() -> None:
    async with outbox_pair() as (stream, client):
        await client.send_all(GET + b"and more")
        head = await read_head(stream, LIMIT)

        assert head is not None
        assert (head.method, head.path, head.query) == ("GET", "/a b", {"x": "2", "y": ""})
        assert head.headers["x-one"] == "1, 2"
        assert head.hosts == ("localhost",)
        assert await stream.receive_some() == b"and more"


async def test_a_head_that_comes_byte_by_byte_is_the_same() -> None:
    head = await read(*(bytes([byte]) for byte in GET))

    assert head is not None and head.path == "/a b"


async def test_a_head_cut_anywhere_is_the_same() -> None:
    for cut in range(1, len(GET)):
        head = await read(GET[:cut], GET[cut:])

        assert head is not None and head.headers["x-one"] == "1, 2", cut


async def test_blank_lines_before_a_request_are_passed_over() -> None:
    head = await read(b"\r\n", b"\n\r\n" + GET)

    assert head is not None and head.path == "/a b"


async def test_a_client_that_ends_before_a_head_asks_nothing() -> None:
    assert await read() is None
    assert await read(b"\r\n") is None


async def test_an_absolute_target_names_a_host_of_its_own() -> None:
    head = await read(b"GET http://evil.com/p?q=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")

    assert head is not None
    assert head.hosts == ("localhost", "evil.com")
    assert (head.path, head.query) == ("/p", {"q": "1"})


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nOrigin: a\r\nOrigin: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX\x00: b\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /?a=%ff HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /?" + b"&".join([b"a=1"] * 101) + b" HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (BOTH_LENGTHS, 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"\x00\x01\x02\x03\n\n", 400),
        (b'{"type":"connect"}\r\n\r\n', 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 65536 + b"\r\n\r\n", 431),
        (b"G" * 65536, 431),
        (b"\r\n" * 65536, 431),
    ],
)
async def test_a_bad_head_is_named(raw: bytes, status: int) -> None:
    with pytest.raises(BadHead) as refused:
        await read(raw)

    assert refused.value.status == status
    assert refused.value.detail


@pytest.mark.parametrize("raw", [b"GET /healthz\r\n\r\n", b"GET / HTTP/1.1\r\nb'x\r\n\r\n"])
async def test_a_bad_head_is_named_without_its_bytes(raw: bytes) -> None:
    with pytest.raises(BadHead) as refused:
        await read(raw)

    assert refused.value.detail.startswith("Malformed request: illegal ")
    assert refused.value.detail.endswith(" line.")


async def test_a_tls_handshake_is_not_answered() -> None:
    with pytest.raises(NotHttp):
        await read(b"\x16", b"\x03\x01", end=False)


@given(st.binary(max_size=200))
def test_garbage_is_a_head_or_a_refusal_and_nothing_else(garbage: bytes) -> None:
    try:
        head = trio.run(read, garbage)
    except (BadHead, NotHttp):
        return
    assert head is None or head.method


@given(st.binary(min_size=1, max_size=40), st.integers(0, len(GET)))
def test_a_spoiled_head_is_a_head_or_a_refusal(spoil: bytes, at: int) -> None:
    raw = (GET[:at] + spoil + GET[at:]).replace(b"\n\n", b"").replace(b"\n\r\n", b"") + b"\r\n\r\n"
    try:
        parse_head(raw)
    except BadHead:
        pass


def upgrade(**changed: str | None) -> bytes:
    headers: dict[str, str | None] = {
        "Host": "localhost",
        "Upgrade": "websocket",
        "Connection": "keep-alive, Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": KEY,
    }
    headers |= {name.replace("_", "-"): value for name, value in changed.items()}
    lines = [f"{name}: {value}\r\n" for name, value in headers.items() if value is not None]
    return ("GET /ws HTTP/1.1\r\n" + "".join(lines) + "\r\n").encode()


def test_the_key_of_an_upgrade_is_found() -> None:
    head = parse_head(upgrade(Upgrade="WebSocket"))

    assert head.wants_websocket
    assert check_upgrade(head) == KEY


def test_other_upgrades_are_no_websocket() -> None:
    assert not parse_head(upgrade(Upgrade="h2c")).wants_websocket
    assert not parse_head(GET).wants_websocket


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (upgrade().replace(b"GET", b"POST"), 400),
        (upgrade().replace(b"HTTP/1.1", b"HTTP/1.0"), 400),
        (upgrade(Connection="keep-alive"), 400),
        (upgrade(Connection=None), 400),
        (upgrade(Sec_WebSocket_Version=None), 426),
        (upgrade(Sec_WebSocket_Version="8"), 426),
        (upgrade(Sec_WebSocket_Key=None), 400),
        (upgrade(Sec_WebSocket_Key="c2hvcnQ="), 400),
        (upgrade(Sec_WebSocket_Key="!" * 24), 400),
        (upgrade(Sec_WebSocket_Key=f"{KEY}\r\nSec-WebSocket-Key: {KEY}"), 400),
        (upgrade(Content_Length="5"), 400),
        (upgrade(Transfer_Encoding="chunked"), 400),
    ],
)
def test_a_bad_upgrade_is_named(raw: bytes, status: int) -> None:
    with pytest.raises(BadHead) as refused:
        check_upgrade(parse_head(raw))

    assert refused.value.status == status


def test_an_upgrade_may_say_that_it_has_no_body() -> None:
    assert check_upgrade(parse_head(upgrade(Content_Length="0"))) == KEY


def test_a_version_that_is_not_spoken_is_answered_with_the_one_that_is() -> None:
    with pytest.raises(BadHead) as refused:
        check_upgrade(parse_head(upgrade(Sec_WebSocket_Version="12")))

    assert refused.value.headers == (("Sec-WebSocket-Version", "13"),)
