"""The input of a tool as claude writes it, reported while it grows: a long file takes minutes."""

from __future__ import annotations

import json
import re
from typing import Final

from podiumd.core.recipe.served_tools import plain_name
from podiumd.drivers.base import Output
from podiumd.formats.claude_events import ToolWriting
from podiumd.formats.claude_turn import STRUCTURED_OUTPUT

STEP: Final = 1000
"""Characters after which it is reported once more."""

_HEAD: Final = 4096
"""Characters of the input in which the path is looked for."""

_PATH: Final = re.compile(r'"(?:file_path|notebook_path)"\s*:\s*("(?:[^"\\]|\\.)*")')


class Writing:
    """The call that is written now."""

    def __init__(self) -> None:
        self._name = ""
        self._head = ""
        self._size = 0
        self._told = 0

    def take(self, event: ToolWriting) -> list[Output]:
        """Take the beginning of a call, or a piece of it; return what to report."""
        if event.name:
            self._name, self._head, self._size, self._told = event.name, "", 0, 0
            return []
        self._size += len(event.delta)
        self._head += event.delta[: _HEAD - len(self._head)]
        if self._name in ("", STRUCTURED_OUTPUT) or self._size - self._told < STEP:
            return []
        self._told = self._size
        return [Output(event.message_id, "progress", f"{self._what()} · {self._size // 1000} kB")]

    def _what(self) -> str:
        found = _PATH.search(self._head)
        try:
            path = json.loads(found[1]) if found else ""
        except ValueError:
            path = ""
        if path:
            return f"writing {'/'.join(path.split('/')[-2:])}"
        return f"writing {plain_name(self._name)}"
