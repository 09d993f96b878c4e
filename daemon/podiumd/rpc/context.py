"""Context of a handler: the service, the daemon's own particulars, and feeds to its client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

import trio
from msgspec.structs import asdict

from podiumd.config.reload import limits_of
from podiumd.config.settings import Config
from podiumd.runtime.api import GatewayControl, Subscription
from podiumd.runtime.errors import NotFound, Refused
from podiumd.runtime.service import Service
from podiumd.runtime.tool_access import REFUSED, Reply
from podiumd.runtime.voice.service import Voice
from podiumd.wire.daemon import (
    Configuration,
    ConfigurationStatus,
    LimitsInForce,
    Reloaded,
    RetentionInForce,
)
from podiumd.wire.gateway import Device, GatewayStatus, Pairing

S = TypeVar("S", bound=Subscription)


class NoGateway:
    """The ``GatewayControl`` of a daemon that has no gateway."""

    def status(self) -> GatewayStatus:
        """Return the status of a gateway that is off."""
        return GatewayStatus(enabled=False, url=None, clients=0, problem=None, warning=None)

    async def pair(self, name: str | None, png: bool) -> Pairing:
        """Refuse to pair: there is no gateway. Raises Refused."""
        raise Refused("This daemon has no gateway, so no phone could reach it.")

    def devices(self) -> list[Device]:
        """Return an empty list: no devices are paired."""
        return []

    async def revoke(self, device: str) -> None:
        """Refuse to revoke: there is no such device. Raises NotFound."""
        raise NotFound("device", device, f"There is no paired device '{device}'.")


class SettingsControl(Protocol):
    """The daemon's settings (``podiumd.config.reload.Settings``)."""

    def status(self) -> ConfigurationStatus: ...
    def document(self) -> Configuration: ...
    def limits(self) -> LimitsInForce: ...
    def retention(self) -> RetentionInForce: ...
    async def reload(self) -> Reloaded:
        """Read the configuration anew. Raises ``ConfigError`` and ``PlaceError``."""
        ...


class NoSettings:
    """The ``SettingsControl`` of a daemon that was given its settings by hand."""

    def status(self) -> ConfigurationStatus:
        """There is no file."""
        return ConfigurationStatus(path=None, problem=None, pending=(), restart="", warnings=())

    def document(self) -> Configuration:
        """Return the configuration without any settings."""
        return Configuration(**asdict(self.status()), values=())

    def limits(self) -> LimitsInForce:
        """Return the limits that hold without a file."""
        return limits_of(Config())

    def retention(self) -> RetentionInForce:
        """Return the retention that holds without a file."""
        return RetentionInForce(**asdict(Config().retention))

    async def reload(self) -> Reloaded:
        """Refuse to reload: there is no configuration file. Raises Refused."""
        raise Refused("This daemon has no configuration file.")


def _nothing() -> None:
    pass


async def no_tools(token: str, text: str, delivery: str | None) -> Reply:
    """Refuse an agent's message, as the ``tools`` of a daemon whose turns serve none. Raises
    Refused."""
    raise Refused(REFUSED)


@dataclass(frozen=True, kw_only=True)
class DaemonInfo:
    """Particulars of the daemon for ``daemon.status`` beside the service, and the request to stop.

    ``started_at`` is RFC 3339; ``request_shutdown`` returns at once, its caller gets its answer.
    ``voice`` makes text of speech. ``tools`` answers agents
    (``podiumd.runtime.tool_access.ToolAccess.message``). ``on_request`` is called at every line
    that a client sends. ``service`` is the service manager that runs the daemon: ``systemd``,
    ``launchd`` or none.
    """

    version: str
    pid: int
    started_at: str
    socket: str
    request_shutdown: Callable[[Literal["leave", "interrupt"]], None]
    gateway: GatewayControl = field(default_factory=NoGateway)
    voice: Voice | None = None
    settings: SettingsControl = field(default_factory=NoSettings)
    tools: Callable[[str, str, str | None], Awaitable[Reply]] = field(default=no_tools)
    on_request: Callable[[], None] = field(default=_nothing)
    service: str | None = None


class FeedHost(Protocol):
    """The connection, as far as a handler sees it."""

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
