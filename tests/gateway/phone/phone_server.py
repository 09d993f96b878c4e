"""A gateway without its sockets, in the test's own process: a daemon, the hub, phones on it."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import trio

from podiumd.config.settings import VoiceSettings
from podiumd.gateway.access.auth_throttle import AuthThrottle
from podiumd.gateway.access.devices import Devices
from podiumd.gateway.access.notices import KeyNotices
from podiumd.gateway.phone.hub import Hub, open_hub
from podiumd.gateway.phone.workshop import Workshop
from podiumd.gateway.websocket import Closed, WebSocket
from podiumd.projects.commands import CommandEvent, open_command_book
from podiumd.projects.resources import Resources
from podiumd.projects.worktrees import Worktrees
from podiumd.runtime.voice.service import Voice
from podiumd.speech.audio.speaker import open_speaker
from podiumd.speech.service import open_speech
from tests.gateway.fake_engine import FakeEngine
from tests.phone.decoders.recorder import RECORDER
from tests.runtime.harness import Daemon, Machine, environment, running

Json = dict[str, Any]


class PhoneClient:
    """Stands in for a phone's WebSocket: what is sent is at hand, what it takes is up to it."""

    def __init__(self, peer: str = "192.0.2.7") -> None:
        self.peer = peer
        self.pending = 0
        self.known = False
        self.answers = True
        self.limit = 0
        self.closed: tuple[int, str] | None = None
        self.sent: list[Json] = []
        self._incoming: deque[str | bytes] = deque()
        self._news = trio.Event()
        self._gone = False

    # -- the gateway's side ------------------------------------------------------------------

    async def receive(self) -> str | bytes:
        while not self._incoming:
            if self._gone or self.closed is not None:
                raise Closed
            await self._news.wait()
        await trio.lowlevel.checkpoint()
        return self._incoming.popleft()

    def send(self, text: bytes) -> None:
        if self.closed is None and not self._gone:
            RECORDER.saw(text)
            self.sent.append(json.loads(text))
            self._ring()

    def send_frame(self, frame: bytes) -> None:
        size = frame[1]
        self.send(frame[{126: 4, 127: 10}.get(size, 2) :])

    async def room(self) -> None:
        while self.pending > 256 * 1024 and not self._gone:
            await self._news.wait()
        if self._gone:
            raise Closed

    async def delivered(self) -> None:
        while (self.pending or not self.answers) and not self._gone:
            await self._news.wait()
        await trio.lowlevel.checkpoint()
        if self._gone:
            raise Closed

    def authenticated(self) -> None:
        self.known = True

    def allow(self, message_bytes: int) -> None:
        self.limit = message_bytes

    async def close(self, code: int = 1000, reason: str = "") -> None:
        await trio.lowlevel.checkpoint()
        self.closed = (code, reason)
        self._ring()

    # -- the test's side ---------------------------------------------------------------------

    def _ring(self) -> None:
        self._news.set()
        self._news = trio.Event()

    def say(self, type: str, /, **fields: Any) -> None:
        """The phone sends a message."""
        self.write(json.dumps({"type": type, **fields}))

    def write(self, data: str | bytes) -> None:
        """The phone sends whatever this is."""
        self._incoming.append(data)
        self._ring()

    def take(self, pending: int) -> None:
        """So many bytes are now waiting for the phone."""
        self.pending = pending
        self._ring()

    def doze(self) -> None:
        """The phone takes what it is sent, and answers no ping."""
        self.answers = False

    def hang_up(self) -> None:
        """The phone has gone."""
        self._gone = True
        self._ring()

    def of(self, type: str) -> list[Json]:
        """Every message of a type that was sent."""
        return [each for each in self.sent if each["type"] == type]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so, looking whenever anything was sent."""
        while not condition():
            await self._news.wait()

    async def hears(self, type: str, count: int = 1) -> Json:
        """Wait for the ``count``-th message of a type, and return it."""
        await self.until(lambda: len(self.of(type)) >= count)
        return self.of(type)[count - 1]

    async def caught_up(self) -> None:
        """Wait until everything that was said before is handled."""
        count = len(self.of("pong"))
        self.say("ping")
        await self.hears("pong", count + 1)

    def forget(self) -> None:
        """Look only at what is sent from now on."""
        self.sent.clear()


class PhoneServer:
    """The gateway, and the daemon below it."""

    def __init__(
        self,
        daemon: Daemon,
        hub: Hub,
        devices: Devices,
        throttle: AuthThrottle,
        voice: Voice,
        engine: FakeEngine,
        nursery: trio.Nursery,
    ) -> None:
        self.voice = voice
        self.speech = voice.speech
        self.engine = engine
        self.daemon = daemon
        self.hub = hub
        self.devices = devices
        self.throttle = throttle
        self._nursery = nursery

    def dial(self, peer: str = "192.0.2.7") -> PhoneClient:
        """A phone opens a connection."""
        client = PhoneClient(peer)
        self._nursery.start_soon(self.hub.serve, cast("WebSocket", client))
        return client

    async def record(self, session_id: str, *records: bytes) -> None:
        """The agent writes into its session's file; returns once the daemon knows of it."""
        folder = self.daemon.machine.roots[0].directory / "-project"
        folder.mkdir(parents=True, exist_ok=True)
        with self.daemon.service.sessions_changed() as changes:
            path, draft = folder / f"{session_id}.jsonl", folder / f"{session_id}.draft"
            if path.exists():
                with path.open("ab", buffering=0) as file:
                    file.write(b"".join(records))
            else:  # whole from the first: an empty one would be news too, of which nothing is known
                draft.write_bytes(b"".join(records))
                draft.rename(path)
            while session_id not in await changes.changed():
                pass

    async def connected(
        self, key: str | None = None, *, version: str | None = "0.5.0", **fields: Any
    ) -> PhoneClient:
        """A phone connects, and is let in; a new device unless it has a key."""
        if key is None:
            _, key = await self.devices.pair(None)
        client = self.dial()
        if version is not None:
            fields["protocol_version"] = version
        client.say("connect", api_key=key, **fields)
        await client.hears("available_commands")
        await client.caught_up()
        client.forget()
        return client

    async def looking(self, session: str) -> PhoneClient:
        """A phone that follows a session, and has been sent its history."""
        client = await self.connected()
        client.say("subscribe", session_id=session)
        await client.hears("session_history")
        return client


