"""What the tests of the running daemon share."""

from __future__ import annotations

from pathlib import Path

import pytest

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
