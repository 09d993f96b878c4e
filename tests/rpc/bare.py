"""A daemon's particulars for its socket, without gateway, configuration file and agents' tools."""

from __future__ import annotations

import os
from typing import Any

from msgspec.structs import asdict

from podiumd.config.reload import limits_of
from podiumd.config.settings import Config
from podiumd.rpc.context import DaemonInfo
from podiumd.runtime.errors import NotFound, Refused
from podiumd.runtime.tool_access import REFUSED, Reply
from podiumd.wire.agents import Agent
from podiumd.wire.daemon import (
    Configuration,
    ConfigurationStatus,
    LimitsInForce,
    Reloaded,
    RetentionInForce,
)
from podiumd.wire.gateway import Device, GatewayStatus, Invitation, Pairing
from podiumd.wire.method import Scope


class NoGateway:
    """The ``GatewayControl`` of a daemon that has no gateway."""

    def status(self) -> GatewayStatus:
        """Return the status of a gateway that is off."""
        return GatewayStatus(enabled=False, url=None, clients=0, problem=None, warning=None)

    async def pair(self, name: str | None, png: bool) -> Pairing:
        """Refuse to pair: there is no gateway. Raises Refused."""
        raise Refused("This daemon has no gateway, so no phone could reach it.")

    def invite(self, name: str | None, png: bool, scope: Scope) -> Invitation:
        """Refuse to pair: there is no gateway. Raises Refused."""
        raise Refused("This daemon has no gateway, so no page could reach it.")

    async def rescope(self, device: str, scope: Scope) -> None:
        """Refuse: there is no such device. Raises NotFound."""
        raise NotFound("device", device, f"There is no paired device '{device}'.")

    async def release(self) -> str:
        """No page is served."""
        return ""

    def devices(self) -> list[Device]:
        """Return an empty list: no devices are paired."""
        return []

    async def revoke(self, device: str) -> None:
        """Refuse to revoke: there is no such device. Raises NotFound."""
        raise NotFound("device", device, f"There is no paired device '{device}'.")


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


async def no_tools(token: str, text: str, delivery: str | None) -> Reply:
    """Refuse an agent's message, as the ``tools`` of a daemon whose turns serve none. Raises
    Refused."""
    raise Refused(REFUSED)


async def no_agents() -> list[Agent]:
    """List no agent."""
    return []


def bare_info(**particulars: Any) -> DaemonInfo:
    """Make the particulars of a daemon, as far as a test does not name them."""
    given = {
        "version": "1",
        "pid": os.getpid(),
        "started_at": "2026-01-01T00:00:00.000Z",
        "socket": "",
        "request_shutdown": lambda turns: None,
        "gateway": NoGateway(),
        "settings": NoSettings(),
        "tools": no_tools,
        "agents": no_agents,
    }
    return DaemonInfo(**{**given, **particulars})
