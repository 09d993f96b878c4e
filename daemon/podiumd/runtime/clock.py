"""The one place where the daemon reads clocks; tests give it others."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from podiumd.core.times import wire_time


class Clock(msgspec.Struct, frozen=True):
    """The clocks of the daemon. ``wall``: the time of day. ``mono``: seconds that never run back,
    comparable between processes of one boot (so a turn's length is measured across daemons)."""

    wall: Callable[[], datetime] = lambda: datetime.now(UTC)
    mono: Callable[[], float] = time.monotonic

    def now(self) -> str:
        """Return the wire form of the present: RFC 3339, UTC, milliseconds, ``Z``."""
        return wire_time(self.wall())

    def seconds_until(self, at: str) -> float:
        """Return the seconds from now to a wire time; negative once it is past."""
        return (datetime.fromisoformat(at) - self.wall()).total_seconds()
