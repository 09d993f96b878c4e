"""Pages as a person gets to them."""

from __future__ import annotations

from typing import Any

from tests.doors.house import House
from tests.web.tab import Browser, Tab


async def invited(house: House, scope: str = "work") -> Any:
    return await house.podium.rpc("gateway.pair", kind="web", scope=scope)


async def paired(house: House, browser: Browser, scope: str = "work") -> Tab:
    """A page that was paired by its link, and is live."""
    tab = await browser.tab()
    await pair(house, tab, scope)
    return tab


async def pair(house: House, tab: Tab, scope: str = "work") -> None:
    """Pair a page by a link."""
    await tab.go((await invited(house, scope))["url"])
    await tab.until("document.querySelector('#device')")
    await tab.shows("live")


async def page_device(house: House) -> Any:
    """The one device that is a page, ``None``: there is none."""
    rows = [one for one in await house.podium.rpc("gateway.devices") if one["kind"] == "web"]
    assert len(rows) <= 1
    return rows[0] if rows else None
