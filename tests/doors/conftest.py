"""What the tests at the gateway's doors share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.doors.house import House, open_house


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A real daemon with a gateway on a free port."""
    async with open_house(tmp_path) as house:
        yield house
