"""Admission of connections: how many in all, and how many strangers. Pure.

A stranger is a connection that has not authenticated. Any host that can reach the port can open any
number of them, so a stranger is never kept for having come first: where there are too many, one
makes room for the newest, chosen so that the owner, who has authenticated within a second of
connecting, is not the one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from podiumd.gateway.access.auth_throttle import counted_as
from podiumd.gateway.access.hosts import canonical, is_loopback
from podiumd.gateway.limits import GatewayLimits

Drop = Callable[[], None]


class Place:
    """The place that one connection holds until it has ended or, in part, is trusted.

    ``most_phones``: that its address may have as strangers. ``known``: a right key came from there
    lately. ``spoke``: it has sent a request; ``phone``: one that opened a WebSocket; ``trusted``:
    it has authenticated; ``visiting``: it was answered with a file that anybody may have, and may
    ask for another.
    """

    def __init__(
        self, admission: Admission, address: str, most_phones: int, known: bool, drop: Drop
    ) -> None:
        self.address = address
        self.most_phones = most_phones
        self.known = known
        self.spoke = False
        self.phone = False
        self.trusted = False
        self.visiting = False
        self.drop = drop
        self._admission = admission

    def ask(self) -> None:
        """Note a request. A visitor is a stranger again until it is answered with a file."""
        self.spoke = True
        if self.visiting:
            self.visiting = False
            self._admission.visitors.pop(self, None)
            self._admission.strangers[self] = None

    def visit(self) -> None:
        """Count it as a visitor, in place of a stranger, until its next request. Where there are
        too many, the oldest of its address goes, else the oldest."""
        if self.trusted or self.visiting or self not in self._admission.places:
            return
        visitors, limits = self._admission.visitors, self._admission.limits
        mine = [each for each in visitors if each.address == self.address]
        if len(mine) >= limits.visitors_per_address and not is_loopback(self.address):
            mine[0].give_way()
        elif len(visitors) >= limits.visitors:
            next(iter(visitors)).give_way()
        self.visiting = True
        self._admission.strangers.pop(self, None)
        visitors[self] = None

    def take_phone(self) -> None:
        """Count it as a phone; the oldest strange one of an address that has too many goes."""
        strangers = self._admission.strangers
        phones = [each for each in strangers if each.phone and each.address == self.address]
        self.phone = True
        if self in strangers and len(phones) >= self.most_phones:
            phones[0].give_way()

    def trust(self) -> None:
        """Mark the connection as authenticated: it is no stranger any more."""
        self.trusted = True
        self._admission.strangers.pop(self, None)

    def leave(self) -> None:
        """Give up the place: the connection has ended."""
        self.visiting = False
        self._admission.places.discard(self)
        self._admission.strangers.pop(self, None)
        self._admission.visitors.pop(self, None)

    def give_way(self) -> None:
        """End the connection at once: its place is another's."""
        self.leave()
        self.drop()


class Admission:
    """Gives each connection its place, and takes a stranger's for it where there is none.

    ``places`` are the connections, ``strangers`` those of them that have not authenticated, the
    oldest first, but for ``visitors``, who load a page.
    """

    def __init__(self, limits: GatewayLimits) -> None:
        self.limits = limits
        self.places: set[Place] = set()
        self.strangers: dict[Place, None] = {}
        self.visitors: dict[Place, None] = {}

    def admit(self, peer: str, drop: Drop, known: bool = False) -> Place | None:
        """Give a place to a connection from this address; ``None`` where every place is held by one
        that has authenticated.

        ``drop`` ends the connection at once, and is called when its place is given to another.
        """
        limits = self.limits
        address = counted_as(peer)
        loopback = is_loopback(canonical(peer))
        of_address = [each for each in self.strangers if each.address == address]
        if not loopback and len(of_address) >= limits.strangers_per_address:
            _oldest(of_address).give_way()
        elif len(self.strangers) >= limits.strangers:
            self._least_wanted().give_way()
        elif len(self.places) >= limits.connections:
            if not self.strangers and not self.visitors:
                return None
            (next(iter(self.visitors)) if self.visitors else self._least_wanted()).give_way()
        most = limits.strange_phones_on_loopback if loopback else limits.strange_phones_per_address
        place = Place(self, address, most, known, drop)
        self.places.add(place)
        self.strangers[place] = None
        return place

    def _least_wanted(self) -> Place:
        """Choose the stranger that goes first: one of an address from which no right key came
        lately, or of which too many come; then one of the address with the most; then one that has
        sent no request yet; then the oldest."""
        crowd = Counter(each.address for each in self.strangers)
        known_places = self.limits.known_strangers

        def wanted(place: Place) -> tuple[bool, int, bool]:
            number = crowd[place.address]
            return place.known and number <= known_places, -number, place.spoke

        return min(self.strangers, key=wanted)


def _oldest(places: Iterable[Place]) -> Place:
    """Return the oldest that has sent no request, else the oldest."""
    return min(places, key=lambda place: place.spoke)
