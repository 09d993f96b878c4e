"""How many may be connected: in all, as strangers, and as strangers from one address. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from podiumd.gateway.guard import counted_as
from podiumd.gateway.hosts import canonical, is_loopback
from podiumd.gateway.limits import GatewayLimits


@dataclass
class Counts:
    """The connections that are open; the counters are by address and hold no zeros."""

    connections: int = 0
    strangers: Counter[str] = field(default_factory=Counter)
    strange_phones: Counter[str] = field(default_factory=Counter)


class Place:
    """What one connection holds of the caps until it has ended or, in part, is trusted."""

    def __init__(self, counts: Counts, address: str, most_phones: int) -> None:
        self._counts = counts
        self._address = address
        self._most_phones = most_phones
        self._held: list[Counter[str]] = []
        self._left = False
        counts.connections += 1
        self._hold(counts.strangers)

    def take_phone(self) -> bool:
        """Count it as a phone; ``False`` when its address has enough strange ones."""
        phones = self._counts.strange_phones
        if self._held and phones[self._address] >= self._most_phones:
            return False
        if self._held:
            self._hold(phones)
        return True

    @property
    def trusted(self) -> bool:
        """Whether it has authenticated."""
        return not self._held

    def trust(self) -> None:
        """It has authenticated: it is no stranger any more."""
        while self._held:
            counter = self._held.pop()
            counter[self._address] -= 1
            if not counter[self._address]:
                del counter[self._address]

    def leave(self) -> None:
        """It has ended."""
        self.trust()
        if not self._left:
            self._left = True
            self._counts.connections -= 1

    def _hold(self, counter: Counter[str]) -> None:
        counter[self._address] += 1
        self._held.append(counter)


class Admission:
    """Gives each connection its place, or says why there is none."""

    def __init__(self, limits: GatewayLimits) -> None:
        self._limits = limits
        self.counts = Counts()

    def admit(self, peer: str) -> Place | str:
        """A place for a connection from this address, or the reason why there is none."""
        limits, counts = self._limits, self.counts
        address = counted_as(peer)
        loopback = is_loopback(canonical(peer))
        if counts.connections >= limits.connections:
            return "too many connections"
        if counts.strangers.total() >= limits.strangers:
            return "too many connections that have not authenticated"
        if not loopback and counts.strangers[address] >= limits.strangers_per_address:
            return "too many connections of this address that have not authenticated"
        most = limits.strange_phones_on_loopback if loopback else limits.strange_phones_per_address
        return Place(counts, address, most)
