"""The wait of an agent that loses a session which it loads within the minute in which it began.

The agent's process itself waits, before it becomes the agent: it can be stopped meanwhile, and
needs no daemon. It says so first, by a notice of ours in its output.
"""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from podiumd.formats.jsonrpc_lines import Notice, write

STATUS: Final = "_podium/status"
"""The method of that notice."""

_MINUTE: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}")
_ONE: Final = 60
_WAITING: Final = 'printf "%s" "$1"; sleep "$2"; shift 2; exec "$@"'


def session_file(pattern: str, home: str, session: str) -> Path | None:
    """Return the agent's file of a session; ``None`` where there is none. Blocks."""
    named = pattern.replace("{id8}", session[:8]).replace("{id}", session)
    found = Path(home).glob(named.removeprefix("~/"))
    return max(found, key=lambda one: one.stat().st_mtime, default=None)


def seconds_left(name: str, now: datetime) -> int:
    """Return how many seconds of the minute in a file's name are left, and one more; at most 60."""
    found = _MINUTE.search(name)
    if found is None or found[0] != now.astimezone(UTC).strftime("%Y-%m-%dT%H-%M"):
        return 0
    return min(_ONE, _ONE - now.second + 1)


def waiting(command: list[str], agent: str, seconds: int) -> list[str]:
    """Build the command of an agent that waits so long before it begins."""
    words = f"waiting {seconds} s: {agent} loses a session that it loads in its first minute"
    line = write(Notice(STATUS, {"text": words}), version=True).decode()
    return ["/bin/sh", "-c", _WAITING, "sh", line, str(seconds), *command]


def prepare(pattern: str, home: str, session: str, copy: Path) -> int:
    """Keep a copy of the agent's file of a session; return how many seconds to wait.

    Blocks; raises ``OSError``.
    """
    file = session_file(pattern, home, session)
    if file is None:
        return 0
    copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copyfile(file, copy)
    copy.chmod(0o600)
    return seconds_left(file.name, datetime.now(UTC))
