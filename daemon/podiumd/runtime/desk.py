"""Who of this daemon's runs has which session and working tree.

A run holds its sessions from its start to its end. While it waits for a person, one plain prompt
at a time may borrow a session of it (an aside).
"""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from podiumd.runtime.holder import Holder
from podiumd.runtime.leases import Lease, LeaseBook


class _Held(msgspec.Struct):
    owner: str
    lease: Lease
    borrower: str | None = None


class Desk:
    """The sessions and trees held by this daemon's runs, on top of the leases of the user."""

    def __init__(self, leases: LeaseBook, state_directory: str, now: Callable[[], str]) -> None:
        self._leases = leases
        self._state_directory = state_directory
        self._now = now
        self._sessions: dict[str, _Held] = {}
        self._trees: dict[str, Lease] = {}
        self._waiting: dict[str, list[Callable[[], None]]] = {}

    def holder(self, run_id: str, kind: str, turn_id: str | None = None) -> Holder:
        """The record that names a run of this daemon as holder."""
        return Holder(
            kind="run" if kind == "recipe" else "prompt",
            id=run_id,
            turn_id=turn_id,
            pid=os.getpid(),
            state_directory=self._state_directory,
            since=self._now(),
        )

    def take_session(self, session_id: str, run_id: str, kind: str) -> Holder | None:
        """Take a session for a run; the present holder if it cannot be had."""
        held = self._sessions.get(session_id)
        if held is not None and run_id in (held.owner, held.borrower):
            return None
        found = self._leases.try_session(session_id, self.holder(run_id, kind))
        if isinstance(found, Holder):
            return found
        self._sessions[session_id] = _Held(run_id, found)
        return None

    def take_back(
        self, session_id: str, run_id: str, kind: str, turn_id: str | None
    ) -> Holder | None:
        """Take a session again after a restart. A living agent of this daemon's may hold it
        still: that of the run's own turn, or of an aside in its session."""
        found = self._leases.adopt_session(session_id, self.holder(run_id, kind, turn_id))
        if isinstance(found, Holder) and found.state_directory == self._state_directory:
            found = self._leases.adopt_session(session_id, found)
        if isinstance(found, Holder):
            return found
        self._sessions[session_id] = _Held(run_id, found)
        return None

    def lease(self, session_id: str) -> Lease | None:
        """The lease that a turn's process is to inherit."""
        held = self._sessions.get(session_id)
        return held.lease if held is not None else None

    def owner(self, session_id: str) -> str | None:
        """The run of this daemon that holds a session."""
        held = self._sessions.get(session_id)
        return held.owner if held is not None else None

    def holder_of(self, session_id: str) -> Holder:
        """The record of a session that is held by this daemon."""
        return self._sessions[session_id].lease.holder

    def lend(self, session_id: str, borrower: str) -> bool:
        """Let an aside use a held session; ``False`` if another one does already."""
        held = self._sessions.get(session_id)
        if held is None or held.borrower not in (None, borrower):
            return False
        held.borrower = borrower
        return True

    def lent(self, session_id: str) -> bool:
        """Whether an aside is using a session."""
        held = self._sessions.get(session_id)
        return held is not None and held.borrower is not None

    def take_tree(self, path: str, run_id: str) -> Holder | None:
        """Take a working tree for a recipe run; the present holder if it cannot be had."""
        found = self._leases.try_tree(path, self.holder(run_id, "recipe"))
        if isinstance(found, Holder):
            return found
        self._trees[run_id] = found
        return None

    def when_free(self, session_id: str, wake: Callable[[], None]) -> None:
        """Call ``wake`` once, when a session of this daemon has been given back."""
        self._waiting.setdefault(session_id, []).append(wake)

    def give_back(self, run_id: str) -> None:
        """Give back all that a run holds or has borrowed."""
        for session_id, held in list(self._sessions.items()):
            if held.owner == run_id:
                del self._sessions[session_id]
                held.lease.release()
            elif held.borrower == run_id:
                held.borrower = None
            else:
                continue
            for wake in self._waiting.pop(session_id, []):
                wake()
        tree = self._trees.pop(run_id, None)
        if tree is not None:
            tree.release()

    def forget(self) -> None:
        """The daemon goes and its turns stay: close descriptors, free nothing an agent holds."""
        for held in self._sessions.values():
            held.lease.forget_fd()
        for lease in self._trees.values():
            lease.forget_fd()
