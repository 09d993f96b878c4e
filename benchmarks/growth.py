"""What the parts of ``bench_growth`` hand to it: figures taken at several sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from benchmarks.measure import Figure, number


class Growth(NamedTuple):
    """One figure at several sizes, the smallest first.

    ``goal`` bounds the last against the first; with ``most`` the last itself is bounded, in its
    unit; without both it is told alone.
    """

    name: str
    unit: str
    at: Mapping[str, float]
    goal: float | None = None
    most: float | None = None

    @property
    def ratio(self) -> float:
        """The last against the first; too little to measure is the least there is."""
        values = list(self.at.values())
        return values[-1] / max(values[0], 1e-9)

    def row(self) -> list[str]:
        """A line of the table."""
        told = ", ".join(f"{size}: {number(value)}" for size, value in self.at.items())
        return [self.name, self.unit, told, number(self.ratio)]

    def figures(self) -> list[Figure]:
        """The figures with a goal."""
        sizes = list(self.at)
        first, last = sizes[0], sizes[-1]
        found = []
        if self.goal is not None:
            found.append(Figure(f"{self.name}, {last}", self.ratio, f"of {first}", self.goal))
        if self.most is not None:
            found.append(Figure(f"{self.name}, {last}", self.at[last], self.unit, self.most))
        return found


HEADER = ("what", "unit", "at", "ratio")
