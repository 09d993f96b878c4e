"""What tests of projects need."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.projects.book import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A project and a place for its commands' history."""
    return Bench(tmp_path)
