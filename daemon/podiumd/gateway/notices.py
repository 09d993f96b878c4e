"""Log lines that strangers can cause: bounded, so that they cannot fill the log."""

from __future__ import annotations

from typing import Any, Final

import trio

from podiumd.logs import log

_MINUTE_SECONDS: Final = 60.0
_A_MINUTE: Final = 20


class Notices:
    """Writes at most so many lines a minute, and then how many were left out."""

    def __init__(self, a_minute: int = _A_MINUTE) -> None:
        self._a_minute = a_minute
        self._minute = float("-inf")
        self._told = 0
        self._left_out = 0

    def tell(self, event: str, **fields: Any) -> None:
        """Write a warning, unless there were too many."""
        now = trio.current_time()
        if now - self._minute >= _MINUTE_SECONDS:
            if self._left_out:
                log("Warnings left out", "warning", count=self._left_out)
            self._minute, self._told, self._left_out = now, 0, 0
        if self._told < self._a_minute:
            self._told += 1
            log(event, "warning", **fields)
        else:
            self._left_out += 1
