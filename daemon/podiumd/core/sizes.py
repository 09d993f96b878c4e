"""Counts bytes of texts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate


def size_of(text: str) -> int:
    """Return the number of bytes of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def sums(sizes: Iterable[int]) -> list[int]:
    """Return the running sums: of none, of the first, of the first two..."""
    return list(accumulate(sizes, initial=0))
