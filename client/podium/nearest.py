"""Search for the word that was likely meant, and for the common prefix of two words."""

from __future__ import annotations

from collections.abc import Iterable

_ALIKE = 0.7
"""How much of two words must be the same, from 0 to 1: one letter wrong, missing or moved in a word
of four, and nothing as far off as ``runz`` is from ``prune``."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the word of ``known`` that is most like ``word``; ``None`` where none is near.

    One of the same length goes first: a wrong letter is likelier than one too many.
    """
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), cutoff=_ALIKE)
    return next((one for one in found if len(one) == len(word)), next(iter(found), None))


def common(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
