"""The list of cases: functions that play turns of a driver, and hold what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from tests.drivers.kit.bench import Bench

Play = Callable[[Bench], Awaitable[None]]


class Case(msgspec.Struct, frozen=True):
    """A case: what it is called, and how it is played.

    ``long``: only 'make test-long' plays it. ``still``: it is played by a clock that stands still.
    """

    name: str
    play: Play
    long: bool = False
    still: bool = False


CASES: Final[dict[str, Case]] = {}
"""By name, in order."""


def case(number: str, *, long: bool = False, still: bool = False) -> Callable[[Play], Play]:
    """Put a function into the list, under its number and its own name."""

    def add(play: Play) -> Play:
        name = f"{number}-{getattr(play, '__name__', '').replace('_', '-')}"
        assert name not in CASES and not any(one.startswith(f"{number}-") for one in CASES)
        CASES[name] = Case(name, play, long, still)
        return play

    return add
