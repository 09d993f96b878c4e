"""The gateway put together: keys, phones, routes and the listener, on top of the daemon's service.

    open_gateway
    ├── commands      those that phones start
    ├── hub           every phone, kept in step
    └── listener      a task a connection

What keeps it from listening (a port in use, a certificate or a history of commands that cannot be
read) does not keep the daemon from running: ``podium status`` says it.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import trio

from podiumd.config.paths import PlaceError
from podiumd.config.settings import GatewaySettings
from podiumd.gateway.access.auth_throttle import AuthThrottle
from podiumd.gateway.access.devices import DamagedDevices, Devices
from podiumd.gateway.access.notices import KeyNotices
from podiumd.gateway.agui.route import AguiRoute
from podiumd.gateway.control import Control
from podiumd.gateway.listener import CannotListen
from podiumd.gateway.network.addresses import own_addresses, own_names
from podiumd.gateway.phone.hub import open_hub
from podiumd.gateway.phone.workshop import Workshop
from podiumd.gateway.routes.device_access import DeviceAccess
from podiumd.gateway.routes.metrics import MetricsRoute
from podiumd.gateway.routes.prompt import PromptRoute
from podiumd.gateway.routes.table import Handler, Routes
from podiumd.gateway.routes.upload import UploadRoute
from podiumd.gateway.routes.voice import Recordings, TranscriptionRoute
from podiumd.gateway.server import GatewayOptions, serve_gateway
from podiumd.gateway.tls.certificate import CertificateError, Tls, make_tls
from podiumd.gateway.web.door import PageDoor, Serve
from podiumd.gateway.web.page_access import PageAccess
from podiumd.gateway.web.pairing import Pairing
from podiumd.gateway.web.service import Web
from podiumd.gateway.websocket import Traffic
from podiumd.observe.metrics import Meters
from podiumd.projects.commands import Bounds, CommandBook, CommandEvent, open_command_book
from podiumd.projects.resources import Resources
from podiumd.projects.worktrees import Worktrees
from podiumd.runtime.service import Service
from podiumd.runtime.voice.service import Voice
from podiumd.store.errors import StoreError
from podiumd.store.facts import Store
from podiumd.wording import restart_command

_NO_HISTORY: Final = (
    "The history of commands in {} cannot be opened: {}. Make it a directory of yours that can be"
    " written to, then '{}'."
)


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """Services of the daemon that the gateway needs.

    ``sockets`` are listeners that were handed over, in place of the settings' host and port.
    ``environment`` makes the environment of a command from its marker, ``infer_name`` a session's
    name from its first words, ``now`` the time as RFC 3339. ``user`` and ``config_file`` are for
    words to people. ``command_bounds`` returns how much of commands is kept at this moment,
    ``meters`` counts. ``voice`` makes text of people's speech. ``restart`` is the command that
    starts this daemon anew. ``page_files`` has the files of the web client, ``serve_page`` serves
    one whose device is known.
    """

    settings: GatewaySettings
    sockets: tuple[socket.socket, ...] = ()
    state: Path
    home: Path
    user: str
    config_file: str
    now: Callable[[], str]
    environment: Callable[[str], dict[str, str]]
    infer_name: Callable[[str], Awaitable[str]]
    voice: Voice
    page_files: Path
    serve_page: Serve
    command_bounds: Callable[[], Bounds] = Bounds
    meters: Meters = msgspec.field(default_factory=Meters)
    restart: str = restart_command(None)


@asynccontextmanager
async def open_gateway(
    around: Surroundings, service: Service, store: Store
) -> AsyncIterator[Control]:
    """Run the gateway; entered once it listens, or it is known why it does not."""
    devices = Devices(store, around.now)
    around = _at_handed_sockets(around)
    control = Control(
        around.settings,
        devices,
        config_file=around.config_file,
        user=around.user,
        restart=around.restart,
    )
    try:
        await devices.load()
    except (DamagedDevices, StoreError) as error:
        control.failed(str(error))
        yield control
        return
    if not around.settings.enabled:
        yield control
        return
    async with _running(around, service, store, devices, control):
        yield control


@asynccontextmanager
async def _running(
    around: Surroundings, service: Service, store: Store, devices: Devices, control: Control
) -> AsyncIterator[None]:
    throttle, home = AuthThrottle(trio.current_time, KeyNotices().tell), around.home
    listeners: list[Callable[[CommandEvent], None]] = []

    def tell(event: CommandEvent) -> None:
        for listener in listeners:
            listener(event)

    async with AsyncExitStack() as stack:
        try:
            book = await stack.enter_async_context(_command_book(around, tell))
        except OSError as error:
            place = around.state / "commands"
            control.failed(_NO_HISTORY.format(place, error.strerror or error, around.restart))
            yield
            return
        workshop = Workshop(
            commands=book,
            resources=Resources(home),
            worktrees=Worktrees(home),
            infer_name=around.infer_name,
            home=str(home),
        )
        hub = await stack.enter_async_context(
            open_hub(service, devices, throttle, workshop, around.voice, store)
        )
        nursery = await stack.enter_async_context(trio.open_nursery())
        listeners.append(hub.command_event)
        access = PageAccess(devices, throttle)
        web = Web(around.page_files, Pairing(access, throttle, control.invitations))
        routes = Routes(
            DeviceAccess(devices, throttle),
            _routes(around.voice, service, store, workshop, around.meters),
            web.answer,
        )
        serve = partial(serve_gateway, page=PageDoor(access, around.serve_page).serve)
        try:
            tls = await trio.to_thread.run_sync(_tls, around)
            gateway = await nursery.start(
                serve, _options(around, tls), hub.serve, routes.handle, throttle
            )
        except (CertificateError, CannotListen, PlaceError, OSError) as error:
            control.failed(str(error))
            yield
        else:
            access.port = gateway.port
            control.opened(gateway, tls, web.release)
            yield
            gateway.stop()
            await gateway.wait_closed()
        nursery.cancel_scope.cancel()


def _command_book(
    around: Surroundings, tell: Callable[[CommandEvent], None]
) -> AbstractAsyncContextManager[CommandBook]:
    return open_command_book(
        around.state / "commands",
        environment=around.environment,
        tell=tell,
        home=around.home,
        bounds=around.command_bounds,
    )


def _routes(
    voice: Voice, service: Service, store: Store, workshop: Workshop, meters: Meters
) -> dict[tuple[str, str], Handler]:
    recordings = Recordings(voice)
    return {
        ("POST", "/agui"): AguiRoute(service, store, store),
        ("POST", "/v1/prompt"): PromptRoute(service, store, recordings),
        ("POST", "/v1/audio/transcriptions"): TranscriptionRoute(recordings),
        ("POST", "/upload"): UploadRoute(workshop.resources),
        ("GET", "/metrics"): MetricsRoute(service, meters),
    }


def _at_handed_sockets(around: Surroundings) -> Surroundings:
    """Return the surroundings with the place of handed sockets, if any, in the settings' stead."""
    if not around.sockets:
        return around
    host, port = around.sockets[0].getsockname()[:2]
    settings = msgspec.structs.replace(around.settings, host=host, port=port)
    return msgspec.structs.replace(around, settings=settings)


def _options(around: Surroundings, tls: Tls | None) -> GatewayOptions:
    settings = around.settings
    return GatewayOptions(
        host=settings.host,
        port=settings.port,
        sockets=around.sockets,
        names=own_names(),
        allowed_hosts=settings.allowed_hosts,
        origins=settings.origins,
        tls=None if tls is None else tls.context,
        traffic=Traffic(around.meters.received.add, around.meters.sent.add),
    )


def _tls(around: Surroundings) -> Tls | None:
    addresses = [one.address for one in own_addresses()]
    return make_tls(around.settings, around.state, own_names(), addresses, datetime.now(UTC))
