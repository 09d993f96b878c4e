"""A mapping that only grows, as a value: one more entry costs no copy of those before it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Grown(Mapping[Key, Value]):
    """An immutable mapping in the order of its keys' first entries.

    It is made of parts, each more than twice as long as the one after it. What is added is a part
    of one entry, and parts that have become alike in length become one: so an entry is copied as
    often as the length can be halved, and an answer looks into no more parts than that.
    """

    __slots__ = ("_length", "_parts")

    def __init__(self) -> None:
        self._parts: tuple[dict[Key, Value], ...] = ()
        self._length = 0

    def plus(self, key: Key, value: Value) -> Grown[Key, Value]:
        """Return this mapping with one more entry, or with another value of one that it has."""
        parts, last = self._parts, {key: value}
        while parts and len(parts[-1]) <= 2 * len(last):
            parts, last = parts[:-1], parts[-1] | last
        grown: Grown[Key, Value] = Grown()
        grown._parts = (*parts, last)
        grown._length = self._length + (key not in self)
        return grown

    def __getitem__(self, key: Key) -> Value:
        for part in reversed(self._parts):
            if key in part:
                return part[key]
        raise KeyError(key)

    def __iter__(self) -> Iterator[Key]:
        return iter(dict.fromkeys(key for part in self._parts for key in part))

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"Grown({dict(self)})"
