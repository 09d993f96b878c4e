"""Reports of sessions to phones, in the order in which things happened.

The end of a recipe is reported when its agent has gone and the session is free, which may take a
while. Events of that session meanwhile are reported after it; all other sessions wait for nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import trio

from podiumd.observe.logs import log


class _End(NamedTuple):
    """The end of a run, reported by ``tell`` once ``gone`` has returned."""

    run_id: str
    position: int
    gone: Callable[[], Awaitable[None]]
    tell: Callable[[], None]


class SessionOrdering:
    """Per-session order of reports: the sessions in which an end waits, each with what follows it.

    ``told`` is called after the report of each end.
    """

    def __init__(self, nursery: trio.Nursery, told: Callable[[], None]) -> None:
        self._nursery = nursery
        self._told = told
        self._waiting: dict[str, deque[_End | Callable[[], None]]] = {}
        self._ends: dict[str, int] = {}

    @property
    def untold(self) -> frozenset[str]:
        """Return the runs whose end is not reported yet."""
        return frozenset(self._ends)

    def waits(self, session_id: str) -> bool:
        """Return whether the end of a recipe is yet to be reported in a session."""
        return session_id in self._waiting

    def before(self, position: int) -> int:
        """Return up to which event everything is reported, of those up to ``position``."""
        return min((at - 1 for at in self._ends.values()), default=position)

    def tell(self, session_id: str, tell: Callable[[], None]) -> None:
        """Report something of a session, now or after the end that is to come first."""
        if session_id in self._waiting:
            self._waiting[session_id].append(tell)
        else:
            tell()

    def tell_end(
        self,
        session_id: str,
        run_id: str,
        position: int,
        gone: Callable[[], Awaitable[None]],
        tell: Callable[[], None],
    ) -> None:
        """Report the end of a run in a session once ``gone`` has returned."""
        self._ends[run_id] = position
        end = _End(run_id, position, gone, tell)
        if session_id in self._waiting:
            self._waiting[session_id].append(end)
        else:
            self._waiting[session_id] = deque([end])
            self._nursery.start_soon(self._wait, session_id)

    async def _wait(self, session_id: str) -> None:
        """Report what waits in one session, until nothing does."""
        waiting = self._waiting[session_id]
        while waiting:
            one = waiting[0]
            try:
                if isinstance(one, _End):
                    await one.gone()
                    one.tell()
                else:
                    one()
            except Exception as error:  # noqa: BLE001 - logged; later reports are sent still
                log("Phones were not told", "error", exception=error)
            waiting.popleft()
            if isinstance(one, _End):
                self._ends.pop(one.run_id, None)
                self._told()
        del self._waiting[session_id]
