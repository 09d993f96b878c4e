"""Codex's session file of a thread ("rollout"): where it is, and what it holds of a turn."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import trio

from podiumd.agents.codex.kind import home_of
from podiumd.drivers.dialect import Aftermath
from podiumd.formats.codex.rollout import Trace, arguments_of, trace
from podiumd.tools.files.plain_file import open_plain

TAIL_BYTES: Final = 1 << 20
"""How far from the end of the file a call that waits for leave is looked for."""


def find_rollout(thread_id: str, environment: Mapping[str, str]) -> Path | None:
    """Return the session file of a thread, ``None`` where Codex has written none.

    Days are searched from the newest: a thread that is gone on with is often a young one.
    """
    if not thread_id:
        return None
    name = f"rollout-*-{glob.escape(thread_id)}.jsonl"
    sessions = home_of(dict(environment)) / "sessions"
    days = sorted(sessions.glob("[0-9]*/[0-9]*/[0-9]*"), reverse=True)
    return next((found for day in days for found in day.glob(name)), None)


def size_of(rollout: Path | None) -> int:
    """Return the file's length in bytes, 0 where there is none."""
    try:
        return 0 if rollout is None else rollout.stat().st_size
    except OSError:
        return 0


class Rollouts:
    """The session files of a turn's threads: its own, and those of sub-agents."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._found: dict[str, Path] = {}

    def look_up(self, thread_id: str, call_id: str) -> Mapping[str, Any] | None:
        """Return what the model gave a call of a thread; see the function."""
        path = self._found.get(thread_id) or find_rollout(thread_id, self._environment)
        if path is None:
            return None
        self._found[thread_id] = path
        return look_up(path, call_id)


def look_up(path: Path, call_id: str) -> Mapping[str, Any] | None:
    """Return what the model gave a call that waits for leave; ``None`` where it is not found."""
    try:
        with open_plain(path) as file:
            end = file.seek(0, 2)
            file.seek(max(0, end - TAIL_BYTES))
            return arguments_of(file.read().splitlines(), call_id)
    except OSError:
        return None


def real_path(path: str) -> str:
    """Return a path with its symlinks followed, empty where it is none."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return ""


async def look_back(
    rollout: Path | None, uuid: str, since: int, later: tuple[str, ...] = ()
) -> tuple[Aftermath, Trace]:
    """Look how the file ends, and for the prompt in what came after ``since``."""
    if rollout is None:
        return Aftermath(mark=None, prompt_recorded=False), Trace()

    def read() -> tuple[Aftermath, Trace]:
        with open_plain(rollout) as file:
            data = file.read()
        found = trace(data[since:].split(b"\n"), uuid, later)
        mark = {"size": len(data), "last_uuid": None}
        return Aftermath(mark=mark, prompt_recorded=found.recorded), found

    return await trio.to_thread.run_sync(read)
