"""Counts bytes of texts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate


def size_of(text: str) -> int:
    """The bytes of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def sums(sizes: Iterable[int]) -> list[int]:
    """How much the first are together: of none, of one, of two..."""
    return list(accumulate(sizes, initial=0))
