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
from tests.gateway.phone.office import Office, open_office
from tests.gateway.routes.client import Client
from tests.runtime.harness import Machine


class Station(Client):
    """The caller that a paired device ``mine`` is, and what is behind the port."""

    def __init__(
        self, office: Office, port: int, key: str, meters: Meters, routes: dict[Any, Any]
    ) -> None:
        super().__init__(port, key)
        self.routes = routes
        self.office = office
        self.meters = meters
        self.daemon = office.daemon

    @property
    def where(self) -> str:
        """A directory to work in."""
        return str(self.daemon.machine.project)

    async def other(self, name: str) -> Client:
        """A further device."""
        _, key = await self.office.devices.pair(name)
        return Client(self.port, key)


@asynccontextmanager
async def open_station(machine: Machine, home: Path) -> AsyncIterator[Station]:
    """The routes as the daemon puts them together, with the office's phones beside them."""
    async with open_office(machine, home) as office:
        settings = GatewaySettings()
        control = Control(
            settings, office.devices, config_file="config.toml", user="ada", restart="podium up"
        )
        meters = Meters()
        daemon = office.daemon
        routes = gateway_service._routes(
            office.voice, daemon.service, daemon.store, office.hub.services.workshop, meters
        )
        apps = Apps()
        apps.phone = office.hub.serve
        apps.http = Routes(DeviceAccess(office.devices, office.throttle), routes).handle
        apps.delay = office.throttle.delay  # type: ignore[method-assign]
        async with served(apps) as gateway:
            control.opened(gateway, None)
            _, key = await office.devices.pair("mine")
            yield Station(office, gateway.port, key, meters, routes)
