"""Notice an agent that tries the same thing again and again, and fails each time. Pure."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from podiumd.formats.message import ToolResult, ToolUse

TIMES: Final = 3
"""Failures of one call after which its watcher is notified: twice is how agents learn."""

MOST_CALLS: Final = 1000
"""Calls of a turn that are remembered; of one with more nothing further is noticed."""


class RepeatedFailures:
    """Counts how often each call of a turn has failed in a row."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, bytes]] = {}
        self._failed: dict[bytes, int] = {}

    def began(self, call: ToolUse) -> None:
        """Note a tool's call; of its input only a digest is kept."""
        if len(self._open) < MOST_CALLS:
            given = msgspec.json.encode((call.name, call.input), order="deterministic")
            self._open[call.id] = (call.name, hashlib.sha256(given).digest())

    def ended(self, result: ToolResult) -> str | None:
        """Note a result; return the warning, once, when the same call has failed so often."""
        name, call = self._open.pop(result.tool_use_id, ("", b""))
        if not name:
            return None
        if not result.is_error:
            self._failed.pop(call, None)
            return None
        times = self._failed.get(call, 0) + 1
        if times > 1 or len(self._failed) < MOST_CALLS:
            self._failed[call] = times
        if times != TIMES:
            return None
        return (
            f"the agent has tried the same {name} call {TIMES} times, and it failed each time:"
            " 'podium steer RUN WORDS' tells it something, 'podium interrupt RUN' stops it"
        )
