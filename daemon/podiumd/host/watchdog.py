"""The watchdog is fed only while every part of the daemon really turns.

Each part has a task that asks it again and again and notes when it answered. A part that owes its
answer for longer than an interval keeps the watchdog from being fed; an event loop that hangs
does so by itself. The service manager then ends the process, and the next one takes the turns up.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import trio

from podiumd.observe.logs import log

FEEDS_A_PERIOD: Final = 3
"""Two feeds may be late on a machine under load before the manager loses patience."""


class Watchdog(Protocol):
    """Watchdog to feed within every ``watchdog_seconds``; ``None``: there is none."""

    @property
    def watchdog_seconds(self) -> float | None: ...

    def alive(self) -> None: ...


@dataclass(frozen=True)
class Part:
    """A part of the daemon: its name, and a question that it answers only while it turns."""

    name: str
    ask: Callable[[], Awaitable[None]]


class _Pulse:
    """The state of one part while it is watched."""

    def __init__(self, part: Part) -> None:
        self.name = part.name
        self._ask = part.ask
        self._asked: float | None = None

    async def run(self, pause: float) -> None:
        while True:
            self._asked = trio.current_time()
            await self._ask()
            self._asked = None
            await trio.sleep(pause)

    def late(self, patience: float) -> bool:
        return self._asked is not None and trio.current_time() - self._asked > patience


async def keep_fed(watchdog: Watchdog, parts: Sequence[Part]) -> None:
    """Feed the watchdog while all ``parts`` answer; returns at once where there is none."""
    period = watchdog.watchdog_seconds
    if period is None:
        await trio.lowlevel.checkpoint()
        return
    interval = period / FEEDS_A_PERIOD
    told: list[str] = []
    async with trio.open_nursery() as nursery:
        pulses = [_Pulse(part) for part in parts]
        for pulse in pulses:
            nursery.start_soon(pulse.run, interval)
        while True:
            late = [pulse.name for pulse in pulses if pulse.late(interval)]
            if not late:
                watchdog.alive()
            if late != told:
                _tell(late, told)
                told = late
            await trio.sleep(interval)


def _tell(late: Sequence[str], before: Sequence[str]) -> None:
    if late:
        log("Watchdog is not fed", "error", reason=f"no answer from: {', '.join(late)}")
    else:
        log("Watchdog is fed again", parts=", ".join(before))
