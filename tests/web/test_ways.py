"""The ways to the page: through a proxy that speaks HTTPS, and over plain HTTP by another name."""

from __future__ import annotations

import json
from pathlib import Path

from tests.doors.house import open_house
from tests.web.chromium import browsing
from tests.web.pages import invited, page_device
from tests.web.proxy import open_proxy

NAMES = "MAP *.example.org 127.0.0.1, MAP *.test 127.0.0.1"
SOCKET = """new Promise((done) => {
  const socket = new WebSocket(location.origin.replace("http", "ws") + "/rpc", "podium.rpc.1");
  socket.onopen = () => done("open");
  socket.onerror = () => done("refused");
})"""
UNTRUSTED = "--ignore-certificate-errors"


async def test_a_page_behind_a_proxy_is_paired_and_live_and_one_of_another_origin_is_not(
    tmp_path: Path,
) -> None:
    async with open_proxy(tmp_path / "tls") as proxy:
        origin = f"https://podium.example.org:{proxy.port}"
        settings = f'allowed_hosts = ["*.example.org"]\norigins = ["{origin}"]\n'
        async with (
            open_house(tmp_path, settings) as house,
            browsing(tmp_path / "profile", NAMES, UNTRUSTED) as chromium,
        ):
            proxy.to = house.port
            tab = await chromium.tab()
            url = (await invited(house))["url"]
            assert url.startswith(f"{origin}/pair#")
            await tab.go(url)
            await tab.shows("live")
            (cookie,) = await tab.cookies()
            assert cookie.name == f"__Host-podium-{house.port}" and cookie.http_only
            assert await tab.run("isSecureContext")
            assert await tab.run("!document.body.innerText.includes('plain HTTP')")

            other = await chromium.tab()
            await other.go(f"https://other.example.org:{proxy.port}/pair")
            body = json.dumps({"token": (await invited(house))["code"]})
            sent = {"method": "POST", "headers": {"Content-Type": "application/json"}, "body": body}
            asked = f"fetch('/v1/pair', {json.dumps(sent)}).then((answer) => answer.status)"
            assert await other.run(asked) == 403
            assert await other.run(SOCKET) == "refused"
            assert (await page_device(house))["device"] == "browser"
            assert house.podium.logged("Origin refused")


async def test_over_plain_http_by_another_name_the_page_says_what_it_lacks(tmp_path: Path) -> None:
    settings = 'allowed_hosts = ["podium.test"]\n'
    async with (
        open_house(tmp_path, settings) as house,
        browsing(tmp_path / "profile", NAMES) as chromium,
    ):
        tab = await chromium.tab()
        token = (await invited(house))["url"].partition("#")[2]
        await tab.go(f"http://podium.test:{house.port}/pair#{token}")
        await tab.shows("live")
        await tab.shows("This page came over plain HTTP")

        here = await chromium.tab()
        await here.go(f"http://localhost:{house.port}/")
        await here.shows("Pair this browser")
        assert await here.run("!document.body.innerText.includes('plain HTTP')")
