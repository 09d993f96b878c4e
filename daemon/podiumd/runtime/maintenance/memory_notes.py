"""The memory of agents, and a note in the log where one takes more than it should.

Nothing is ended for it: a person judges what a compiler or a test suite needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from podiumd.core.run.state import RunState
from podiumd.runtime.context import LogEvent
from podiumd.tools.process.memory import tree_bytes

MIB: Final = 1024 * 1024


class MemoryNotes:
    """``states`` are the runs that live, ``megabytes`` (MiB) what a turn may take unnoted; 0:
    nothing is noted."""

    def __init__(
        self,
        states: Callable[[], Iterable[RunState]],
        megabytes: Callable[[], int],
        log: LogEvent,
        measure: Callable[[int], int] = tree_bytes,
    ) -> None:
        self._states = states
        self._megabytes = megabytes
        self._log = log
        self._measure = measure
        self._most: dict[str, int] = {}  # noted of each turn

    def total(self) -> int:
        """Bytes of all agents together, each with what it started; notes those that are over."""
        total, most = 0, self._most
        self._most = {}
        for state in self._states():
            turn = state.turn
            if turn is None or turn.started is None:
                continue
            taken = self._measure(turn.started.pid)
            total += taken
            self._most[turn.intent.turn_id] = self._noted(
                state, taken, most.get(turn.intent.turn_id, 0)
            )
        return total

    def _noted(self, state: RunState, taken: int, most: int) -> int:
        """Note it the first time, and again at each doubling; returns what was noted last."""
        limit = self._megabytes() * MIB
        if not limit or taken <= limit or taken < most * 2:
            return most
        self._log(
            "Agent memory high",
            "warning",
            run_id=state.start.run_id,
            session_id=state.session_id,
            step=state.step,
            megabytes=taken // MIB,
            limit_megabytes=limit // MIB,
            fix="'podium interrupt' stops the turn; limits.agent_memory_megabytes sets the limit",
        )
        return taken
