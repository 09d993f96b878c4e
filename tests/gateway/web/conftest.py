"""A gateway with a page, on a real port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podiumd.gateway.access.devices import Devices
from tests.gateway.web.served_page import Served, serving


@pytest.fixture
async def page_files(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text("<html data-release={{release}}>{{modules}}")
    for number in range(20):
        (tmp_path / f"file{number}.js").write_text(f"// {number}\n")
    return tmp_path


@pytest.fixture
async def served(devices: Devices, page_files: Path) -> AsyncIterator[Served]:
    async with serving(devices, page_files) as served:
        yield served
