"""A gateway with a page's door: real sockets, devices kept in memory, and what it let in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import trio
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from podiumd.gateway.access.auth_throttle import AuthThrottle
from podiumd.gateway.access.devices import Device, Devices
from podiumd.gateway.access.invitations import Invitation, Invitations
from podiumd.gateway.limits import GatewayLimits
from podiumd.gateway.routes.device_access import DeviceAccess
from podiumd.gateway.routes.table import Routes
from podiumd.gateway.server import Gateway, GatewayOptions, serve_gateway
from podiumd.gateway.web.door import PROTOCOL, PageDoor, PageMessages
from podiumd.gateway.web.page_access import PageAccess
from podiumd.gateway.web.pairing import Pairing
from podiumd.gateway.web.service import Web
from podiumd.wire.method import Scope
from tests.gateway.harness import SMALL, Peer, echo
from tests.gateway.routes.client import Answer, Client
from tests.patience import HANG_SECONDS


class Page(NamedTuple):
    """A paired page, as its browser has it."""

    device: Device
    key: str
    secret: str


class Served:
    """The gateway. ``inside`` are the pages that were let in."""

    def __init__(self, gateway: Gateway, devices: Devices, invitations: Invitations) -> None:
        self.gateway = gateway
        self.devices = devices
        self.invitations = invitations
        self.inside: list[tuple[str, Scope]] = []
        self.streams: list[trio.SocketStream] = []

    @property
    def host(self) -> str:
        return f"localhost:{self.gateway.port}"

    def invited(self, scope: Scope = "work", name: str | None = None) -> str:
        """The token of an invitation."""
        return self.invitations.give(Invitation(name, scope))[0]

    async def paired(self, scope: Scope = "work") -> Page:
        return Page(*await self.devices.pair_page(None, scope))

    def cookie(self, key: str, secure: bool = False) -> str:
        return f"{'__Host-' if secure else ''}podium-{self.gateway.port}={key}"

    def _headers(self, changed: dict[str, str]) -> dict[str, str]:
        headers = {"origin": f"http://{self.host}"} | changed
        return {name: text for name, text in headers.items() if text}

    async def post(self, path: str, value: object, **headers: str) -> Answer:
        """Send a request as the page does, with headers changed; an empty one is left out."""
        client = Client(self.gateway.port)
        return await client.post(path, value, host=self.host, **self._headers(headers))

    async def ask(self, method: str, path: str) -> Answer:
        """Send a request without a body, as a browser that is sent to an address."""
        return await Client(self.gateway.port).ask(method, path, host=self.host)

    async def dial(self, **headers: str) -> Peer:
        """Shake hands as the page does, with headers changed; an empty one is left out. Raises
        ``InvalidStatus``."""
        stream = await trio.open_tcp_stream("127.0.0.1", self.gateway.port)
        self.streams.append(stream)
        offered = headers.pop("offered", PROTOCOL)
        peer = Peer(
            stream,
            f"ws://{self.host}/rpc",
            subprotocols=[Subprotocol(offered)] if offered else None,
        )
        sent = self._headers(headers).items()
        return await peer.open({name.replace("_", "-"): text for name, text in sent})

    async def refused(self, **headers: str) -> int:
        """The status of a handshake that has to be refused."""
        try:
            await self.dial(**headers)
        except InvalidStatus as refused:
            return refused.response.status_code
        raise AssertionError("it was let in")

    async def hello(self, key: str, secret: str, secure: bool = False, **headers: str) -> Peer:
        """A page that has said hello."""
        peer = await self.dial(cookie=self.cookie(key, secure), **headers)
        await peer.send(hello(secret))
        return peer


def hello(secret: str) -> str:
    params = {"secret": secret}
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "client.hello", "params": params})


async def turned_away(peer: Peer) -> tuple[int, str]:
    """The code of the error and of the close with which a page is shown out."""
    told: dict[str, Any] = json.loads(await peer.message())
    assert "error" in told, told
    closed = await peer.closed()
    assert closed is not None and closed.code == 1008
    assert told["error"]["data"] == {"what": "pair"}
    return told["error"]["code"], told["error"]["message"]


@asynccontextmanager
async def serving(
    devices: Devices,
    files: Path,
    *,
    limits: GatewayLimits = SMALL,
    origins: tuple[str, ...] = (),
) -> AsyncIterator[Served]:
    """The gateway; a page that is let in is sent the name and the scope that it has."""
    throttle = AuthThrottle(trio.current_time)
    invitations = Invitations(trio.current_time)
    access = PageAccess(devices, throttle)
    web = Web(files, Pairing(access, throttle, invitations))

    async def serve(messages: PageMessages, first: str, device: str, scope: Scope) -> None:
        served.inside.append((device, scope))
        messages.send(json.dumps([json.loads(first)["id"], device, scope]).encode())
        while await messages.receive() is not None:
            pass

    settings = GatewayOptions(port=0, limits=limits, origins=origins)
    routes = Routes(DeviceAccess(devices, throttle), {}, web.answer)
    start = partial(serve_gateway, page=PageDoor(access, serve).serve)
    with trio.fail_after(HANG_SECONDS):
        async with trio.open_nursery() as nursery:
            gateway: Gateway = await nursery.start(start, settings, echo, routes.handle, throttle)
            access.port = gateway.port
            served = Served(gateway, devices, invitations)
            try:
                yield served
            finally:
                for stream in served.streams:
                    with suppress(OSError):
                        stream.socket.close()
            nursery.cancel_scope.cancel()
