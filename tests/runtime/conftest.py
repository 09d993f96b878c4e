"""What the tests of the running daemon share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.harness import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with an agent that does what the test says, and no daemon yet."""
    return Machine(tmp_path)
