"""The time that tasks wait for the event loop, measured without waking it.

Between two looks at the outside world trio runs every task that is ready: one pass. A task that
became ready at the beginning of a pass may run at its end, and events outside meanwhile are seen
after it, so the length of a pass is the delay that the loop itself causes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import trio

from podiumd.observe.logs import log
from podiumd.observe.metrics import Histogram, Meters, quantile

REPORT_SECONDS = 30.0

_DESCRIPTORS = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"


class PassLength(trio.abc.Instrument):
    """Notes the length of every pass: two readings of the clock each, and none while idle."""

    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram
        self._began: float | None = None

    def after_io_wait(self, timeout: float) -> None:
        """Start the time of a pass."""
        self._began = perf_counter()

    def before_io_wait(self, timeout: float) -> None:
        """Note the length of a pass."""
        if self._began is not None:
            self._histogram.add(perf_counter() - self._began)


@contextmanager
def measured(histogram: Histogram) -> Iterator[None]:
    """Measure the loop that this is entered in."""
    instrument = PassLength(histogram)
    trio.lowlevel.add_instrument(instrument)
    try:
        yield
    finally:
        trio.lowlevel.remove_instrument(instrument)


async def report(meters: Meters) -> None:
    """Log a line of figures every 30 s while something goes on, until cancelled.

    Something goes on while agents work, or when a client, a phone or a run has done something
    since the last line. Otherwise nothing wakes up.
    """
    before = list(meters.loop.counts)
    while True:
        await meters.stirred()
        await trio.sleep(REPORT_SECONDS)
        now = list(meters.loop.counts)
        passes = [late - early for late, early in zip(now, before, strict=True)]
        before = now
        try:
            gauges = meters.gauges()
        except OSError as error:  # no descriptor is left to look with: no reason to end
            log("Metrics not taken", "warning", reason=error.strerror)
            continue
        if not gauges.get("agents_working"):
            meters.settle()
        fields: dict[str, Any] = {
            "loop_p50_ms": _milliseconds(quantile(passes, 0.5)),
            "loop_p99_ms": _milliseconds(quantile(passes, 0.99)),
            "loop_longest_ms": _milliseconds(meters.loop.longest),
            "loop_passes": sum(passes),
            "rpc_requests": meters.rpc_requests.value,
            "phone_messages": meters.received.value + meters.sent.value,
        }
        fields |= {name: _whole(value) for name, value in gauges.items()}
        log("Metrics", **fields)
        meters.loop.longest = 0.0


def open_files() -> int:
    """Count the descriptors that this process has open."""
    return sum(1 for _ in Path(_DESCRIPTORS).iterdir()) - 1  # less the one that lists them


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _whole(value: float) -> float:
    return int(value) if value == int(value) else round(value, 3)
