"""A real daemon with a gateway and the scripted agent, and callers that share no code with it."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import trio
from websockets.exceptions import InvalidStatus

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import Machine
from tests.fakes.model_server import ModelServer
from tests.gateway.harness import Peer
from tests.gateway.routes.client import Client
from tests.patience import HANG_SECONDS

Json = dict[str, Any]

SCRIPT = """
[[turns]]
when = "Count this"
times = 0
run = [["sh", "-c", "echo played >> played"]]
text = "Counted."

[[turns]]
when = "Hang on"
times = 0
run = [["sh", "-c", "echo played >> played; read line < gate"]]

[[turns]]
times = 0
text = "Hello."
"""


class House:
    """A person's machine with a daemon. ``mine`` calls with the key of a paired device."""

    def __init__(self, podium: PodiumDaemon, port: int, key: str) -> None:
        self.podium = podium
        self.port = port
        self.key = key
        self.mine = Client(port, key)
        self.streams: list[trio.SocketStream] = []
        self.project = podium.machine.root / "project"
        self.project.mkdir()
        os.mkfifo(self.project / "gate")

    async def paired(self, name: str) -> str:
        """The key of a further device."""
        return str((await self.podium.rpc("gateway.pair", name=name))["key"])

    async def revoked(self, name: str) -> str:
        """The key of a device that was paired and is no more."""
        key = await self.paired(name)
        await self.podium.rpc("gateway.revoke", device=name)
        return key

    async def forgiven(self) -> None:
        """Have the gateway forget the wrong keys of this machine's address."""
        assert (await self.mine.get("/metrics")).status == 200

    async def come_back(self) -> None:
        """After a restart the gateway has another port."""
        self.port = await port_of(self.podium)
        self.mine = Client(self.port, self.key)

    async def dial(self) -> Phone:
        """A phone that has not said anything yet. Raises ``InvalidStatus``."""
        stream = await trio.open_tcp_stream("127.0.0.1", self.port)
        self.streams.append(stream)
        try:
            return Phone(await Peer(stream).open())
        except InvalidStatus:
            await stream.aclose()
            raise

    async def connected(self) -> Phone:
        """A phone that was let in."""
        phone = await self.dial()
        await phone.say("connect", api_key=self.key, protocol_version="0.5.0")
        await phone.until("available_commands")
        return phone

    def untouched(self) -> Json:
        """What nobody from outside may have changed."""
        root = self.podium.machine.root
        return {
            str(path.relative_to(root)): path.read_bytes() if path.is_file() else b""
            for part in (self.project, self.podium.machine.home)
            for path in sorted(part.rglob("*"))
            if not path.is_fifo()
        }

    @asynccontextmanager
    async def gate(self) -> AsyncIterator[None]:
        """Hold the agent that was told to hang on, once it does."""
        with trio.fail_after(HANG_SECONDS):
            opened = await trio.to_thread.run_sync(
                os.open, self.project / "gate", os.O_WRONLY, abandon_on_cancel=True
            )
        try:
            yield
        finally:
            os.close(opened)

    async def at_work(self) -> Json:
        """What the daemon does."""
        status = await self.podium.rpc("daemon.status")
        names = ("runs_active", "prompts_active", "questions_open", "orchestration")
        return {name: status[name] for name in names if name in status}


class Phone:
    """A WebSocket that says what a test wants it to say; ``heard`` is all that came."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.heard: list[Json] = []

    async def say(self, type: str, /, **fields: Any) -> None:
        await self.peer.send(json.dumps({"type": type, **fields}))

    async def write(self, text: str) -> None:
        await self.peer.send(text)

    async def frame(self, data: bytes) -> None:
        """Send a binary message."""
        self.peer.protocol.send_binary(data)
        await self.peer.flush()

    async def until(self, type: str) -> Json:
        """Read on to a message of a type."""
        with trio.fail_after(HANG_SECONDS):
            while True:
                message: Json = json.loads(await self.peer.message())
                self.heard.append(message)
                if message["type"] == type:
                    return message

    async def rest(self) -> list[Json]:
        """Read to the end; everything that came."""
        with trio.fail_after(HANG_SECONDS):
            try:
                while True:
                    self.heard.append(json.loads(await self.peer.message()))
            except EOFError:
                await self.peer.stream.aclose()
                return self.heard

    async def hang_up(self) -> None:
        await self.peer.stream.aclose()


async def port_of(podium: PodiumDaemon) -> int:
    """Where its gateway listens."""
    url = (await podium.rpc("daemon.status"))["gateway"]["url"]
    return int(urlsplit(url).port or 0)


@asynccontextmanager
async def open_house(root: Path, settings: str = "") -> AsyncIterator[House]:
    """The house, a device ``mine`` paired; ``settings`` are of ``[gateway]``."""
    with ModelServer() as model:
        machine = Machine(root, root / "home", Path("/usr/bin/false"), model)
        machine.set_up()
        (root / "script.toml").write_text(SCRIPT)
        (machine.podium_home / "config.toml").write_text(
            f'[gateway]\nport = 0\n{settings}[agents.claude]\ncommand = "{machine.claude}"\n'
            f'[agents.scripted]\nscript = "{root / "script.toml"}"\n'
        )
        async with PodiumDaemon(machine) as podium:
            paired = await podium.rpc("gateway.pair", name="mine")
            house = House(podium, await port_of(podium), paired["key"])
            try:
                yield house
            finally:
                for stream in house.streams:
                    stream.socket.close()
