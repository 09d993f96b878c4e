"""Time axis of the picture: work to scale, long waiting cut short."""

from __future__ import annotations

from collections.abc import Iterable

Span = tuple[float, float]

LONGEST_IDLE, MOST_IDLE = 0.08, 0.5
"""One stretch without work, and all of them, may take this part of what work takes."""

STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)
TICKS = 9
TICK_ROOM = 64.0
"""The least distance of two ticks in the picture."""


def union(spans: Iterable[Span]) -> list[Span]:
    """Merge stretches of time into an ordered list without overlap."""
    joined: list[Span] = []
    for began, ended in sorted(span for span in spans if span[1] > span[0]):
        if joined and began <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(ended, joined[-1][1]))
        else:
            joined.append((began, ended))
    return joined


def without(spans: list[Span], holes: list[Span]) -> list[Span]:
    """Return the parts of spans outside the holes; both as ``union`` returns them."""
    left = []
    for began, ended in spans:
        reached = began
        for opened, closed in holes:
            if closed > reached and opened < ended:
                left.append((reached, opened))
                reached = closed
        left.append((reached, ended))
    return union(left)


class Axis:
    """Maps epoch seconds to places from ``left`` to ``right``."""

    def __init__(self, whole: Span, work: list[Span], left: float, right: float) -> None:
        self._whole, self._left = whole, left
        idle = without([whole], work)
        busy = sum(ended - began for began, ended in work)
        # Only stretches that are long beside the work are cut.
        most = busy * min(LONGEST_IDLE, MOST_IDLE / max(1, len(idle)))
        self.cuts = [(a, b) for a, b in idle if busy and b - a > most]
        self._pieces = self._made(most)
        shown = sum(length for _, _, length in self._pieces)
        self.shown_seconds = shown
        self._scale = (right - left) / shown if shown else 0.0

    def _made(self, most: float) -> list[tuple[float, float, float]]:
        """List the stretches (began, ended, shown seconds) that make up the picture."""
        made = [(began, ended, most) for began, ended in self.cuts]
        made += [
            (began, ended, ended - began) for began, ended in without([self._whole], self.cuts)
        ]
        return sorted(made)

    def at(self, moment: float) -> float:
        """Return the position of a time; one outside the picture stands at the edge."""
        place = self._left
        for began, ended, shown in self._pieces:
            if moment <= began:
                break
            place += self._scale * shown * (min(moment, ended) - began) / (ended - began)
        return place

    def ticks(self) -> list[tuple[float, float]]:
        """Ticks as (seconds since the beginning, place), never too close to each other."""
        began, ended = self._whole
        most = self.shown_seconds / TICKS
        step = next((one for one in STEPS if one >= most), None)
        if step is None:
            step = 86400.0 * max(1, round(most / 86400))
        placed: list[tuple[float, float]] = []
        for seconds in self._round_times(step):
            place = self.at(began + seconds)
            if not placed or place - placed[-1][1] >= TICK_ROOM:
                placed.append((seconds, place))
        return placed if ended > began else [(0.0, self._left)]

    def _round_times(self, step: float) -> list[float]:
        """Multiples of ``step`` outside the cuts, and where work begins again after one."""
        times = [0.0]
        for piece_began, piece_ended, _ in self._pieces:
            began, ended = piece_began - self._whole[0], piece_ended - self._whole[0]
            if (piece_began, piece_ended) in self.cuts:
                times.append(ended)
                continue
            first, last = int(began / step) + 1, int(ended / step)
            times += [count * step for count in range(first, last + 1)]
        return times
