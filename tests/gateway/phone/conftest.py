"""What the tests of connected phones share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.gateway.phone.office import Office, open_office
from tests.runtime.harness import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with an agent that does what the test says, and no daemon yet."""
    return Machine(tmp_path)


@pytest.fixture
def one(machine: Machine) -> str:
    """A recipe of one step."""
    return machine.one_step()


@pytest.fixture
def gated(machine: Machine) -> str:
    """A recipe of one step that a person has to agree to."""
    return machine.one_step("gated", step='gate = "Go on?"')


@pytest.fixture
async def office(machine: Machine, tmp_path: Path) -> AsyncIterator[Office]:
    """A daemon with a gateway, its sockets left out."""
    home = tmp_path / "home"
    home.mkdir()
    async with open_office(machine, home) as office:
        yield office
