"""The gateway with TLS, and peers that speak it where it is not spoken, or the reverse."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trio

from podiumd.config.settings import GatewaySettings
from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.tls.certificate import make_tls
from podiumd.gateway.websocket import Closed, WebSocket
from tests.gateway.harness import (
    Apps,
    connect,
    get,
    phone,
    read_all,
    served,
    status,
    talk,
    wait_until,
)


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The gateway's context and one of a client that trusts it."""
    directory: Path = tmp_path_factory.mktemp("tls")
    tls = make_tls(GatewaySettings(tls="auto"), directory, (), (), datetime.now(UTC))
    client = ssl.create_default_context()
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    assert tls is not None
    return tls.context, client


async def test_websocket_and_http_work_over_tls(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    ours, theirs = contexts
    async with served(tls=ours) as gateway:
        assert gateway.url.startswith("wss://")
        peer = await phone(gateway, theirs)
        text = "x" * (2 << 20)
        assert await peer.ask(text) == text.encode()
        closed = await peer.close()
        assert closed is not None and closed.code == 1000
        stream = await connect(gateway, theirs)
        await stream.send_all(get(b"/", b"Connection: close"))
        assert status(await read_all(stream)) == 200


async def test_plain_http_on_a_tls_port_ends_cleanly(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext], caplog: pytest.LogCaptureFixture
) -> None:
    async with served(tls=contexts[0]) as gateway:
        await talk(gateway, get())
        await wait_until(lambda: not gateway._links)

    told = [record.podium for record in caplog.records]  # type: ignore[attr-defined]
    assert [fields["reason"] for fields in told] == ["HTTP_REQUEST"]
    assert "wss://" in told[0]["advice"]


async def test_a_tls_handshake_on_a_plain_port_ends_cleanly(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext], caplog: pytest.LogCaptureFixture
) -> None:
    async with served() as gateway:
        stream = await connect(gateway, contexts[1])
        with pytest.raises(trio.BrokenResourceError):
            await stream.send_all(b"x")
        await stream.aclose()
        assert status(await talk(gateway, get())) == 200

    assert "Connection closed" in caplog.text
    assert "Connection failed" not in caplog.text


async def test_a_slow_tls_handshake_is_cut_off(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    async with served(tls=contexts[0], limits=GatewayLimits(tls_seconds=0.05)) as gateway:
        stream = await connect(gateway)
        await stream.send_all(b"\x16\x03")

        assert await read_all(stream) == b""
        await stream.aclose()


async def test_a_client_that_never_reads_over_tls_is_dropped(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext], caplog: pytest.LogCaptureFixture
) -> None:
    over = trio.Event()

    async def flood(socket: WebSocket) -> None:
        socket.authenticated()
        for _ in range(400):
            socket.send(b"x" * 100_000)
            await trio.lowlevel.checkpoint()
        with pytest.raises(Closed):
            await socket.receive()
        over.set()

    apps = Apps()
    apps.phone = flood
    async with served(apps, tls=contexts[0]) as gateway:
        await phone(gateway, contexts[1])
        await over.wait()
        await wait_until(lambda: gateway.clients == 0)

    assert "does not read" in str([record.podium for record in caplog.records])  # type: ignore[attr-defined]


async def test_a_full_house_says_so_over_http_and_hangs_up_on_tls(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext], caplog: pytest.LogCaptureFixture
) -> None:
    limits = GatewayLimits(connections=0)
    async with served(limits=limits) as gateway:
        stream = await connect(gateway)
        assert status(await read_all(stream)) == 503
    async with served(limits=limits, tls=contexts[0]) as gateway:
        stream = await connect(gateway)
        assert await read_all(stream) == b""

    assert caplog.text.count("Connection refused") == 2
