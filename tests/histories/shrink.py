"""The shortest history that still goes wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tests.histories.history import Step

TRIES = 3
"""How often a history is played that did not fail at once: the moments differ."""

LONGEST_SECONDS = 120.0


def shrink(
    steps: Sequence[Step], wrong: Callable[[Sequence[Step]], str | None]
) -> tuple[list[Step], str | None]:
    """Leave out all steps that are not needed for a history to go wrong.

    Parameters: ``wrong`` plays steps and tells what went wrong, or None.
    Returns the steps that are left and what goes wrong with them; None where even the whole
    history no longer does.
    """
    deadline = time.monotonic() + LONGEST_SECONDS

    def fails(some: Sequence[Step]) -> str | None:
        return next((said for _ in range(TRIES) if (said := wrong(some))), None)

    left, told = list(steps), fails(steps)
    size = len(left) // 2
    while told is not None and size:
        at = 0
        while at < len(left) and time.monotonic() < deadline:
            fewer = left[:at] + left[at + size :]
            said = fails(fewer)
            if said is None:
                at += size
            else:
                left, told = fewer, said
        size //= 2
    return left, told
