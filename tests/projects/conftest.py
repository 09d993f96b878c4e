"""What tests of projects need."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import claude_binary
from tests.projects.book import Bench

__all__ = ["bench", "claude_binary"]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A project and a place for its commands' history."""
    return Bench(tmp_path)
