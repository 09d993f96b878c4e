"""Parts a reply from the thinking that some local models put in front of it, as it streams."""

from __future__ import annotations

from typing import Final

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


class ThoughtFilter:
    """Finds ``<think>...</think>`` at the very beginning of a reply; elsewhere it is text."""

    def __init__(self) -> None:
        self._held = ""
        self._state = "beginning"

    def feed(self, text: str, *, last: bool = False) -> tuple[str, str]:
        """Return the thought and the text that ``text`` completes.

        A part that may still belong to a mark is held back, until ``last``.
        """
        held = self._held + text
        self._held = ""
        thought = ""
        if self._state == "beginning":
            start = held.lstrip()
            if start.startswith(_OPEN):
                self._state, held = "thinking", start[len(_OPEN) :]
            elif _OPEN.startswith(start) and not last:
                self._held = held
                return "", ""
            else:
                self._state = "replying"
        if self._state == "thinking":
            thought, closed, held = held.partition(_CLOSE)
            if closed:
                self._state = "between"
            elif not last:
                keep = _open_end(thought)
                thought, self._held = thought[: len(thought) - keep], thought[len(thought) - keep :]
        if self._state == "between":  # the empty lines after a thought are no part of the reply
            held = held.lstrip()
            self._state = "replying" if held else "between"
        return thought, held


def _open_end(text: str) -> int:
    """Count the characters at the end that may be the beginning of the closing mark."""
    for size in range(min(len(_CLOSE) - 1, len(text)), 0, -1):
        if _CLOSE.startswith(text[-size:]):
            return size
    return 0
