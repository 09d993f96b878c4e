"""A gateway with its routes on a real port, its daemon and agent in the test's own process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.gateway.routes.station import Station, open_station
from tests.runtime.fixtures import databases, machine
from tests.runtime.harness import Machine

__all__ = ["databases", "machine"]


@pytest.fixture
async def station(machine: Machine, tmp_path: Path) -> AsyncIterator[Station]:
    """The gateway; a device ``mine`` is paired."""
    home = tmp_path / "home"
    home.mkdir()
    async with open_station(machine, home) as station:
        yield station
