"""Lifting facts of earlier releases to the versions this one knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


class Upcasters:
    """The steps from each old version of a fact's data to the next one.

    Parameters: ``steps`` maps (type, version) to the function that lifts data of that version
    by one. A type without steps is at version 1.
    Raises ``ValueError`` when a type's steps leave out a version.
    """

    def __init__(self, steps: Mapping[tuple[str, int], Upcaster]) -> None:
        self._steps = dict(steps)
        self._current: dict[str, int] = {}
        for kind, version in sorted(self._steps):
            if version != self.current(kind):
                raise ValueError(f"no upcaster lifts {kind} from version {self.current(kind)}")
            self._current[kind] = version + 1

    def current(self, kind: str) -> int:
        """Return the version in which facts of this type are written now."""
        return self._current.get(kind, 1)

    def lift(self, kind: str, version: int, data: bytes) -> bytes:
        """Return the data as if written now.

        Raises the error of the decoder or of a step on data it cannot read.
        """
        current = self.current(kind)
        if version == current:
            return data
        value = msgspec.json.decode(data, type=dict[str, Any])
        for step in range(version, current):
            value = self._steps[kind, step](value)
        return msgspec.json.encode(value)
