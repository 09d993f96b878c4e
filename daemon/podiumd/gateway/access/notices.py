"""Log lines that strangers can cause: bounded, so that they cannot fill the log."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

import trio

from podiumd.gateway.access.auth_throttle import counted_as
from podiumd.observe.logs import log

_MINUTE_SECONDS: Final = 60.0
_A_MINUTE: Final = 20
_KEY_SECONDS: Final = 1.0
_MOST_ADDRESSES: Final = 1_000


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


class KeyNotices:
    """Writes of keys that were wrong or not looked at: of one address at most one line a second,
    which says how many were left out before it, and of all together at most 60 a minute."""

    def __init__(self) -> None:
        self._notices = Notices(a_minute=60)
        self._told: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def tell(self, event: str, peer: str) -> None:
        """Write a warning about a key from ``peer``, unless there was one in this second."""
        place, now = counted_as(peer), trio.current_time()
        last, left_out = self._told.pop(place, (float("-inf"), 0))
        if now - last < _KEY_SECONDS:
            self._told[place] = (last, left_out + 1)
            return
        self._told[place] = (now, 0)
        if len(self._told) > _MOST_ADDRESSES:
            self._told.popitem(last=False)
        more = {"left_out": left_out} if left_out else {}
        self._notices.tell(event, peer=peer, **more)
