"""A machine whose home is the user manager's: the manager reads its units there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import claude_binary, model_server, repo
from tests.e2e.machine import Machine
from tests.fakes.model_server import ModelServer
from tests.user_manager.namespace import MANAGERS_HOME

__all__ = ["claude_binary", "model_server", "repo"]


@pytest.fixture
def machine(claude_binary: Path, model_server: ModelServer, tmp_path: Path) -> Iterator[Machine]:
    """An empty home, and the default configuration."""
    if MANAGERS_HOME not in os.environ:
        pytest.fail("'make user-manager' runs these tests: they need a manager of their own")
    home = Path(os.environ[MANAGERS_HOME])
    made = Machine(tmp_path, home, claude_binary, model_server)
    made.set_up()
    made.configure()
    yield made
    shutil.rmtree(home)
    home.mkdir()
