"""Context of a handler: the service, the daemon's own particulars, and feeds to its client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

import trio

from podiumd.runtime.api import GatewayControl, Subscription
from podiumd.runtime.service import Service
from podiumd.runtime.tool_access import Reply
from podiumd.runtime.voice.service import Voice
from podiumd.wire.agents import Agent
from podiumd.wire.daemon import (
    Configuration,
    ConfigurationStatus,
    LimitsInForce,
    Reloaded,
    RetentionInForce,
)
from podiumd.wire.method import Scope

S = TypeVar("S", bound=Subscription)


class SettingsControl(Protocol):
    """The daemon's settings (``podiumd.config.reload.Settings``)."""

    def status(self) -> ConfigurationStatus: ...
    def document(self) -> Configuration: ...
    def limits(self) -> LimitsInForce: ...
    def retention(self) -> RetentionInForce: ...
    async def reload(self) -> Reloaded:
        """Read the configuration anew. Raises ``ConfigError`` and ``PlaceError``."""
        ...


@dataclass(frozen=True, kw_only=True)
class DaemonInfo:
    """Particulars of the daemon for ``daemon.status`` beside the service, and the request to stop.

    ``started_at`` is RFC 3339; ``request_shutdown`` returns at once, its caller gets its answer.
    ``voice`` makes text of speech. ``agents`` looks at the agents. ``tools`` answers agents
    (``podiumd.runtime.tool_access.ToolAccess.message``). ``on_request`` is called at every line
    that a client sends. ``service`` is the service manager that runs the daemon: ``systemd``,
    ``launchd`` or none. ``now`` returns the present as RFC 3339.
    """

    version: str
    pid: int
    started_at: str
    socket: str
    request_shutdown: Callable[[Literal["leave", "interrupt"]], None]
    gateway: GatewayControl
    settings: SettingsControl
    tools: Callable[[str, str, str | None], Awaitable[Reply]]
    agents: Callable[[], Awaitable[list[Agent]]]
    voice: Voice | None = None
    on_request: Callable[[], None] = lambda: None
    service: str | None = None
    now: Callable[[], str] = lambda: ""


class FeedHost(Protocol):
    """The connection, as far as a handler sees it. ``caller`` is who asks, for what is stored of
    it: the name of a device, or ``local`` at the socket."""

    caller: str
    scope: Scope

    async def open_feed(
        self,
        source: AbstractAsyncContextManager[S],
        method: str,
        answered: trio.Event,
    ) -> S:
        """Enter the feed and return it. Its notifications start when ``answered`` is set, and
        one about the same thing ends. Raises what entering raises, and Overloaded."""
        ...

    def close_feed(self, method: str, about: str) -> None:
        """End the feeds of this method about what ``about`` begins."""
        ...


class RequestContext:
    """The context of one line of requests, or of several that run one after another."""

    __slots__ = ("_answered", "_host", "info", "service")

    def __init__(self, service: Service, info: DaemonInfo, host: FeedHost) -> None:
        self.service = service
        self.info = info
        self._host = host
        self._answered: trio.Event | None = None

    @property
    def caller(self) -> str:
        """Return who asks."""
        return self._host.caller

    @property
    def scope(self) -> Scope:
        """Return what its device may do."""
        return self._host.scope

    async def open_feed(self, source: AbstractAsyncContextManager[S], method: str) -> S:
        """Begin to notify the client of ``source`` once the line in hand is answered."""
        if self._answered is None:
            self._answered = trio.Event()
        return await self._host.open_feed(source, method, self._answered)

    def close_feed(self, method: str, about: str) -> None:
        """Notify the client of this no more."""
        self._host.close_feed(method, about)

    def answered(self) -> None:
        """Mark the answer as on its way: feeds opened by the line may speak; the next may run."""
        if self._answered is not None:
            self._answered.set()
            self._answered = None
