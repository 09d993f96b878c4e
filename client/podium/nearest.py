"""Search for the word that was likely meant, and for the common prefix of two words."""

from __future__ import annotations

from collections.abc import Iterable

_ALIKE = 0.7
"""How much of two words must be the same, from 0 to 1: one letter wrong, missing or moved in a word
of four, and nothing as far off as ``runz`` is from ``prune``."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the word of ``known`` that is most like ``word``; ``None`` where none is near."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=_ALIKE)), None)


def common(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
