"""Moments as the wire has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from podiumd.core.times import wire_time

EAST = timezone(timedelta(hours=5, minutes=30))


@pytest.mark.parametrize(
    ("moment", "told"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05.000Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 678_999, tzinfo=UTC), "2026-01-02T03:04:05.678Z"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=EAST), "2026-01-01T21:34:05.000Z"),
        (datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC), "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_moment_is_told_in_utc_with_milliseconds(moment: datetime, told: str) -> None:
    assert wire_time(moment) == told
