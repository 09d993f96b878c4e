"""What the tests of the store share: a hold on the writer's thread, and disarmed failpoints."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from podiumd.store import writer
from podiumd.tools import failpoints
from tests.store.gate import Gate


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()
    monkeypatch.setattr(writer, "failpoint", gate.failpoint)
    yield gate
    gate.open.set()


@pytest.fixture
def failing() -> Iterator[None]:
    yield
    failpoints.arm(None)
