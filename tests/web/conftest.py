"""A daemon with a page, and browsers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.doors.house import House, open_house
from tests.web import chromium as of_chromium
from tests.web import firefox, webkit
from tests.web.chromium import Chromium
from tests.web.tab import Browser

ENGINES: dict[str, Callable[[Path], AbstractAsyncContextManager[Browser]]] = {
    "chromium": of_chromium.browsing,
    "firefox": firefox.browsing,
    "webkit": webkit.browsing,
}


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path) as house:
        yield house


@pytest.fixture(params=ENGINES)
async def browser(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Browser]:
    """A browser of each engine."""
    async with ENGINES[request.param](tmp_path / "profile") as browser:
        yield browser


@pytest.fixture
async def chromium(tmp_path: Path) -> AsyncIterator[Chromium]:
    """The one whose requests and console are told whole."""
    async with of_chromium.browsing(tmp_path / "profile") as browser:
        yield browser
