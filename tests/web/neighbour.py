"""An agent's own server on another port of this machine, and what it tries with what it is sent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio
from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

from podiumd.gateway.web.door import PROTOCOL


class Neighbour:
    """Listens on ``port``. ``cookies`` are those that browsers sent it; ``page`` is what it
    serves at any address."""

    def __init__(self) -> None:
        self.port = 0
        self.cookies: list[str] = []
        self.page = b"<!doctype html><title>dev server</title>up"
        self._visited = trio.Event()

    async def visited(self) -> str:
        """The cookies of the first request that had any."""
        await self._visited.wait()
        return self.cookies[-1]

    async def handle(self, stream: trio.SocketStream) -> None:
        async with stream:
            received = b""
            while b"\r\n\r\n" not in received:
                chunk = await stream.receive_some(65_536)
                if not chunk:
                    return
                received += chunk
            for line in received.decode("latin-1").split("\r\n"):
                name, _, value = line.partition(":")
                if name.lower() == "cookie":
                    self.cookies.append(value.strip())
                    self._visited.set()
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"
            await stream.send_all(
                b"%bContent-Length: %d\r\n\r\n" % (head, len(self.page)) + self.page
            )


@asynccontextmanager
async def open_neighbour() -> AsyncIterator[Neighbour]:
    neighbour = Neighbour()
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        neighbour.port = listeners[0].socket.getsockname()[1]
        await nursery.start(trio.serve_listeners, neighbour.handle, listeners)
        yield neighbour
        nursery.cancel_scope.cancel()


async def says(port: int, messages: list[Any], **headers: str) -> Any:
    """Open the gateway's ``/rpc`` as a program can, with any headers, and send messages. What comes
    back: the status of a refused handshake, else all answers up to the close."""
    protocol = ClientProtocol(
        parse_uri(f"ws://127.0.0.1:{port}/rpc"),
        subprotocols=[PROTOCOL],  # type: ignore[list-item]
    )
    request = protocol.connect()
    for name, value in headers.items():
        request.headers[name.replace("_", "-")] = value
    answers: list[Any] = []
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        protocol.send_request(request)
        sent = False
        while True:
            await trio.lowlevel.checkpoint()
            for data in protocol.data_to_send():
                if data:
                    await stream.send_all(data)
            try:
                received = await stream.receive_some(65_536)
            except trio.BrokenResourceError:
                received = b""
            if received:
                protocol.receive_data(bytes(received))
            else:
                protocol.receive_eof()
            answers += [
                json.loads(bytes(event.data))
                for event in protocol.events_received()
                if isinstance(event, Frame) and event.opcode is Opcode.TEXT
            ]
            if isinstance(protocol.handshake_exc, InvalidStatus):
                return protocol.handshake_exc.response.status_code
            if not sent and protocol.state.name == "OPEN":
                for message in messages:
                    protocol.send_text(json.dumps(message).encode())
                sent = True
            if not received or (sent and len(answers) >= len(messages)):
                return answers


def call(method: str, **params: Any) -> Any:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
