"""What the tests of connected phones share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.gateway.phone.office import Office, open_office
from tests.runtime.fixtures import databases, gated, machine, one
from tests.runtime.harness import Machine

__all__ = ["databases", "gated", "machine", "one"]


@pytest.fixture
async def office(machine: Machine, tmp_path: Path) -> AsyncIterator[Office]:
    """A daemon with a gateway, its sockets left out."""
    home = tmp_path / "home"
    home.mkdir()
    async with open_office(machine, home) as office:
        yield office
