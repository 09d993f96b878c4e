"""Moments as the wire has them."""

from __future__ import annotations

from datetime import UTC, datetime


def wire_time(at: datetime) -> str:
    """RFC 3339 in UTC with milliseconds and ``Z``."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
