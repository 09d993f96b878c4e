"""The times to ask a model again: what is worth another attempt, how many, how long to wait."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Final

import msgspec

_OF_A_MOMENT: Final = frozenset((408, 409, 425, 429))
_FOR_GOOD: Final = frozenset((501, 505))


class RetryPolicy(msgspec.Struct, frozen=True):
    """Bounds of the attempts to get one reply.

    ``attempts``: at most so many; ``seconds``: no further one begins later than this after the
    first; ``first``, ``longest``: the wait grows from one to the other, doubling, where the server
    names none. A server may ask for at most ``patience`` seconds: an account's limit is never sat
    out. ``chance`` (0 to 1) spreads the waits of those that failed together.
    """

    attempts: int = 6
    seconds: float = 600.0
    patience: float = 120.0
    first: float = 1.0
    longest: float = 30.0
    chance: Callable[[], float] = random.random

    def wait(self, failed: int, asked: float | None, passed: float) -> float | None:
        """Return the seconds until the next attempt; ``None``: give up.

        ``failed`` attempts have been made in ``passed`` seconds; ``asked`` is what the server
        wants, which is kept or given up on, never cut short.
        """
        own = min(self.longest, self.first * 2.0 ** min(failed - 1, 16))
        seconds = own * (0.75 + 0.25 * self.chance()) if asked is None else asked
        if asked is not None and asked > self.patience:
            return None
        if failed >= self.attempts or passed + seconds > self.seconds:
            return None
        return seconds


def worth_another(status: int, headers: Mapping[str, str]) -> bool:
    """Return whether the answer to a later request may differ; the server's own word wins."""
    word = headers.get("x-should-retry", "")
    if word in ("true", "false"):
        return word == "true"
    return status in _OF_A_MOMENT or (500 <= status < 600 and status not in _FOR_GOOD)


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Parse the seconds that the server asks for, as a number or a date; ``None`` without one."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        date = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, date.timestamp() - now())
