"""The sessions and working trees that this daemon's runs hold.

A run holds its sessions from its start to its end. While it waits for a person, one plain prompt at
a time may borrow a session of it (an aside). Prompts that are queued for a session stand in line
for it and have it in the order in which they came.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress

import msgspec

from podiumd.runtime.locks.holder import Holder
from podiumd.runtime.locks.leases import Lease, LeaseBook, lock_name

log = logging.getLogger(__name__)


class _Held(msgspec.Struct):
    owner: str
    lease: Lease
    borrower: str | None = None


class SessionLocks:
    """The sessions and trees held by this daemon's runs, on top of the leases of the user."""

    def __init__(self, leases: LeaseBook, state_directory: str, now: Callable[[], str]) -> None:
        self._leases = leases
        self._state_directory = state_directory
        self._now = now
        self._sessions: dict[str, _Held] = {}
        self._trees: dict[str, Lease] = {}
        self._tolerant: set[str] = set()
        self._lines: dict[str, dict[str, Callable[[], None]]] = {}

    def holder(self, run_id: str, kind: str, turn_id: str | None = None) -> Holder:
        """Build the record that names a run of this daemon as holder."""
        return Holder(
            kind="run" if kind == "recipe" else "prompt",
            id=run_id,
            turn_id=turn_id,
            pid=os.getpid(),
            state_directory=self._state_directory,
            since=self._now(),
        )

    def acquire_session(
        self, session_id: str, run_id: str, kind: str, own_id: str | None = None
    ) -> Holder | None:
        """Take a session for a run; the present holder if it cannot be had.

        ``own_id`` is the agent's own id of it: under that too nothing else may have it.
        """
        held = self._sessions.get(session_id)
        if held is not None and run_id in (held.owner, held.borrower):
            return self.name_also(session_id, own_id)
        first = next(iter(self._lines.get(session_id, ())), run_id)
        if held is None and first != run_id:
            return self.holder(first, "prompt")
        found = self._leases.try_session(session_id, self.holder(run_id, kind))
        if isinstance(found, Holder):
            return found
        self._sessions[session_id] = _Held(run_id, found)
        other = self.name_also(session_id, own_id)
        if other is not None:
            del self._sessions[session_id]
            found.release()
            return other
        self._leave_line(session_id, run_id)
        return None

    def peek(self, *ids: str) -> Holder | None:
        """Look up who has a session, under whichever of its ids."""
        for one in ids:
            holder = self._leases.peek(lock_name(one))
            if holder is not None:
                return holder
        return None

    def name_also(self, session_id: str, own_id: str | None) -> Holder | None:
        """Hold a session that this daemon has under the agent's own id too; who does else.

        Where that cannot be, as of a file system without hard links, the agent has its own ways.
        """
        other = session_id if own_id is None else lock_name(own_id)
        if other == session_id or session_id not in self._sessions:
            return None
        try:
            return self._leases.name_also(session_id, other)
        except OSError as error:
            log.warning("the session %s is not held under its agent's id: %s", session_id, error)
            return None

    def reacquire_session(
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
        """Return the lease that a turn's process is to inherit."""
        held = self._sessions.get(session_id)
        return held.lease if held is not None else None

    def owner(self, session_id: str) -> str | None:
        """Return the run of this daemon that holds a session."""
        held = self._sessions.get(session_id)
        return held.owner if held is not None else None

    def lend(self, session_id: str, borrower: str) -> bool:
        """Let an aside use a held session; ``False`` if another one does already."""
        held = self._sessions.get(session_id)
        if held is None or held.borrower not in (None, borrower):
            return False
        held.borrower = borrower
        return True

    def user(self, session_id: str) -> str | None:
        """Return the run of this daemon that may write to a session now: its borrower, or its
        owner."""
        held = self._sessions.get(session_id)
        return None if held is None else held.borrower or held.owner

    def held_here(self, session_id: str) -> bool:
        """Return whether a run of this daemon has a session, or is the next to have it."""
        return session_id in self._sessions or session_id in self._lines

    def tolerate_idle(self, run_id: str) -> None:
        """Let a person take a session over from a program that has it open and is idle."""
        self._tolerant.add(run_id)

    def tolerates_idle(self, run_id: str) -> bool:
        """Return whether an idle foreign program with the run's session open is no hindrance."""
        return run_id in self._tolerant

    def tree(self, run_id: str) -> Lease | None:
        """Return the lease of a recipe run's working tree, which its processes are to inherit."""
        return self._trees.get(run_id)

    def holds_tree(self, run_id: str) -> bool:
        """Return whether this daemon itself holds the working tree of a recipe run."""
        lease = self._trees.get(run_id)
        return lease is not None and lease.held

    def acquire_tree(self, path: str, run_id: str) -> Holder | None:
        """Take a working tree for a recipe run; the present holder if it cannot be had."""
        mine = self._trees.get(run_id)
        if mine is not None and (mine.held or mine.reclaim()):
            return None
        found = self._leases.try_tree(path, self.holder(run_id, "recipe"))
        if isinstance(found, Holder):
            return found
        self._trees[run_id] = found
        return None

    def reacquire_tree(self, path: str, run_id: str) -> Holder | None:
        """Take a working tree again after a restart. What the run had started before may hold
        it still: then the run has it, and takes it itself once that is gone."""
        if run_id in self._trees:
            return None
        found = self._leases.adopt_tree(path, self.holder(run_id, "recipe"))
        if isinstance(found, Holder):
            return found
        self._trees[run_id] = found
        return None

    def wait_in_line(self, session_id: str, run_id: str, wake: Callable[[], None]) -> None:
        """Be called whenever a session falls free, until this run has it or leaves the line.

        Only the first of the line can take it. The owner of a lent session stands in it as well.
        """
        self._lines.setdefault(session_id, {})[run_id] = wake

    def in_line(self) -> frozenset[str]:
        """Return the runs that wait for a session."""
        return frozenset(run_id for line in self._lines.values() for run_id in line)

    def leave_lines(self, run_id: str) -> None:
        """Leave all lines for sessions; the next in each is called."""
        for session_id in list(self._lines):
            self._leave_line(session_id, run_id)
            if session_id not in self._sessions:
                self._call(session_id)

    def _leave_line(self, session_id: str, run_id: str) -> None:
        line = self._lines.get(session_id, {})
        line.pop(run_id, None)
        if not line:
            self._lines.pop(session_id, None)

    def _call(self, session_id: str) -> None:
        for wake in list(self._lines.get(session_id, {}).values()):
            wake()

    def release(self, run_id: str) -> None:
        """Give back all that a run holds or has borrowed; what it has lent, the aside keeps."""
        self.leave_lines(run_id)
        self._tolerant.discard(run_id)
        for session_id, held in list(self._sessions.items()):
            if held.owner == run_id and held.borrower is not None:
                held.owner, held.borrower = held.borrower, None
                self._rename(held)
            elif held.owner == run_id:
                del self._sessions[session_id]
                held.lease.release()
                self._call(session_id)
            elif held.borrower == run_id:
                held.borrower = None
                self._call(session_id)
        tree = self._trees.pop(run_id, None)
        if tree is not None:
            tree.release()

    def _rename(self, held: _Held) -> None:
        if held.lease.held:
            with suppress(OSError):  # the record is for people; the lock is what counts
                held.lease.update(id=held.owner, kind="prompt")

    def forget(self) -> None:
        """Close descriptors as the daemon goes and its turns stay; free nothing an agent holds."""
        for held in self._sessions.values():
            held.lease.forget_fd()
        for lease in self._trees.values():
            lease.forget_fd()
