"""What the tests of the running daemon share."""

from __future__ import annotations

from tests.runtime.fixtures import databases, gated, machine, one, shipped

__all__ = ["databases", "gated", "machine", "one", "shipped"]
