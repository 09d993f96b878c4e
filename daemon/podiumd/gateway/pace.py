"""Pace of a client: the time it may take to send what holds a place among the large ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import trio

from podiumd.gateway.limits import GatewayLimits


class Pace:
    """The pace of one body or message: no long pause, and so many bytes a second on the whole.

    Counted is only the time in which the client is waited for. ``too_slow`` says that it ran out.
    """

    def __init__(self, limits: GatewayLimits) -> None:
        self._stall = limits.body_stall_seconds
        self._rate = limits.body_bytes_per_second
        self._arrived = 0
        self._waited = 0.0
        self.too_slow = False

    def arrived(self, count: int) -> None:
        """So many bytes have come."""
        self._arrived += count

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time within as waiting for the client, and give it up when that is
        ``too_slow``."""
        began = trio.current_time()
        left = self._stall + self._arrived / self._rate - self._waited
        with trio.move_on_after(max(0.0, min(self._stall, left))) as patience:
            yield
        self._waited += trio.current_time() - began
        self.too_slow = patience.cancelled_caught
