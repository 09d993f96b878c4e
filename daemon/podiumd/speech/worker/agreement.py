"""Stable words of a text that changes while it is spoken.

Two readings of growing audio in a row agree on their first words: those are reported
(LocalAgreement).
"""

from __future__ import annotations


class Agreement:
    """The words that two readings in a row have begun with."""

    def __init__(self) -> None:
        self._last: list[str] = []
        self._agreed: list[str] = []

    def take(self, text: str) -> str:
        """Take one more reading; return the agreed beginning, which never gets shorter."""
        words = text.split()
        same = 0
        for before, now in zip(self._last, words, strict=False):
            if _plain(before) != _plain(now):
                break
            same += 1
        if same > len(self._agreed):
            self._agreed = words[:same]
        self._last = words
        return " ".join(self._agreed)


def _plain(word: str) -> str:
    return word.strip(".,;:!?…\"'()-").casefold()