@asynccontextmanager
async def open_phone_server(
    machine: Machine, home: Path, engine: FakeEngine | None = None
) -> AsyncIterator[PhoneServer]:
    """A daemon with a hub; phones that are still there at the end are cut off."""
    engine = engine or FakeEngine()
    listeners: list[Callable[[CommandEvent], None]] = []

    def tell(event: CommandEvent) -> None:
        listeners[0](event)

    async def name_of(words: str) -> str:
        await trio.lowlevel.checkpoint()
        return words.split(maxsplit=1)[0].title()

    async with (
        running(machine) as daemon,
        open_command_book(
            machine.state / "commands",
            environment=lambda marker: environment("commands", marker),
            tell=tell,
            home=home,
        ) as book,
        open_speech(VoiceSettings(), machine.state, {}, engine=engine) as speech,
        open_speaker(VoiceSettings, os.environ) as speaker,
    ):
        devices = Devices(daemon.store, daemon.context.clock.now)
        await devices.load()
        throttle = AuthThrottle(trio.current_time, KeyNotices().tell)
        workshop = Workshop(
            commands=book,
            resources=Resources(home),
            worktrees=Worktrees(home),
            infer_name=name_of,
            home=str(home),
        )
        voice = Voice(speech, speaker, daemon.service)
        async with (
            open_hub(daemon.service, devices, throttle, workshop, voice, daemon.store) as hub,
            trio.open_nursery() as nursery,
        ):
            listeners.append(hub.command_event)
            yield PhoneServer(daemon, hub, devices, throttle, voice, engine, nursery)
            nursery.cancel_scope.cancel()
