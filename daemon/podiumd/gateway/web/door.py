"""The door of pages: a WebSocket to ``/rpc`` begins with ``client.hello``, and is then a client.

A cookie alone opens nothing: a browser hands it to every port of the machine, so to a server that
an agent has started as well. The first message brings the secret that the page keeps in the storage
of its own origin.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Literal

import msgspec
import trio

from podiumd.gateway.access.devices import Device
from podiumd.gateway.http.exchange import Problem
from podiumd.gateway.http.head import BadHead, Head
from podiumd.gateway.web.page_access import PageAccess
from podiumd.gateway.websocket import Closed, WebSocket
from podiumd.observe.logs import log
from podiumd.runtime.errors import NotFound
from podiumd.wire.gateway import HELLO
from podiumd.wire.method import Scope

PATH: Final = "/rpc"
PROTOCOL: Final = "podium.rpc.1"
"""The subprotocol, by RFC 6455: the messages are those of JSON-RPC."""

_POLICY_VIOLATION: Final = 1008
_TRY_AGAIN_LATER: Final = 1013
_NOT_PAIRED: Final = (
    "This page is not paired with this machine, or its pairing was taken back: pair it with "
    "'podium pair --web'."
)


class _HelloParams(msgspec.Struct):
    secret: str = ""


class _FirstMessage(msgspec.Struct):
    """``client.hello`` as far as the door reads it."""

    method: Literal["client.hello"]
    params: _HelloParams = msgspec.field(default_factory=_HelloParams)
    id: str | int | float | None = None


class Visit(msgspec.Struct, frozen=True):
    """The ``Cookie`` header of a page's request, and whether it came over HTTPS."""

    cookie: str
    secure: bool


def check(head: Head) -> Visit:
    """Check the head of a request that opens a page's socket, whose Origin, where it is there, has
    been found to be our own. Raises ``BadHead`` and ``Problem``."""
    origin = head.headers.get("origin")
    if origin is None or head.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise Problem(403, detail=f"{PATH} is for the gateway's own page alone.")
    offered = head.headers.get("sec-websocket-protocol", "")
    if PROTOCOL not in {one.strip() for one in offered.split(",")}:
        raise BadHead(400, f"{PATH} speaks the subprotocol {PROTOCOL}.")
    return Visit(head.headers.get("cookie", ""), origin.lower().startswith("https:"))


class PageMessages:
    """A page's socket as its server has it: what it raises once the page has gone ends here."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    @property
    def pending(self) -> int:
        """Return how many bytes the page has not taken yet."""
        return self._socket.pending

    async def receive(self) -> str | bytes | None:
        """Return the next message; ``None``: the page has gone."""
        try:
            return await self._socket.receive()
        except Closed:
            return None

    def send(self, text: bytes) -> None:
        """Send a message; it is dropped once the page has gone."""
        self._socket.send(text)

    async def room(self) -> None:
        """Wait until bulk may be sent again, or the page has gone."""
        with suppress(Closed):
            await self._socket.room()


Serve = Callable[[PageMessages, str, str, Scope], Awaitable[None]]
"""Serves a page, given its first message, the name of its device and its scope."""


class PageDoor:
    """Lets pages in, and shows those out whose device is revoked."""

    def __init__(self, access: PageAccess, serve: Serve) -> None:
        self._access = access
        self._serve = serve
        self._inside: dict[trio.CancelScope, str] = {}
        access.devices.on_revoke(self._cut)

    async def serve(self, socket: WebSocket, visit: Visit) -> None:
        """Serve one page until it has gone. Raises ``Closed``."""
        first = await socket.receive()
        if self._access.shut_out(socket.peer) > 0:
            words = "Too many wrong keys came from this address."
            await socket.close(_TRY_AGAIN_LATER, words)
            return
        hello = _read(first)
        if hello is None or isinstance(first, bytes):
            words = f"The first message has to be {HELLO.name}."
            await self._turn_away(socket, None, words)
            return
        device = self._access.device_of(
            socket.peer, visit.cookie, visit.secure, hello.params.secret
        )
        if device is None:
            await self._turn_away(socket, hello.id, _NOT_PAIRED)
            return
        socket.authenticated()
        await self._serve_device(socket, first, device)

    async def _serve_device(self, socket: WebSocket, first: str, device: Device) -> None:
        with trio.CancelScope() as scope:
            self._inside[scope] = device.name
            try:
                with self._access.devices.connected(device.name):
                    log("Page connected", device=device.name, peer=socket.peer)
                    messages = PageMessages(socket)
                    await self._serve(messages, first, device.name, device.scope)
            except NotFound:  # revoked just now
                scope.cancel()
            finally:
                del self._inside[scope]
        if scope.cancel_called:
            await socket.close(_POLICY_VIOLATION, "This device is no longer paired as it was.")

    async def _turn_away(self, socket: WebSocket, id: str | int | float | None, words: str) -> None:
        error = {"code": -32006, "message": words, "data": {"what": "pair"}}
        socket.send(msgspec.json.encode({"jsonrpc": "2.0", "error": error, "id": id}))
        await socket.close(_POLICY_VIOLATION)

    def _cut(self, name: str) -> None:
        for scope, device in self._inside.items():
            if device == name:
                scope.cancel()


def _read(message: str | bytes) -> _FirstMessage | None:
    try:
        return msgspec.json.decode(message, type=_FirstMessage)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
