"""What the tests of connected phones share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.gateway.phone.phone_server import PhoneServer, open_phone_server
from tests.runtime.fixtures import databases, gated, machine, one
from tests.runtime.harness import Machine

__all__ = ["databases", "gated", "machine", "one"]


@pytest.fixture
async def server(machine: Machine, tmp_path: Path) -> AsyncIterator[PhoneServer]:
    """A daemon with a gateway, its sockets left out."""
    home = tmp_path / "home"
    home.mkdir()
    async with open_phone_server(machine, home) as server:
        yield server
