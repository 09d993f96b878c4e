"""The part of a reply that people are shown while it comes: its words, without the blocks of
actions.

A block that may hold actions is held back until it is closed; what turns out to be prose is shown
then. All else is shown as it comes, as soon as it cannot be the beginning of such a block.
"""

from __future__ import annotations

import re
from typing import Final

_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([^`\n]*)\n?\Z")
_MAYBE_FENCE: Final = re.compile(r"[ \t]*(?:`{0,2}|~{0,2}|`{3,}[^`\n]*|~{3,}[^\n]*)\Z")
_ACTIONS: Final = frozenset({"json", "action"})


class Speaking:
    """Filters one reply, piece by piece."""

    def __init__(self) -> None:
        self._line = ""
        self._shown = 0
        self._fence = ""
        self._info = ""
        self._held: list[str] | None = None

    def feed(self, piece: str) -> str:
        """Take one more piece, and return what can be shown now."""
        shown: list[str] = []
        for part in piece.splitlines(keepends=True):
            self._line += part
            if self._line.endswith("\n"):
                shown.append(self._whole_line())
                self._line, self._shown = "", 0
            else:
                shown.append(self._begun_line())
        return "".join(shown)

    def end(self) -> str:
        """Return what was held back of a reply that has come to its end, or was cut."""
        if self._held is not None and self._closes(_FENCE.match(self._line)):
            self._held.append(self._line)  # models end with the fence and no line end
            rest = self._closed()
        else:
            rest = "".join(self._held or ()) + self._line[self._shown :]
        self._line, self._shown, self._held = "", 0, None
        return rest

    def _begun_line(self) -> str:
        """Return the part of an unfinished line that can be shown."""
        if self._held is not None or (not self._shown and _MAYBE_FENCE.match(self._line)):
            return ""
        part = self._line[self._shown :]
        self._shown = len(self._line)
        return part

    def _whole_line(self) -> str:
        line = self._line
        found = _FENCE.match(line)
        if self._held is not None:
            self._held.append(line)
            return self._closed() if self._closes(found) else ""
        part = line[self._shown :]
        if self._fence:
            if self._closes(found):
                self._fence = ""
        elif found is not None and not self._shown:
            words = found[2].split()
            self._fence, self._info = found[1], words[0].lower() if words else ""
            if self._info in _ACTIONS:
                self._held = [line]
                return ""
        return part

    def _closes(self, found: re.Match[str] | None) -> bool:
        if found is None or found[2].strip():
            return False
        return found[1][0] == self._fence[0] and len(found[1]) >= len(self._fence)

    def _closed(self) -> str:
        """Return what is shown of a block that may have held actions and is whole now."""
        block = "".join(self._held or ())
        self._held, self._fence = None, ""
        return "" if self._info == "action" or '"action"' in block else block
