"""A turnstile for phones' writes: a little at a time, in the order in which they stand in line.

Between two looks at the outside world every task that is ready runs. A hundred phones that write as
fast as they can would all have a read and a message handled in each such pass, and output to the
others would wait for all of them at every hop. So one of them is let in a pass; and where many
stand in line, the loop rests between two of them, or it would do nothing else.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

import trio

CROWD: Final = 8
"""So many in line are more than people are: they are let in at a pace."""

REST_SECONDS: Final = 0.001
"""Between two of a crowd. A message is handled in a tenth of this, so nine tenths of the loop's
time are for others; the shortest time for which a loop can wait."""


class Gate(Protocol):
    """A gate that a phone passes with all that it writes."""

    async def enter(self) -> None: ...


class _Open:
    async def enter(self) -> None:
        """Enter at once."""


OPEN: Final[Gate] = _Open()
"""Lets every client in."""


class FairReadGate:
    """A gate that lets one in for each pass of the loop. ``run`` is its task; without it none comes
    in after the first."""

    def __init__(self) -> None:
        self._line: deque[trio.Event] = deque()
        self._free = True
        self._turned = trio.Event()

    async def enter(self) -> None:
        """Wait for our turn; enter at once where none came in during this pass."""
        if self._free:
            self._free = False
            self._turned.set()
            return
        turn = trio.Event()
        self._line.append(turn)
        try:
            await turn.wait()
        finally:
            if not turn.is_set():
                self._line.remove(turn)

    async def run(self) -> None:
        """Turn, until cancelled."""
        while True:
            await self._turned.wait()
            self._turned = trio.Event()
            await trio.lowlevel.checkpoint()
            while self._line:
                crowded = len(self._line) >= CROWD
                self._line.popleft().set()
                await trio.sleep(REST_SECONDS if crowded else 0)
            self._free = True
