"""Which agent a session belongs to, and where it lives."""

from __future__ import annotations

from pathlib import Path

import msgspec
import trio

from podiumd.formats.claude_transcript import decode_record
from podiumd.runtime.context import Context
from podiumd.runtime.errors import NotFound
from podiumd.runtime.holder import busy

HEAD_BYTES = 256 * 1024


class Session(msgspec.Struct, frozen=True):
    """A session that exists."""

    session_id: str
    agent: str
    working_directory: str


class Sessions:
    """Finds sessions among this daemon's runs and the agents' own files."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def find(self, session_id: str) -> Session:
        """The session of this id.

        Raises:
            NotFound: no run and no agent knows it.
            Busy: another daemon is about to make it, and nobody can know it yet.
        """
        rows = await self._context.store.runs_of_session(session_id, 1)
        if rows:
            summary = msgspec.json.decode(rows[0].summary)
            return Session(session_id, summary["agent"], rows[0].working_directory)
        for name, agent in self._context.agents.items():
            path = agent.driver.transcript(session_id, "/", agent.environment(""))
            if path is not None:
                where = await trio.to_thread.run_sync(_first_directory, path)
                if where is not None:
                    return Session(session_id, name, where)
        holder = self._context.leases.peek(session_id)
        if holder is not None:
            raise busy(holder, session_id=session_id)
        raise NotFound("session", session_id)


def _first_directory(path: Path) -> str | None:
    """The directory of the first record that names one (records carry it, file names do not)."""
    try:
        with path.open("rb") as file:
            lines = file.read(HEAD_BYTES).splitlines()
    except OSError:
        return None
    records = (decode_record(line) for line in lines)
    return next((record.cwd for record in records if record is not None and record.cwd), None)
