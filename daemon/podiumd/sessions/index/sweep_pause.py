"""Says how long to wait before the whole tree of transcripts is looked at again."""

from __future__ import annotations

from typing import Final

SWEEP_SECONDS: Final = 60.0
"""Between two looks at the whole tree, while everything is watched."""

LONGEST_SECONDS: Final = 900.0
"""Seconds at most for which a change that the watch missed stays unknown, in a transcript that is
not followed."""

UNWATCHED_SWEEP_SECONDS = 2.0
"""Between two looks while something is not watched."""

SHARE: Final = 0.005
"""Share of one processor, for looking at what the watch would have reported."""


def pause_after(cost: float, *, complete: bool) -> float:
    """Return the seconds until the next look, after one of ``cost`` seconds of CPU.

    ``complete``: everything is watched. Else the looks are all that shows changes.
    """
    if not complete:
        return UNWATCHED_SWEEP_SECONDS
    return min(max(SWEEP_SECONDS, cost / SHARE), LONGEST_SECONDS)
