"""A page is paired, let in, shown out: a real daemon and real browsers."""

from __future__ import annotations

from tests.doors.house import House
from tests.web.pages import invited, page_device, paired
from tests.web.tab import Browser


async def test_the_link_pairs_a_page_at_once_and_its_token_is_in_no_address(
    house: House, browser: Browser
) -> None:
    tab = await paired(house, browser)
    assert await tab.run("location.href") == f"http://127.0.0.1:{house.port}/"
    assert await tab.run("history.length") <= 2
    row = await page_device(house)
    assert (row["device"], row["scope"], row["connected"]) == ("browser", "work", True)
    assert tab.said == []


async def test_a_typed_code_pairs_a_page_under_the_name_that_it_is_given(
    house: House, browser: Browser
) -> None:
    code = (await invited(house))["code"]
    tab = await browser.tab()
    await tab.go(f"http://127.0.0.1:{house.port}/")
    await tab.shows("Pair this browser")
    await tab.type("code", code.lower())
    await tab.type("name", "kitchen")
    await tab.click("Pair")
    await tab.shows("kitchen, scope work")


async def test_a_link_is_good_once(house: House, browser: Browser) -> None:
    url = (await invited(house))["url"]
    first = await browser.tab()
    await first.go(url)
    await first.shows("live")
    other = await browser.tab(await browser.another_person())
    await other.go(url)
    await other.shows("no longer good")
    assert (await page_device(house))["device"] == "browser"


async def test_a_name_that_is_taken_is_refused_and_the_code_stays_good(
    house: House, browser: Browser
) -> None:
    code = (await invited(house))["code"]
    tab = await browser.tab()
    await tab.go(f"http://127.0.0.1:{house.port}/pair")
    await tab.type("code", code)
    await tab.type("name", "mine")  # the phone of the house
    await tab.click("Pair")
    await tab.shows("is paired already")
    await tab.run("document.querySelector('[name=name]').select()")
    await tab.type("name", "yours")
    await tab.click("Pair")
    await tab.shows("yours, scope work")


async def test_a_page_that_is_loaded_again_is_let_in_again(house: House, browser: Browser) -> None:
    tab = await paired(house, browser)
    await tab.go(f"http://127.0.0.1:{house.port}/")
    await tab.shows("browser, scope work")


async def test_a_revoked_page_is_shown_out_at_once_and_stays_out(
    house: House, browser: Browser
) -> None:
    tab = await paired(house, browser)
    await house.podium.rpc("gateway.revoke", device="browser")
    await tab.shows("not paired")
    await tab.go(f"http://127.0.0.1:{house.port}/")
    await tab.shows("not paired")


async def test_a_page_is_given_another_scope_and_has_it_without_a_reload(
    house: House, browser: Browser
) -> None:
    tab = await paired(house, browser)
    await house.podium.rpc("gateway.scope", device="browser", scope="look")
    await tab.shows("browser, scope look")


async def test_a_page_unpairs_itself(house: House, browser: Browser) -> None:
    tab = await paired(house, browser)
    await tab.click("Unpair this browser")
    await tab.click("Press again to unpair")
    await tab.shows("Pair this browser")
    assert await page_device(house) is None
    assert await tab.run("localStorage.length") == 0
    assert await tab.cookies() == []


async def test_a_page_comes_back_by_itself_when_the_daemon_was_killed(
    house: House, browser: Browser
) -> None:
    port = house.port
    await house.podium.stop()
    config = house.podium.machine.podium_home / "config.toml"
    config.write_text(config.read_text().replace("port = 0", f"port = {port}"))
    await house.podium.start()
    tab = await paired(house, browser)
    await house.podium.kill9()
    await tab.shows("reconnecting")
    await house.podium.start()
    await tab.shows("live")
    assert (await page_device(house))["connected"]
