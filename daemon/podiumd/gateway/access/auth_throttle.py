"""Throttle for wrong keys: per address, and for all addresses together.

Pure: the clock is handed in. Five wrong keys shut an address out for a second, each further one for
twice as long, up to a minute: ten guesses in the first minute, about one a minute after it. A
shut-out is short on purpose, so that no person is locked out of his own machine. Many addresses
that guess together are held back together; one that has lately given a right key is not, so that
they cannot keep the owner out.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

FREE_TRIES: Final = 5
SHORTEST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 60.0
FORGOTTEN_SECONDS: Final = 600.0
"""How long after its last wrong key an address begins anew."""

MOST_ADDRESSES: Final = 10_000
"""Addresses remembered; beyond, the one that has been quiet for longest is forgotten."""

TOTAL_A_MINUTE: Final = 60
MINUTE_SECONDS: Final = 60.0

TRUSTED_SECONDS: Final = 86_400.0
MOST_TRUSTED: Final = 1_000

_LONGEST_NAME: Final = 64
_DOUBLINGS: Final = 6  # after so many LONGEST_SECONDS is passed; keeps the number small


@dataclass(slots=True)
class _Wrong:
    """The wrong keys of one address. ``at``: of the last one."""

    count: int
    at: float


class AuthThrottle:
    """Counts wrong keys. ``clock`` returns seconds that never run back; ``tell`` hears of each key
    that was wrong or not looked at, with its address."""

    def __init__(
        self, clock: Callable[[], float], tell: Callable[[str, str], None] = lambda *_: None
    ) -> None:
        self._clock = clock
        self._tell = tell
        self._wrong: OrderedDict[str, _Wrong] = OrderedDict()
        self._trusted: OrderedDict[str, float] = OrderedDict()
        self._all: deque[float] = deque(maxlen=TOTAL_A_MINUTE)

    def __len__(self) -> int:
        """Return how many addresses are remembered for wrong keys."""
        return len(self._wrong)

    def delay(self, address: str) -> float:
        """Return the seconds that this address is still shut out; 0: it may try."""
        place, now = counted_as(address), self._clock()
        return max(0.0, self._own_end(place, now) - now, self._common_end(place, now) - now)

    def knows(self, address: str) -> bool:
        """Return whether a right key came from there in the last day."""
        trusted = self._trusted.get(counted_as(address))
        return trusted is not None and self._clock() - trusted < TRUSTED_SECONDS

    def wrong(self, address: str) -> None:
        """Note a wrong key from this address."""
        place, now = counted_as(address), self._clock()
        found = self._recent(place, now)
        self._wrong[place] = _Wrong(1 if found is None else found.count + 1, now)
        self._wrong.move_to_end(place)
        if len(self._wrong) > MOST_ADDRESSES:
            self._wrong.popitem(last=False)
        self._all.append(now)
        self._tell("Wrong key", address)

    def put_off(self, address: str) -> None:
        """Log a key from this address that was not looked at, for the wrong ones before it."""
        self._tell("Key not looked at", address)

    def right(self, address: str) -> None:
        """Note a right key from this address, and forget its wrong ones."""
        place = counted_as(address)
        self._wrong.pop(place, None)
        self._trusted[place] = self._clock()
        self._trusted.move_to_end(place)
        if len(self._trusted) > MOST_TRUSTED:
            self._trusted.popitem(last=False)

    def _recent(self, place: str, now: float) -> _Wrong | None:
        found = self._wrong.get(place)
        if found is None or now - found.at < FORGOTTEN_SECONDS:
            return found
        del self._wrong[place]
        return None

    def _own_end(self, place: str, now: float) -> float:
        found = self._recent(place, now)
        if found is None or found.count < FREE_TRIES:
            return now
        seconds = SHORTEST_SECONDS * (1 << min(found.count - FREE_TRIES, _DOUBLINGS))
        return found.at + min(LONGEST_SECONDS, seconds)

    def _common_end(self, place: str, now: float) -> float:
        """Return when the oldest of the last wrong keys of all addresses is a minute old."""
        if self.knows(place):
            return now
        return self._all[0] + MINUTE_SECONDS if len(self._all) == TOTAL_A_MINUTE else now


def counted_as(address: str) -> str:
    """Return the name that an address is counted under.

    IPv6 counts by its /64, which one household or server has whole; IPv4 written as IPv6 as that
    IPv4; text that is no address by its first characters.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:_LONGEST_NAME]
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(found) >> 64 << 64, 64)))
