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

    Knows the keys that a terminal's own line mode knows. Keys that move a cursor do nothing.
    """

    def __init__(self) -> None:
        self.words = ""
        self.ended = False
        self._sequence = ""

    def take(self) -> str:
        """Take the unfinished line and clear it."""
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
    """Extend the escape sequence by a key; empty once it is complete.

    Examples are ``ESC [ 1 ; 5 A`` and ``ESC x``.
    """
    sequence += key
    if sequence in (ESCAPE, f"{ESCAPE}[", f"{ESCAPE}O"):
        return sequence
    if sequence.startswith(f"{ESCAPE}[") and not "@" <= key <= "~":
        return sequence
    return ""
