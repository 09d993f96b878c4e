from collections.abc import Iterator

import pytest

from tests.client.fake_daemon import FakeDaemon, fake_daemon


@pytest.fixture
def daemon() -> Iterator[FakeDaemon]:
    """A fake daemon that listens."""
    with fake_daemon() as fake:
        yield fake
