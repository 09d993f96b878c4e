"""The sessions that one phone knows of. Pure.

An app makes its row of a session from ``session_list`` and ``session_created`` alone: one that only
stands in ``recent_sessions`` cannot be opened there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

MOST_TOLD: Final = 1000
"""Sessions that are remembered; one that was forgotten is reported once more when it changes."""


class Told:
    """The ids of the sessions that a phone knows, or wants to hear nothing of."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def add(self, session_ids: Iterable[str]) -> None:
        """Note that the phone knows of these from now on."""
        self._ids.update(dict.fromkeys(session_ids))
        while len(self._ids) > MOST_TOLD:
            del self._ids[next(iter(self._ids))]

    def unknown(self, session_ids: Sequence[str]) -> list[str]:
        """Return those of them that the phone does not know yet."""
        known = self._ids
        return [each for each in session_ids if each not in known]
