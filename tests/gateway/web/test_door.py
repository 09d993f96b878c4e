"""The door of pages: who is let in, by both of a key and a secret, and who is shown out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podiumd.gateway.access.devices import Devices
from tests.gateway.harness import Peer
from tests.gateway.web.served_page import Served, serving, turned_away


async def let_in(peer: Peer) -> list[str]:
    found: list[str] = json.loads(await peer.message())
    return found


# -- the handshake --


async def test_a_page_of_our_own_shakes_hands_by_the_subprotocol(served: Served) -> None:
    peer = await served.dial()
    assert peer.protocol.subprotocol == "podium.rpc.1"


@pytest.mark.parametrize("offered", ["", "podium.rpc.2", "PODIUM.RPC.1", "chat"])
async def test_without_the_subprotocol_nothing_is_opened(served: Served, offered: str) -> None:
    assert await served.refused(offered=offered) == 400


@pytest.mark.parametrize(
    "origin",
    ["", "null", "http://localhost", "http://localhost:1", "https://localhost:{port}", "evil"],
)
async def test_a_page_of_another_origin_or_of_none_shakes_no_hands(
    served: Served, origin: str
) -> None:
    page = await served.paired()
    cookie = served.cookie(page.key)
    port = str(served.gateway.port)
    assert await served.refused(origin=origin.replace("{port}", port), cookie=cookie) == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", "anything"])
async def test_what_a_browser_says_comes_from_another_site_is_refused(
    served: Served, site: str
) -> None:
    assert await served.refused(sec_fetch_site=site) == 403
    await served.dial(sec_fetch_site="same-origin")


async def test_what_a_phone_says_first_opens_no_page(served: Served) -> None:
    peer = await served.dial()
    await peer.send('{"type": "connect"}')
    code, words = await turned_away(peer)
    assert (code, words) == (-32006, "The first message has to be client.hello.")


# -- hello --


@pytest.mark.parametrize("scope", ["look", "answer", "work", "all"])
async def test_a_page_is_let_in_by_both_with_its_name_and_scope(served: Served, scope: str) -> None:
    page = await served.paired(scope)  # type: ignore[arg-type]
    peer = await served.hello(page.key, page.secret)

    assert await let_in(peer) == [7, "browser", scope]
    assert [one.connected for one in served.devices.list()] == [True]


async def test_neither_opens_anything_without_the_other(served: Served) -> None:
    page, other = await served.paired(), await served.paired()
    _, phone = await served.devices.pair("phone")
    for key, secret in [
        (page.key, ""),
        (page.key, page.key),
        (page.key, other.secret),
        ("", page.secret),
        (page.secret, page.key),
        (page.device.key_sha256, page.device.secret_sha256),
        (phone, ""),
        (phone, phone),
        (phone, page.secret),
    ]:
        assert (await turned_away(await served.hello(key, secret)))[0] == -32006
        await let_in(await served.hello(page.key, page.secret))  # the address is believed again
    assert {device for device, _ in served.inside} == {"browser"}


async def test_a_page_s_key_is_no_key_of_a_phone(served: Served, devices: Devices) -> None:
    page = await served.paired("all")
    for key in (page.key, page.secret):
        assert devices.check(key) is None
        answer = await served.post("/v1/prompt", {}, authorization=f"Bearer {key}")
        assert answer.status == 401


@pytest.mark.parametrize(
    "first",
    [
        '{"jsonrpc": "2.0", "id": 1, "method": "daemon.status"}',
        '[{"jsonrpc": "2.0", "id": 1, "method": "client.hello", "params": {}}]',
        '{"method": "client.hello", "params": {"secret": 1}}',
        "",
        "{",
        "[" * 10_000,
    ],
)
async def test_what_does_not_begin_with_hello_is_shown_out(served: Served, first: str) -> None:
    page = await served.paired()
    peer = await served.dial(cookie=served.cookie(page.key))
    await peer.send(first)

    assert (await turned_away(peer))[0] == -32006
    assert served.inside == []


async def test_five_wrong_ones_shut_an_address_out(served: Served) -> None:
    page = await served.paired()
    early = await served.dial(cookie=served.cookie(page.key))
    for _ in range(5):
        await turned_away(await served.hello(page.key, "wrong"))

    assert await served.refused(cookie=served.cookie(page.key)) == 429
    await early.send(json.dumps({"method": "client.hello", "params": {"secret": page.secret}}))
    closed = await early.closed()
    assert closed is not None and closed.code == 1013
    assert served.inside == []


async def test_the_cookie_of_https_is_none_of_plain_http_and_the_reverse(
    devices: Devices, page_files: Path
) -> None:
    origin = "https://podium.example.org"
    async with serving(devices, page_files, origins=(origin,)) as served:
        page = await served.paired()
        for secure, headers in ((True, {"origin": origin}), (False, {})):
            peer = await served.hello(page.key, page.secret, secure, **headers)
            assert await let_in(peer) == [7, "browser", "work"]
            await turned_away(await served.hello(page.key, page.secret, not secure, **headers))


# -- shown out --


async def test_a_revoked_page_is_cut_off_at_once_and_others_stay(served: Served) -> None:
    page, other = await served.paired(), await served.paired()
    first, second = [await served.hello(one.key, one.secret) for one in (page, other)]
    for peer in (first, second):
        await let_in(peer)
    await served.devices.revoke("browser")

    closed = await first.closed()
    assert closed is not None and closed.code == 1008
    await turned_away(await served.hello(page.key, page.secret))
    assert [one.connected for one in served.devices.list()] == [True]


async def test_another_scope_ends_the_connection_and_holds_for_the_next(served: Served) -> None:
    page = await served.paired()
    peer = await served.hello(page.key, page.secret)
    await let_in(peer)
    await served.devices.rescope("browser", "look")

    closed = await peer.closed()
    assert closed is not None and closed.code == 1008
    assert await let_in(await served.hello(page.key, page.secret)) == [7, "browser", "look"]
