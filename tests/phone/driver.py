"""The simulated phone under trio: what scenarios hold in their hands.

async with Phone(url, key, "ios") as phone:
    await phone.open(session_id)
    await phone.say("hello")
    await phone.until(lambda phone: "hi" in phone.texts(session_id))
    assert phone.faults == []
"""

from __future__ import annotations

import json
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Protocol, TypeVar

import trio

from podium.phone.fields import FRAME_DROPPED, Fault, Json
from podium.phone.histories import Message
from podium.phone.link import Link
from podium.phone.model import PhoneModel
from podium.phone.sessions import LegacySession, Session
from podium.phone.variants import VARIANTS, Variant

CHUNK = 65536
PATIENCE_SECONDS = 10.0
KEEPALIVE_SECONDS = 30.0

T = TypeVar("T")


class Refused(Exception):
    """The phone was not let in; the words say why."""


class Retries(Protocol):
    """When to connect again: ``podium.phone.retry.Retry`` as the apps do, ``AtOnce`` for tests."""

    def next(self) -> float | None: ...
    def reset(self) -> None: ...


class AtOnce:
    """Connects again without delay, as often as it takes."""

    def next(self) -> float:
        return 0.0

    def reset(self) -> None:
        """Nothing was counted."""


class Phone:
    """One phone on one gateway; ``async with`` connects it and takes it away again.

    ``variant``: a name of ``VARIANTS`` or one of them. ``retries``: ``None`` stays down when the
    connection is lost. ``wait`` false: entering does not wait for the connection. ``headers``
    replace those of the same name in the opening request.

    ``model`` is what the app knows, ``ledger`` every message it ever took, in order of arrival,
    ``connections`` how often a connection was opened, ``refusal`` why the last one was not.
    """

    def __init__(
        self,
        url: str,
        key: str,
        variant: str | Variant = "ios",
        *,
        retries: Retries | None = None,
        keepalive_seconds: float = KEEPALIVE_SECONDS,
        connect_seconds: float = PATIENCE_SECONDS,
        wait: bool = True,
        headers: tuple[tuple[str, str], ...] = (),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.url = url
        self.model = PhoneModel(key, VARIANTS[variant] if isinstance(variant, str) else variant)
        self.ledger: defaultdict[str, list[Message]] = defaultdict(list)
        self.model.sync.told = lambda session_id, one: self.ledger[session_id].append(one)
        self.connections = 0
        self.refusal = ""
        self.close_code: int | None = None
        self._retries = retries
        self._keepalive_seconds = keepalive_seconds
        self._connect_seconds = connect_seconds
        self._wait = wait
        self._headers = headers
        self._tls = tls
        self._link: Link | None = None
        self._stream: trio.abc.Stream | None = None
        self._wanted = True
        self._woken = trio.Event()
        self._changed = trio.Event()
        self._to_send = trio.Event()
        self._reading = trio.Event()
        self._reading.set()
        self._listeners: list[Callable[[Json], None]] = []
        self._life: AbstractAsyncContextManager[None] | None = None

    async def __aenter__(self) -> Phone:
        self._life = self._living()
        await self._life.__aenter__()
        if self._wait:
            try:
                await self._let_in(self._connect_seconds)
            except BaseException:
                await self._life.__aexit__(None, None, None)
                raise
        return self

    async def __aexit__(self, *failure: object) -> None:
        # What the body raised is not for the nursery, which would wrap it into a group.
        assert self._life is not None
        await self._life.__aexit__(None, None, None)

    # What it knows.

    @property
    def faults(self) -> list[Fault]:
        """What the real app would have dropped or misread."""
        return self.model.faults

    @property
    def up(self) -> bool:
        """Whether it is connected and let in."""
        return self.model.connected

    def session(self, session_id: str) -> Session | LegacySession:
        """The app's cache of a session."""
        return self.model.session(session_id)

    def texts(self, session_id: str) -> list[str]:
        """The texts the app shows of a session, oldest first."""
        return self.model.session(session_id).texts

    def unsent(self, session_id: str) -> list[str]:
        """Prompts whose words have not come back: rows that the app shows as 'sending'."""
        session = self.model.session(session_id)
        return session.sent if isinstance(session, LegacySession) else session.sending

    def describe(self) -> str:
        """Its state in a few lines, for whoever has to find out why a scenario failed."""
        model = self.model
        last = [frame["type"] for frame in model.frames][-20:]
        lines = [
            f"{model.variant.name} phone on {model.screen}: connected {model.connected}",
            f"  stopped '{model.stopped}', refusal '{self.refusal}', opened {self.connections}",
            f"  last frames: {' '.join(last) or 'none'}",
            *(f"  fault: {fault}" for fault in model.faults[-10:]),
            *(f"  error: {error['message']}" for error in model.errors[-5:]),
        ]
        return "\n".join(lines)

    # Waiting.

    async def until(self, predicate: Callable[[Phone], T], seconds: float = PATIENCE_SECONDS) -> T:
        """Wait until ``predicate(phone)`` is true and return it.

        Raises:
            AssertionError: it was not within ``seconds``; the words describe the phone.
        """
        with trio.move_on_after(seconds):
            while not (value := predicate(self)):
                await self._changed.wait()
            return value
        raise AssertionError(f"not within {seconds:g} s\n{self.describe()}")

    async def barrier(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Ping, and wait for that pong: everything sent before was handled by then."""
        pongs = self.model.counts["pong"] + self.model.sync.pongs_due + 1
        self.model.sync.ping()
        self.flush()
        await self.until(lambda phone: phone.model.counts["pong"] >= pongs, seconds)

    async def request(self, frame: Json, *answers: str, seconds: float = PATIENCE_SECONDS) -> Json:
        """Send a frame and return the next one of the types ``answers``."""
        with self.listening(*answers) as heard:
            self.send(frame)
            await self.until(lambda _: heard, seconds)
        return heard[0]

    @contextmanager
    def listening(self, *types: str) -> Iterator[list[Json]]:
        """A list that every frame of these types (none: of all) is added to, decoded or not."""
        heard: list[Json] = []

        def hear(frame: Json) -> None:
            if not types or frame["type"] in types:
                heard.append(frame)

        self._listeners.append(hear)
        try:
            yield heard
        finally:
            self._listeners.remove(hear)

    # What the person does.

    async def open(self, session_id: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Show a session and wait until its history is complete."""
        errors = len(self.model.errors)
        self.model.sync.open(session_id)
        self.flush()
        await self.until(
            lambda phone: phone.model.sync.settled(session_id) or len(phone.model.errors) > errors,
            seconds,
        )

    async def reload(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Unsubscribe, ping, pong, subscribe; wait until the history is complete again."""
        session_id = self.model.screen
        assert session_id is not None, "no session is on the screen"
        self.model.sync.reload()
        self.flush()
        await self.until(
            lambda phone: (
                session_id in phone.model.sync.wanted and phone.model.sync.settled(session_id)
            ),
            seconds,
        )

    async def leave(self) -> None:
        """Go back to the list."""
        self.model.sync.leave()
        await self.barrier()

    async def say(self, text: str, **more: object) -> None:
        """Send a prompt to the session on the screen; returns when the server has handled it."""
        self.model.say(text, **more)
        await self.barrier()

    async def new(self, directory: str, text: str, **more: object) -> str:
        """Begin a session with its first prompt; returns its id when the server has handled it."""
        session_id = self.model.new(directory, text, **more)
        await self.barrier()
        return session_id

    async def turns(self, session_id: str, count: int, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until ``count`` turns of a session have ended since this phone was made."""
        await self.until(lambda phone: phone.model.turns_done[session_id] >= count, seconds)

    # The connection.

    def send(self, frame: Json) -> None:
        """Put a frame of one's own on its way."""
        self.model.send(frame)
        self.flush()

    def send_raw(self, data: str | bytes) -> None:
        """Put a message on its way that the model knows nothing of: text, or binary bytes."""
        if self._link is not None:
            if isinstance(data, str):
                self._link.send(data)
            else:
                self._link.send_binary(data)
            self._to_send.set()

    def flush(self) -> None:
        """Hand what the model has to send to the connection; lost without one, as in the apps."""
        while self.model.out:
            frame = self.model.out.popleft()
            if self._link is not None:
                self._link.send(json.dumps(frame, separators=(",", ":")))
        self._to_send.set()

    def stop_reading(self) -> None:
        """Take no more bytes from the socket until ``go_on_reading``."""
        self._reading = trio.Event()

    def go_on_reading(self) -> None:
        """Take bytes from the socket again."""
        self._reading.set()

    def cut(self) -> None:
        """Lose the connection without a word; what follows depends on ``retries``."""
        if isinstance(self._stream, trio.SocketStream | trio.SSLStream):
            bare = self._stream
            while isinstance(bare, trio.SSLStream):
                bare = bare.transport_stream
            bare.socket.close()

    async def background(self) -> None:
        """Close the connection in order, and stay away until ``foreground``."""
        self._wanted = False
        if self._link is not None:
            self._link.close()
            self._to_send.set()
        await self.until(lambda phone: phone._link is None)

    async def foreground(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Connect (again), and wait until let in."""
        self._wanted = True
        if self._retries is not None:
            self._retries.reset()
        self._woken.set()
        await self._let_in(seconds)

    async def _let_in(self, seconds: float) -> None:
        last_try = self._retries is None
        await self.until(
            lambda phone: phone.up or phone.model.stopped or (last_try and phone.refusal), seconds
        )
        if not self.up:
            raise Refused(self.model.stopped or self.refusal)
        await self.barrier(seconds)

    @asynccontextmanager
    async def _living(self) -> AsyncIterator[None]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._live)
            yield
            nursery.cancel_scope.cancel()

    async def _live(self) -> None:
        while True:
            while not self._wanted:
                self._woken = trio.Event()
                await self._woken.wait()
            await self._connect_once()
            self._link = self._stream = None
            self.model.closed()
            delay = self._delay()
            self._woken = trio.Event()
            if delay is None:
                self._wanted = False
            self._tell()
            with trio.move_on_after(delay or 0.0):
                await self._woken.wait()
            await trio.lowlevel.checkpoint()

    def _delay(self) -> float | None:
        if not self._wanted or self.model.stopped or self._retries is None:
            return None
        return self._retries.next()

    async def _connect_once(self) -> None:
        """One connection, from its first byte to its end."""
        link = Link(self.url, self._headers)
        self.refusal, self.close_code = "", None
        try:
            with trio.fail_after(self._connect_seconds):
                stream = await self._dial(link)
        except (OSError, trio.BrokenResourceError, trio.TooSlowError) as error:
            self.refusal = f"no connection: {error}"
            return
        self._link, self._stream = link, stream
        self._to_send = trio.Event()
        self._to_send.set()
        self.connections += 1
        try:
            async with stream, trio.open_nursery() as nursery:
                nursery.start_soon(self._write, stream, link)
                nursery.start_soon(self._keep_alive)
                await self._read(stream, link)
                nursery.cancel_scope.cancel()
        except* (trio.BrokenResourceError, trio.ClosedResourceError, OSError):
            pass  # the connection is gone: that is told by the state, not by an error
        self.refusal, self.close_code = link.refusal, link.close_code
        if link.violation:
            self.faults.append(Fault("frame", "websocket", link.violation, FRAME_DROPPED))

    async def _dial(self, link: Link) -> trio.abc.Stream:
        stream: trio.abc.Stream = await trio.open_tcp_stream(link.host, link.port)
        if link.secure:
            context = self._tls or ssl.create_default_context()
            secured = trio.SSLStream(
                stream, context, server_hostname=link.host, https_compatible=True
            )
            await secured.do_handshake()
            return secured
        return stream

    async def _read(self, stream: trio.abc.Stream, link: Link) -> None:
        while data := await stream.receive_some(CHUNK):
            await self._reading.wait()
            for message in link.received(bytes(data)):
                was_up = self.model.connected
                frame = self.model.received(message)
                if self.model.connected and not was_up and self._retries is not None:
                    self._retries.reset()
                if frame is not None:
                    for hear in tuple(self._listeners):
                        hear(frame)
            self.flush()
            self._tell()
        link.ended()

    async def _write(self, stream: trio.abc.Stream, link: Link) -> None:
        while True:
            await self._to_send.wait()
            self._to_send = trio.Event()
            for piece in link.output():
                if piece:
                    await stream.send_all(piece)
                elif isinstance(stream, trio.abc.HalfCloseableStream):
                    await stream.send_eof()

    async def _keep_alive(self) -> None:
        while True:
            with trio.move_on_after(self._keepalive_seconds):
                await trio.sleep_forever()
            if self.model.connected:
                self.model.sync.ping()
                self.flush()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
