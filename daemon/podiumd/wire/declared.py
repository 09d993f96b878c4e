"""Index of the protocol: every method and every notification, sorted by name."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Final, TypeVar

from podiumd.wire import agents, daemon, events, gateway, questions, recipes, runs, sessions, voice
from podiumd.wire.method import Method, Notification

D = TypeVar("D")

NOUNS: Final = (agents, daemon, events, gateway, questions, recipes, runs, sessions, voice)


def _of(kind: type[D]) -> tuple[D, ...]:
    found = [one for noun in NOUNS for one in vars(noun).values() if isinstance(one, kind)]
    return tuple(sorted(found, key=attrgetter("name")))


METHODS: Final[tuple[Method[Any, Any], ...]] = _of(Method)
NOTIFICATIONS: Final[tuple[Notification[Any], ...]] = _of(Notification)
