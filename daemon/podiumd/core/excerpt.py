"""Cut a text of unknown length for a message, and mark where it is cut."""

from __future__ import annotations

from typing import Final

MARK: Final = "…"


def beginning(text: str, most: int) -> str:
    """Return the beginning of a text, of at most so many characters and the mark."""
    return text if len(text) <= most else f"{text[:most]}{MARK}"


def end(text: str, most: int) -> str:
    """Return the end of a text, of at most so many characters and the mark."""
    return text if len(text) <= most else f"{MARK}{text[-most:]}"
