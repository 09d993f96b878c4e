"""Real pages in a real browser: of another site, of a name bound to this machine, of no origin.

Run by ``make browser``; needs Chromium.
"""

from __future__ import annotations

import html
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.browser.chromium import browsing
from tests.browser.relay import Relay, open_relay
from tests.doors.house import House, open_house
from tests.patience import HANG_SECONDS

SCRIPT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A real daemon, one of whose further names is friend.test."""
    async with open_house(tmp_path, 'allowed_hosts = ["friend.test"]\n') as house:
        yield house


@pytest.fixture
async def relay(house: House) -> AsyncIterator[Relay]:
    async with open_relay(house.port) as relay:
        yield relay


def page(house: House, relay: Relay) -> str:
    """The page that tries everything; it even knows the key."""
    script = SCRIPT.replace("__PORT__", str(house.port)).replace("__KEY__", house.key)
    script = script.replace("__REPORT__", f"http://127.0.0.1:{relay.port}/report")
    return f"<!doctype html><body><script>{script}</script>"


async def visit(
    house: House, relay: Relay, url: str, rules: str, *, sandboxed: bool = False
) -> dict[str, Any]:
    """Open the page and return its report."""
    whole = page(house, relay)
    if sandboxed:
        frame = '<!doctype html><iframe sandbox="allow-scripts allow-forms" srcdoc="{}"></iframe>'
        whole = frame.format(html.escape(whole))
    relay.page = whole.encode()
    profile = house.podium.machine.root / "profile"
    with trio.fail_after(HANG_SECONDS):
        async with browsing(profile, url, rules):
            report: dict[str, Any] = await relay.report()
    return report


def nothing_was_let_in(house: House, found: dict[str, str]) -> None:
    """A page may learn that something listens, and no more. What it asks of its own foreign name,
    which the relay hands on, it can read, and that has to be a refusal."""
    assert len(found) >= 20
    for name, what in found.items():
        where, _, tried = name.partition(" ")
        if where == "here" and tried.split()[0] in {"health", "metrics", "prompt"}:
            assert what.startswith("basic 421 "), (name, what)
        elif tried.endswith("blind"):
            assert what in {"opaque 0 ", "failed"}, (name, what)
        else:
            assert what in {"failed", "closed"}, (name, what)
    assert house.podium.logged("Device connected") == []
    assert house.podium.logged("Wrong key") == []


async def no_work(house: House) -> None:
    """No prompt of a page came through."""
    assert (await house.podium.rpc("daemon.status"))["runs_active"] == 0
    metrics = (await house.mine.get("/metrics")).body.decode()
    assert "podium_prompts_active 0" in metrics and "podium_gateway_clients 0" in metrics


async def test_a_page_of_another_site_gets_nothing(house: House, relay: Relay) -> None:
    report = await visit(
        house, relay, f"http://evil.test:{relay.port}/attack", "MAP evil.test 127.0.0.1"
    )
    assert report["origin"] == f"http://evil.test:{relay.port}"
    nothing_was_let_in(house, report["found"])
    assert len(house.podium.logged("Origin refused")) >= 1
    await no_work(house)


async def test_a_page_of_another_port_of_this_machine_gets_nothing(
    house: House, relay: Relay
) -> None:
    report = await visit(house, relay, f"http://localhost:{relay.port}/attack", "")
    assert report["origin"] == f"http://localhost:{relay.port}"
    found = report["found"]
    # A local program that hands requests on under a name of this machine is no page's doing.
    nothing_was_let_in(house, {name: found[name] for name in found if name[:5] != "here "})
    await no_work(house)


async def test_a_page_whose_name_was_bound_to_this_machine_gets_nothing(
    house: House, relay: Relay
) -> None:
    """Its name and port are those that it asks for: to the browser it is the same site."""
    report = await visit(
        house,
        relay,
        f"http://evil.test:{house.port}/attack",
        f"MAP evil.test 127.0.0.1:{relay.port}",
    )
    assert report["origin"] == f"http://evil.test:{house.port}"
    nothing_was_let_in(house, report["found"])
    assert len(house.podium.logged("Host refused")) >= 1
    await no_work(house)


async def test_a_page_without_an_origin_gets_nothing(house: House, relay: Relay) -> None:
    report = await visit(
        house,
        relay,
        f"http://evil.test:{relay.port}/attack",
        "MAP evil.test 127.0.0.1",
        sandboxed=True,
    )
    assert report["origin"] == "null"
    nothing_was_let_in(house, report["found"])
    await no_work(house)


async def test_a_page_of_a_name_that_was_allowed_gets_in_as_far_as_its_key_does(
    house: House, relay: Relay
) -> None:
    """So that the tests above would see it, had anything been let in."""
    report = await visit(
        house,
        relay,
        f"http://friend.test:{house.port}/attack",
        f"MAP friend.test 127.0.0.1:{relay.port}",
    )
    found = report["found"]
    assert found["here health"] == "basic 200 ok\n"
    assert found["here metrics"].startswith("basic 401 ")
    assert found["here metrics with the key"].startswith("basic 200 # HELP podium_")
    assert found["here prompt with the key"].startswith("basic 20")
    assert found["here socket"].startswith('heard {"type":"hello"')
