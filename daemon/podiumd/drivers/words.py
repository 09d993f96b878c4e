"""The agent's own messages of a turn, in pieces as they come, bounded in all."""

from __future__ import annotations

import io
from typing import Final

from podiumd.core.excerpt import MARK

MOST_CHARACTERS: Final = 16 * 1024**2
"""What is kept of a turn's messages; no model writes as much in one turn."""
MESSAGE_CHARACTERS: Final = 256
"""What a message counts for itself, so that empty ones are bounded too."""


class Words:
    """The messages of one turn. A piece costs the same however long its message is."""

    def __init__(self, most: int = MOST_CHARACTERS) -> None:
        self._messages: list[io.StringIO] = []
        self._room = most

    def __bool__(self) -> bool:
        """Return whether there is a message."""
        return bool(self._messages)

    def begin(self) -> None:
        """Begin a message; the pieces that follow are its own."""
        if self._room > 0:
            self._messages.append(io.StringIO())
            self._room -= MESSAGE_CHARACTERS

    def add(self, piece: str) -> None:
        """Add a piece to the last message; what is too much is cut and marked, once."""
        if self._room > 0:
            self._messages[-1].write(piece[: self._room])
            self._room -= len(piece)
            if self._room <= 0:
                self._messages[-1].write(MARK)

    def all(self) -> list[str]:
        """Return the messages."""
        return [one.getvalue() for one in self._messages]
