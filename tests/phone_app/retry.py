"""When an app that lost its connection tries again."""

from __future__ import annotations

from collections.abc import Callable

from tests.phone_app.variants import Variant

LONGEST_SECONDS = 30.0
JITTER = 0.25


class Retry:
    """The delays of one app; ``chance`` gives numbers from 0 up to 1."""

    def __init__(self, variant: Variant, chance: Callable[[], float]) -> None:
        self._jittered = variant.family == "swift"
        self._most = variant.most_attempts
        self._chance = chance
        self.attempts = 0

    def next(self) -> float | None:
        """Seconds until the next attempt; ``None`` when the app gives up."""
        if self.attempts >= self._most:
            return None
        delay = min(2.0**self.attempts, LONGEST_SECONDS)
        self.attempts += 1
        if self._jittered:
            delay *= 1 - JITTER + 2 * JITTER * self._chance()
        return max(1.0, delay)

    def reset(self) -> None:
        """A connection stands, or the person came back to the app."""
        self.attempts = 0
