"""Who is let in over real sockets: Host and Origin before anything else."""

from __future__ import annotations

import pytest

from podiumd.gateway.http.exchange import Request, Response
from tests.gateway.harness import (
    Apps,
    get,
    served,
    status,
    talk,
    upgrade,
)


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
