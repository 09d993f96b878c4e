"""A person with a home of their own; the agent's binary, as the end-to-end tests need it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import claude_binary, machine, model_server, repo
from tests.service.person import Person, person

__all__ = ["claude_binary", "machine", "model_server", "repo"]


@pytest.fixture
def somebody(tmp_path: Path) -> Iterator[Person]:
    """A person's home, with nothing installed yet."""
    with person(tmp_path) as made:
        yield made
