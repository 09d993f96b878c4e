"""A daemon in the test's own process whose gateway listens on a real port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from podiumd.config.settings import GatewaySettings
from podiumd.gateway import service as gateway_service
from podiumd.gateway.control import Control
from podiumd.gateway.routes.device_access import DeviceAccess
from podiumd.gateway.routes.table import Routes
from podiumd.observe.metrics import Meters
from tests.gateway.harness import Apps, served
from tests.gateway.phone.phone_server import PhoneServer, open_phone_server
from tests.gateway.routes.client import Client
from tests.runtime.harness import Machine


class Station(Client):
    """The caller that a paired device ``mine`` is, and what is behind the port."""

    def __init__(
        self, server: PhoneServer, port: int, key: str, meters: Meters, routes: dict[Any, Any]
    ) -> None:
        super().__init__(port, key)
        self.routes = routes
        self.server = server
        self.meters = meters
        self.daemon = server.daemon

    @property
    def where(self) -> str:
        """A directory to work in."""
        return str(self.daemon.machine.project)

    async def other(self, name: str) -> Client:
        """A further device."""
        _, key = await self.server.devices.pair(name)
        return Client(self.port, key)


@asynccontextmanager
async def open_station(machine: Machine, home: Path) -> AsyncIterator[Station]:
    """The routes as the daemon puts them together, with the server's phones beside them."""
    async with open_phone_server(machine, home) as server:
        settings = GatewaySettings()
        control = Control(
            settings, server.devices, config_file="config.toml", user="ada", restart="podium up"
        )
        meters = Meters()
        daemon = server.daemon
        routes = gateway_service._routes(
            server.voice, daemon.service, daemon.store, server.hub.services.workshop, meters
        )
        apps = Apps()
        apps.phone = server.hub.serve
        apps.http = Routes(DeviceAccess(server.devices, server.throttle), routes).handle
        apps.delay = server.throttle.delay  # type: ignore[method-assign]
        async with served(apps) as gateway:
            control.opened(gateway, None)
            _, key = await server.devices.pair("mine")
            yield Station(server, gateway.port, key, meters, routes)
