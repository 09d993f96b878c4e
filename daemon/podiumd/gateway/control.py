"""Control of the gateway by the socket's clients: its state, pairing, devices, revoking."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import trio
from msgspec import UNSET
from msgspec.structs import replace

from podiumd.config.settings import GatewaySettings
from podiumd.gateway.access import invitations, qr
from podiumd.gateway.access.devices import Devices
from podiumd.gateway.access.invitations import Invitations
from podiumd.gateway.network import reach
from podiumd.gateway.network.addresses import Address, own_addresses, own_names
from podiumd.gateway.tls.certificate import Tls
from podiumd.observe.logs import log
from podiumd.runtime.errors import Refused
from podiumd.wire.gateway import Device, GatewayStatus, Invitation, Pairing
from podiumd.wire.method import Scope


class Running(Protocol):
    """The listener, as far as its state is reported. ``clients``: phones connected now."""

    @property
    def port(self) -> int: ...
    @property
    def clients(self) -> int: ...
    def allow(self, hosts: Sequence[str], origins: Sequence[str]) -> None: ...


async def _no_page() -> str:
    return ""


class Control:
    """A ``GatewayControl``. It works from the start; ``opened`` and ``failed`` say what became of
    the listener. ``config_file``, ``user`` and the command for a ``restart`` are for the words
    to people."""

    def __init__(
        self,
        settings: GatewaySettings,
        devices: Devices,
        *,
        config_file: str,
        user: str,
        restart: str,
        addresses: Callable[[], Sequence[Address]] = own_addresses,
        names: Callable[[], Sequence[str]] = own_names,
    ) -> None:
        self._settings = settings
        self._devices = devices
        self._config_file = config_file
        self._user = user
        self._restart = restart
        self._addresses = addresses
        self._names = names
        self.invitations = Invitations(trio.current_time)
        self._running: Running | None = None
        self._tls: Tls | None = None
        self._problem: str | None = None
        self._release: Callable[[], Awaitable[str]] = _no_page

    def opened(
        self, running: Running, tls: Tls | None, release: Callable[[], Awaitable[str]] = _no_page
    ) -> None:
        """Take the listener that listens now, and how the page's ``release`` is known. Logs where,
        and loudly if that is not safe."""
        self._running, self._tls, self._problem = running, tls, None
        self._release = release
        place = self._place(running)
        log("Gateway ready", url=reach.urls(place)[0])
        if tls is not None:
            log("Gateway certificate", sha256=tls.fingerprint)
            for note in tls.notes:
                log("Gateway certificate", "warning", note=note)
        if said := reach.warning(place):
            log("Gateway without TLS", "warning", warning=said)

    def failed(self, problem: str) -> None:
        """Note that the gateway does not listen; ``problem`` is a sentence with what to do."""
        self._running, self._tls, self._problem = None, None, problem
        log("Gateway failed", "error", problem=problem)

    async def release(self) -> str:
        """Return the release of the page; empty where none is served."""
        return await self._release()

    @property
    def clients(self) -> int:
        """Return how many phones are connected."""
        return 0 if self._running is None else self._running.clients

    def allow(self, hosts: Sequence[str], origins: Sequence[str]) -> None:
        """Be called by these further names, and by pages of these origins, from here on
        (``gateway.allowed_hosts``, ``gateway.origins``)."""
        self._settings = replace(self._settings, allowed_hosts=tuple(hosts), origins=tuple(origins))
        if self._running is not None:
            self._running.allow(hosts, origins)

    def status(self) -> GatewayStatus:
        """Return the gateway's state; the ``url`` is of a phone's point of view."""
        place = None if self._running is None else self._place(self._running)
        return GatewayStatus(
            enabled=self._settings.enabled,
            url=None if place is None else reach.urls(place)[0],
            clients=self.clients,
            problem=self._problem,
            warning=None if place is None else reach.warning(place),
        )

    async def pair(self, name: str | None, png: bool) -> Pairing:
        """Pair a new device: return its key, here and never again, and how it gets to this machine.

        Raises Refused where the gateway does not listen, and what ``Devices.pair`` raises.
        """
        running = self._listening()
        device, key = await self._devices.pair(name)
        log("Device paired", device=device.name)
        place, tls = self._place(running), self._tls
        made_here = tls is not None and tls.made_here
        return Pairing(
            device=device.name,
            url=reach.urls(place)[0],
            key=key,
            qr=qr.terminal_text(key),
            ways=tuple(reach.ways(place)),
            trust=reach.trust(str(tls.file), tls.fingerprint) if tls and made_here else None,
            fingerprint=tls.fingerprint if tls else None,
            warning=reach.warning(place),
            png=b64encode(qr.png(key)).decode("ascii") if png else UNSET,
        )

    def invite(self, name: str | None, png: bool, scope: Scope) -> Invitation:
        """Give leave to pair one page: a link and a code, here and never again. Raises Refused
        where the gateway does not listen."""
        place, tls = self._place(self._listening()), self._tls
        token, code = self.invitations.give(invitations.Invitation(name, scope))
        url = f"{reach.page_urls(place, self._settings.origins)[0]}/pair#{token}"
        made_here = tls is not None and tls.made_here
        return Invitation(
            url=url,
            code=code,
            scope=scope,
            url_minutes=int(invitations.URL_SECONDS) // 60,
            code_minutes=int(invitations.CODE_SECONDS) // 60,
            qr=qr.terminal_text(url),
            ways=tuple(reach.ways(place)),
            trust=reach.trust(str(tls.file), tls.fingerprint) if tls and made_here else None,
            fingerprint=tls.fingerprint if tls else None,
            warning=reach.warning(place),
            png=b64encode(qr.png(url)).decode("ascii") if png else UNSET,
        )

    async def rescope(self, device: str, scope: Scope) -> None:
        """Change what a page may do. Raises what ``Devices.rescope`` does."""
        changed = await self._devices.rescope(device, scope)
        log("Device scope", device=changed.name, scope=scope)

    def devices(self) -> list[Device]:
        """Return the paired devices, in the order of their pairing."""
        return self._devices.list()

    async def revoke(self, device: str) -> None:
        """Take a device's key back and end its connections. Raises what ``Devices.revoke`` does."""
        gone = await self._devices.revoke(device)
        log("Device revoked", device=gone.name)

    def _listening(self) -> Running:
        if self._running is not None:
            return self._running
        if self._settings.enabled:
            raise Refused(self._problem or "The gateway is just starting: try again.")
        raise Refused(
            "The gateway is off: set enabled = true under [gateway] in "
            f"{self._config_file}, then '{self._restart}'."
        )

    def _place(self, running: Running) -> reach.Place:
        return reach.Place(
            host=self._settings.host,
            port=running.port,
            secure=self._tls is not None,
            addresses=self._addresses(),
            name=next((name for name in self._names() if name.endswith(".local")), ""),
            user=self._user,
            config_file=self._config_file,
            restart=self._restart,
        )
