"""The names of sessions that a recipe began: by recipe and task, not by their first prompt.

A session that was there before its first recipe keeps its own name, and so does one that a person
has named.
"""

from __future__ import annotations

from typing import NamedTuple

import trio
from msgspec import UNSET

from podiumd.core.run.state import RunState
from podiumd.runtime.run_rows import run_of
from podiumd.store.facts import Store
from podiumd.store.records import RunRow

READ_AT_ONCE = 5000
"""Runs whose names are looked up when they are first asked for, the newest."""


class Named(NamedTuple):
    """The name of a session by the first run in it, and since when."""

    name: str
    since: str


class RunNames:
    """The names of the sessions of recipes; those of earlier daemons are read when first asked."""

    def __init__(self) -> None:
        self._names: dict[str, Named] = {}
        self._read = False
        self._lock = trio.Lock()

    def learn(self, state: RunState) -> None:
        """Learn the session name of a run of this daemon from its state now; once the run is called
        otherwise, that of all its sessions."""
        known = self._names.get(state.session_id)
        if known is not None and known.since == state.started_at and known.name != state.name:
            self.adopt(state)
        else:
            self._learn(state, state.session_id)

    def adopt(self, state: RunState) -> None:
        """Learn all session names of a run, as of one of an earlier daemon, which goes on.

        Its row does not hold the sessions it has had.
        """
        for session_id in state.sessions:
            self._learn(state, session_id)

    def _learn(self, state: RunState, session_id: str) -> None:
        known = self._names.get(session_id)
        if state.recipe is not None and (known is None or known.since == state.started_at):
            self._names[session_id] = Named(state.name, state.started_at)

    async def of(self, store: Store) -> dict[str, Named]:
        """Return the names by session."""
        async with self._lock:
            if not self._read:
                rows = await store.runs(limit=READ_AT_ONCE, kind="recipe")
                for session, named in (await trio.to_thread.run_sync(_of_rows, rows)).items():
                    known = self._names.get(session)
                    if known is None or named.since < known.since:
                        self._names[session] = named
                self._read = True
        return self._names


def _of_rows(rows: list[RunRow]) -> dict[str, Named]:
    """Name each session after its first run; ``rows`` begin with the newest."""
    found: dict[str, Named] = {}
    for row in rows:
        run = run_of(row)
        if run is None or not run.name:
            continue
        had = () if run.sessions is UNSET else run.sessions
        sessions = {*had, run.main_session_id, row.session_id}
        found |= {session: Named(run.name, row.started_at) for session in sessions if session}
    return found
