"""Nobody answers a question for the person: a stolen cookie, another port, a foreign page, a page
without the right. Each is tried with a real browser."""

from __future__ import annotations

import json
from pathlib import Path

from tests.doors.house import House
from tests.web.chromium import Chromium
from tests.web.neighbour import call, open_neighbour, says
from tests.web.pages import pair, paired
from tests.web.tab import Browser, Tab

HELLO = "client.hello"
TRIES = Path(__file__).with_name("tries.js")


async def tries(tab: Tab, house: House, host: str = "127.0.0.1") -> dict[str, str]:
    """What a page at another address gets out of the gateway."""
    script = TRIES.read_text(encoding="utf-8").replace("__HERE__", f"{host}:{house.port}")
    found: dict[str, str] = json.loads(await tab.run(script))
    return found


def nothing(found: dict[str, str]) -> None:
    assert found.pop("frame") in ("null", "undefined", "", "shut")
    assert found.pop("socket") == "refused"
    assert set(found.values()) <= {"failed", "opaque"}, found


async def test_a_server_on_another_port_is_handed_the_cookie_and_gets_in_nowhere(
    house: House, browser: Browser
) -> None:
    tab = await paired(house, browser)
    async with open_neighbour() as neighbour:
        await tab.go(f"http://127.0.0.1:{neighbour.port}/")
        cookie = await neighbour.visited()
        assert f"podium-{house.port}=" in cookie  # so there is something to steal
        key = cookie.partition("=")[2]
        origin = f"http://127.0.0.1:{house.port}"
        answer = call("questions.answer", question_id="q", answer="yes")
        hello = call(HELLO, secret=key)
        for opened in (
            await says(house.port, [call(HELLO)], Origin=origin, Cookie=cookie),
            await says(house.port, [hello], Origin=origin, Cookie=cookie),
            await says(house.port, [answer], Origin=origin, Cookie=cookie),
        ):
            assert [one["error"]["code"] for one in opened] == [-32006], opened
        assert await says(house.port, [hello], Cookie=cookie) == 403  # a program has no Origin
        assert await says(house.port, [hello], Origin="null", Cookie=cookie) == 403
        for header in (f"Bearer {key}", f"Cookie {cookie}"):
            refused = await house.mine.ask("GET", "/metrics", authorization=header)
            assert refused.status == 401
        nothing(await tries(tab, house))
        nothing(await tries(tab, house, "localhost"))
    assert len(house.podium.logged("Page connected")) == 1


async def test_a_page_of_another_port_finds_none_of_the_secrets(
    house: House, browser: Browser
) -> None:
    tab = await paired(house, browser)
    assert await tab.run("localStorage.getItem('podium.secret')")
    assert await tab.run("document.cookie") == ""
    async with open_neighbour() as neighbour:
        await tab.go(f"http://127.0.0.1:{neighbour.port}/")
        await neighbour.visited()
        assert await tab.run("localStorage.length") == 0
        assert await tab.run("document.cookie") == ""


async def test_the_secret_without_the_cookie_opens_nothing(house: House, browser: Browser) -> None:
    tab = await paired(house, browser)
    secret = await tab.run("localStorage.getItem('podium.secret')")
    origin = f"http://127.0.0.1:{house.port}"
    (refused,) = await says(house.port, [call(HELLO, secret=secret)], Origin=origin)
    assert refused["error"]["code"] == -32006


async def test_a_page_answers_with_both_and_only_as_far_as_its_scope_goes(
    house: House, browser: Browser
) -> None:
    tab = await paired(house, browser, "look")
    (cookie,) = await tab.cookies()
    assert cookie.http_only and cookie.same_site == "strict"
    secret = await tab.run("localStorage.getItem('podium.secret')")
    hello, greeted = call(HELLO, secret=secret), f"{cookie.name}={cookie.value}"
    answer = call("questions.answer", question_id="q", answer="yes")
    origin = f"http://127.0.0.1:{house.port}"
    first, second = await says(house.port, [hello, answer], Origin=origin, Cookie=greeted)
    assert first["result"]["device"] == "browser"
    assert second["error"]["code"] == -32009 and second["error"]["data"] == {"scope": "answer"}


async def test_wrong_keys_shut_an_address_out_of_the_page_s_door_too(house: House) -> None:
    origin = f"http://127.0.0.1:{house.port}"
    cookie = f"podium-{house.port}=wrong"
    for _ in range(5):
        (refused,) = await says(house.port, [call(HELLO, secret="x")], Origin=origin, Cookie=cookie)
        assert refused["error"]["code"] == -32006
    assert await says(house.port, [call(HELLO, secret="x")], Origin=origin, Cookie=cookie) == 429


async def test_the_page_asks_nothing_of_anybody_else_and_breaks_no_rule_of_its_policy(
    house: House, chromium: Chromium
) -> None:
    tab = await chromium.tab()
    await pair(house, tab)
    here = f"//127.0.0.1:{house.port}/"
    assert tab.requests and all(here in url for url in tab.requests), tab.requests
    assert tab.said == []
    forbidden = "document.body.innerHTML = '<b>x</b>'"
    assert (
        await tab.run(f"(() => {{ try {{ {forbidden} }} catch (e) {{ return e.name }} }})()")
        == "TypeError"
    )
    assert any("TrustedHTML" in said for said in tab.said)
