from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.fake_daemon import FakeDaemon, fake_daemon
from tests.client.listeners import Listener
from tests.client.recorders import Recorders


@pytest.fixture
def daemon() -> Iterator[FakeDaemon]:
    """A fake daemon that listens."""
    with fake_daemon() as fake:
        yield fake


@pytest.fixture
def recorders(tmp_path: Path) -> Recorders:
    """A directory for fake recorders."""
    (tmp_path / "bin").mkdir()
    return Recorders(tmp_path / "bin")


@pytest.fixture
def listener(daemon: FakeDaemon) -> Listener:
    """The fake daemon makes text of speech."""
    return Listener(daemon)
