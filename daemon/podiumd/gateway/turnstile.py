"""What phones write comes in a little at a time, in the order in which they stand in line.

Between two looks at the outside world every task that is ready runs. A hundred phones that write
as fast as they can would all have a read and a message handled in each such pass, and what goes
out to the others would wait for all of them at every hop. So one of them is let in a pass.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

import trio


class Gate(Protocol):
    """What a phone passes with all that it writes."""

    async def enter(self) -> None: ...


class _Open:
    async def enter(self) -> None:
        """At once."""


OPEN: Final[Gate] = _Open()
"""Lets everybody in."""


class Turnstile:
    """A gate that lets one in for each pass of the loop. ``run`` is its task; without it nobody
    comes in after the first."""

    def __init__(self) -> None:
        self._line: deque[trio.Event] = deque()
        self._free = True
        self._turned = trio.Event()

    async def enter(self) -> None:
        """Wait for our turn; at once where nobody came in during this pass."""
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
                self._line.popleft().set()
                await trio.lowlevel.checkpoint()
            self._free = True
