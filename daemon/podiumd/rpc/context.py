"""What a handler may use: the service, the daemon's own particulars, and feeds to its client."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

import trio

from podiumd.runtime.api import Json, Service, Subscription


def _no_gateway() -> Json:
    return {"enabled": False, "url": None, "clients": 0}


def _no_voice() -> Json:
    return {"state": "off", "model": None}


@dataclass(frozen=True, kw_only=True)
class DaemonInfo:
    """What ``daemon.status`` says beside the service, and how the daemon is asked to stop.

    ``started_at`` is RFC 3339; ``request_shutdown`` returns at once, its caller gets its answer.
    """

    version: str
    pid: int
    started_at: str
    socket: str
    request_shutdown: Callable[[Literal["leave", "interrupt"]], None]
    gateway: Callable[[], Json] = field(default=_no_gateway)
    voice: Callable[[], Json] = field(default=_no_voice)


class FeedHost(Protocol):
    """The connection, as far as a handler sees it."""

    async def open_feed(
        self,
        source: AbstractAsyncContextManager[Subscription],
        method: str,
        answered: trio.Event,
    ) -> int:
        """Enter the feed and return the cursor it begins after. Its notifications start when
        ``answered`` is set. Raises what entering raises, and Overloaded."""
        ...


class RequestContext:
    """The context of one line of requests."""

    __slots__ = ("_answered", "_host", "info", "service")

    def __init__(self, service: Service, info: DaemonInfo, host: FeedHost) -> None:
        self.service = service
        self.info = info
        self._host = host
        self._answered: trio.Event | None = None

    async def open_feed(
        self, source: AbstractAsyncContextManager[Subscription], method: str
    ) -> int:
        """Begin to notify the client of ``source`` once this line is answered."""
        if self._answered is None:
            self._answered = trio.Event()
        return await self._host.open_feed(source, method, self._answered)

    def answered(self) -> None:
        """The answer is on its way: feeds opened by this line may speak."""
        if self._answered is not None:
            self._answered.set()
