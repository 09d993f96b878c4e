"""Keys that are pressed while the agent works, put together into lines."""

from __future__ import annotations

ENTER = "\r\n"
ERASE = "\x7f\x08"
ERASE_ALL, ERASE_WORD = "\x15", "\x17"
END = "\x04\0"
"""Ctrl-D, and what Linux makes of one that was pressed while the terminal had its line mode."""

ESCAPE = "\x1b"


class Draft:
    """The line that is being typed: ``words`` so far. ``ended``: Ctrl-D on an empty one.

    Knows the keys that a terminal's own line mode knows. What moves a cursor does nothing.
    """

    def __init__(self) -> None:
        self.words = ""
        self.ended = False
        self._sequence = ""

    def take(self) -> str:
        """The unfinished line, which is empty from here on."""
        words, self.words = self.words, ""
        return words

    def pressed(self, keys: str) -> list[str]:
        """Take keys; returns the lines that they end."""
        lines = []
        for key in keys:
            if self._sequence or key == ESCAPE:
                self._sequence = _after(self._sequence, key)
            elif key in ENTER:
                lines.append(self.take())
            else:
                self._edit(key)
        return lines

    def _edit(self, key: str) -> None:
        if key in ERASE:
            self.words = self.words[:-1]
        elif key == ERASE_ALL:
            self.words = ""
        elif key == ERASE_WORD:
            self.words = self.words.rstrip().rpartition(" ")[0]
            self.words += " " if self.words else ""
        elif key in END:
            self.ended = self.ended or not self.words
        elif key.isprintable() or key == "\t":
            self.words += key


def _after(sequence: str, key: str) -> str:
    """The escape sequence so far, or nothing once it is complete: ``ESC [ 1 ; 5 A``, ``ESC x``."""
    sequence += key
    if sequence in (ESCAPE, f"{ESCAPE}[", f"{ESCAPE}O"):
        return sequence
    if sequence.startswith(f"{ESCAPE}[") and not "@" <= key <= "~":
        return sequence
    return ""
