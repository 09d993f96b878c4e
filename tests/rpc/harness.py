"""A served fake, and a client that speaks lines to it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import trio

from podiumd.rpc.limits import RpcLimits
from podiumd.rpc.listener import listening
from podiumd.rpc.server import RpcServer, serve_rpc
from podiumd.runtime.api import GatewayControl
from podiumd.runtime.service import Service
from podiumd.runtime.tool_access import Reply
from podiumd.runtime.voice.service import Voice
from podiumd.speech.audio.speaker import Speaker
from podiumd.speech.service import Speech
from tests.patience import HANG_SECONDS
from tests.rpc.bare import NoGateway, bare_info, no_tools
from tests.rpc.fake_service import FakeService

PING = b'{"jsonrpc":"2.0","id":1,"method":"daemon.ping"}'


def request(method: str, id: Any = 1, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


async def wait_until(condition: Any) -> None:
    """Let other tasks run until the condition holds; the harness bounds the time."""
    while not condition():
        await trio.lowlevel.checkpoint()


class Client:
    """One connection; every message is one line."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._buffer = b""
        self._last_id = 0

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def line(self) -> bytes | None:
        """The next line, or ``None`` when the server has closed."""
        while b"\n" not in self._buffer:
            try:
                chunk = await self.stream.receive_some(65536)
            except trio.BrokenResourceError:
                chunk = b""
            if not chunk:
                return None
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    async def message(self) -> Any:
        line = await self.line()
        assert line is not None, "the server closed the connection"
        return json.loads(line)

    async def ask(self, line: bytes) -> Any:
        await self.send(line + b"\n")
        return await self.message()

    async def call(self, method: str, **params: Any) -> Any:
        self._last_id += 1
        request = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        answer = await self.ask(json.dumps(request).encode())
        assert answer["id"] == self._last_id
        return answer

    async def result(self, method: str, **params: Any) -> Any:
        answer = await self.call(method, **params)
        assert "error" not in answer, answer
        return answer["result"]


class Harness:
    """The served fake and what it was told."""

    def __init__(self, service: FakeService, server: RpcServer, path: Path) -> None:
        self.service = service
        self.server = server
        self.path = path
        self.shutdowns: list[str] = []

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        async with await trio.open_unix_socket(str(self.path)) as stream:
            yield Client(stream)


@asynccontextmanager
async def served(
    directory: Path,
    limits: RpcLimits | None = None,
    own_uid: int | None = None,
    gateway: GatewayControl | None = None,
    speech: Speech | None = None,
    speaker: Speaker | None = None,
    tools: Callable[[str, str, str | None], Awaitable[Reply]] = no_tools,
) -> AsyncIterator[Harness]:
    """Serve a fake on a socket in ``directory`` and stop in order at the end."""
    service = FakeService()
    shutdowns: list[str] = []
    path = directory / "s"
    info = bare_info(
        version="1.2.3",
        socket=str(path),
        request_shutdown=shutdowns.append,
        gateway=gateway or NoGateway(),
        tools=tools,
        voice=None
        if speech is None or speaker is None
        else Voice(speech, speaker, cast("Service", service)),
    )
    uid = os.getuid() if own_uid is None else own_uid
    with listening(path, os.getuid()) as listener:
        async with trio.open_nursery() as nursery:
            server: RpcServer = await nursery.start(
                serve_rpc, service, info, listener, limits, lambda: uid
            )
            harness = Harness(service, server, path)
            harness.shutdowns = shutdowns
            with trio.fail_after(HANG_SECONDS):
                yield harness
            service.close()
            server.stop()
            await server.wait_closed()


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected, non-blocking Unix sockets."""
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    left.setblocking(False)
    right.setblocking(False)
    return left, right
