"""The bound on runs that may work at once: on agents of the whole daemon."""

from __future__ import annotations

from collections.abc import Callable


class AgentLimiter:
    """Fair, bounded number of working runs. A run that is refused is called when it may try."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._holders: set[str] = set()
        self._waiting: dict[str, Callable[[], None]] = {}

    @property
    def working(self) -> int:
        """Return how many runs have a slot."""
        return len(self._holders)

    @property
    def waiting(self) -> int:
        """Return how many runs stand in line for one."""
        return len(self._waiting)

    def resize(self, limit: int) -> None:
        """Change the bound. Who has a slot keeps it, also beyond a smaller one."""
        self.limit = limit
        self._wake_next()

    def has(self, run_id: str) -> bool:
        """Return whether a run has a slot."""
        return run_id in self._holders

    def in_line(self, run_id: str) -> bool:
        """Return whether a run waits for a slot."""
        return run_id in self._waiting

    def try_acquire(self, run_id: str, wake: Callable[[], None], *, force: bool = False) -> bool:
        """Take a slot, or be called once one is free.

        ``force``: the work exists already (a turn taken up), so it counts beyond the bound.
        """
        if run_id in self._holders:
            return True
        first = not self._waiting or next(iter(self._waiting)) == run_id
        if force or (len(self._holders) < self.limit and first):
            self._waiting.pop(run_id, None)
            self._holders.add(run_id)
            self._wake_next()
            return True
        self._waiting.setdefault(run_id, wake)
        return False

    def release(self, run_id: str) -> None:
        """Free the slot of a run, or its place in the line."""
        self._holders.discard(run_id)
        self._waiting.pop(run_id, None)
        self._wake_next()

    def _wake_next(self) -> None:
        if self._waiting and len(self._holders) < self.limit:
            next(iter(self._waiting.values()))()
