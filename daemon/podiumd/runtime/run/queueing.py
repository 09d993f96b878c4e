"""The prompts and recipes that were taken and have not begun: behind a busy session, or beyond the
agents that may work at once. Their number is bounded; one that was taken stays, even beyond the
bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from podiumd.core.run.state import RunState
from podiumd.runtime.context import Context
from podiumd.runtime.errors import Overloaded
from podiumd.runtime.locks.session_locks import SessionLocks

AGAIN_MS = 10_000
"""When who was refused may try again: a place falls free when a turn ends."""


class Queue:
    """The queue of one daemon. ``states`` are those of its runs that are alive."""

    def __init__(
        self,
        context: Context,
        session_locks: SessionLocks,
        states: Callable[[], Iterable[RunState]],
    ) -> None:
        self._context = context
        self._session_locks = session_locks
        self._states = states
        self._coming: set[str] = set()

    def __len__(self) -> int:
        return self._length()

    def require_place(self, run_id: str) -> None:
        """Refuse a run that would have to wait where no more may. Raises ``Overloaded``."""
        length, most = self._length(run_id), self._context.limits().max_queued
        if length > max(most, self._length()):
            raise Overloaded(
                f"As many prompts and recipes wait as may ({most}: limits.max_queued): this one "
                "was not taken. Try again when some have begun.",
                AGAIN_MS,
            )

    @contextmanager
    def place(self, run_id: str) -> Iterator[None]:
        """Held while a run is stored: those that come together must not share the last place.

        Raises ``Overloaded``, as ``require_place`` does.
        """
        self.require_place(run_id)
        self._coming.add(run_id)
        try:
            yield
        finally:
            self._coming.discard(run_id)

    def _length(self, *newcomers: str) -> int:
        """Count those that wait; a newcomer goes to its session's line, or to the agents."""
        agent_limiter, in_line = self._context.agent_limiter, self._session_locks.in_line()
        held_up, to_agents = 0, 0
        for run_id, ready in (*self._not_begun(), *((one, True) for one in newcomers)):
            if run_id in in_line or not ready:
                held_up += 1
            elif not agent_limiter.has(run_id):
                to_agents += 1
        return held_up + max(0, to_agents - max(0, agent_limiter.limit - agent_limiter.working))

    def _not_begun(self) -> Iterator[tuple[str, bool]]:
        for run_id in self._coming:
            yield run_id, True
        for state in self._states():
            if not state.begun and state.exit is None:
                yield state.start.run_id, state.ready
