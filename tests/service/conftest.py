"""A person with a home of their own; the agent's binary, as the end-to-end tests need it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import claude_binary, machine, model_server, repo
from tests.service.person import Person, person

__all__ = ["claude_binary", "machine", "model_server", "repo"]


@pytest.fixture
def somebody() -> Iterator[Person]:
    """A person's home, with nothing installed yet; of a short path, as sockets need it."""
    with tempfile.TemporaryDirectory(prefix="podium-") as root, person(Path(root)) as made:
        yield made
