"""Says how long to wait before the whole tree of transcripts is looked at again."""

from __future__ import annotations

from typing import Final

SWEEP_SECONDS: Final = 60.0
"""Between two looks at the whole tree, while everything is watched."""

LONGEST_SECONDS: Final = 900.0
"""So long at most what the watch has missed of a transcript that nobody follows stays unknown."""

UNWATCHED_SWEEP_SECONDS = 2.0
"""Between two looks while something is not watched."""

SHARE: Final = 0.005
"""Of one processor, for looking at what the watch would have told of."""


def pause_after(cost: float, *, complete: bool) -> float:
    """Seconds until the next look, after one of ``cost`` seconds of CPU.

    ``complete``: everything is watched. Else the looks are all that tells of changes.
    """
    if not complete:
        return UNWATCHED_SWEEP_SECONDS
    return min(max(SWEEP_SECONDS, cost / SHARE), LONGEST_SECONDS)
