"""The connection of a simulated phone under trio: made, kept alive, lost, and made again."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from typing import Protocol

import trio

from tests.patience import HANG_SECONDS
from tests.phone.decoders.recorder import RECORDER
from tests.phone_app.fields import FRAME_DROPPED, Fault, Json
from tests.phone_app.link import Link
from tests.phone_app.model import PhoneModel

CHUNK = 65536


class Retries(Protocol):
    """When to connect again: as the apps do (``phone_app.retry``), or ``AtOnce`` for tests."""

    def next(self) -> float | None: ...
    def reset(self) -> None: ...


class AtOnce:
    """Connects again without delay, as often as it takes."""

    def next(self) -> float:
        return 0.0

    def reset(self) -> None:
        """Nothing was counted."""


class Carrier:
    """Carries the frames of one phone. ``hear`` gets each frame that came, ``tell`` is called
    after every change of the phone or of its connection.

    ``connections`` is how often one was opened, ``refusal`` why the last one was not,
    ``close_code`` how it was closed.
    """

    def __init__(
        self,
        url: str,
        model: PhoneModel,
        *,
        hear: Callable[[Json], None],
        tell: Callable[[], None],
        retries: Retries | None,
        keepalive_seconds: float,
        headers: tuple[tuple[str, str], ...] = (),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.connections = 0
        self.refusal = ""
        self.close_code: int | None = None
        self._url = url
        self._model = model
        self._hear = hear
        self._tell = tell
        self._retries = retries
        self._keepalive_seconds = keepalive_seconds
        self._headers = headers
        self._tls = tls
        self._link: Link | None = None
        self._stream: trio.abc.Stream | None = None
        self._wanted = True
        self._woken = trio.Event()
        self._to_send = trio.Event()
        self._reading = trio.Event()
        self._reading.set()

    @property
    def is_open(self) -> bool:
        """Whether there is a connection, be it only begun."""
        return self._link is not None

    def send_raw(self, data: str | bytes) -> None:
        """Put a message on its way that the model knows nothing of: text, or binary bytes."""
        if self._link is not None:
            if isinstance(data, str):
                self._link.send(data)
            else:
                self._link.send_binary(data)
            self._to_send.set()

    def flush(self) -> None:
        """Send what the model has to send; lost without a connection."""
        while self._model.out:
            frame = self._model.out.popleft()
            if self._link is None:
                continue
            if isinstance(frame, bytes):
                self._link.send_binary(frame)
            else:
                self._link.send(json.dumps(frame, separators=(",", ":")))
        self._to_send.set()

    def stop_reading(self) -> None:
        """Take no more bytes from the socket."""
        self._reading = trio.Event()

    def go_on_reading(self) -> None:
        """Take bytes from the socket again."""
        self._reading.set()

    def cut(self) -> None:
        """Close the socket without a word."""
        bare = self._stream
        while isinstance(bare, trio.SSLStream):
            bare = bare.transport_stream
        if isinstance(bare, trio.SocketStream):
            bare.socket.close()

    def hang_up(self) -> None:
        """Close the connection in order, and stay away."""
        self._wanted = False
        if self._link is not None and self._link.is_open:
            self._link.close()
            self._to_send.set()
        else:
            self.cut()  # in the midst of the opening there is nobody to say goodbye to

    def come_back(self, url: str | None = None) -> None:
        """Connect, if there is no connection; from now on to ``url``, if one is given."""
        self._wanted = True
        self._url = url or self._url
        if self._retries is not None:
            self._retries.reset()
        self._woken.set()

    async def live(self) -> None:
        """Connect, and again when the connection is lost, until cancelled."""
        while True:
            while not self._wanted:
                self._woken = trio.Event()
                await self._woken.wait()
            await self._connect_once()
            self._link = self._stream = None
            self._model.closed()
            delay = self._delay()
            self._woken = trio.Event()
            if delay is None:
                self._wanted = False
            self._tell()
            with trio.move_on_after(delay or 0.0):
                await self._woken.wait()
            await trio.lowlevel.checkpoint()

    def _delay(self) -> float | None:
        if not self._wanted or self._model.stopped or self._retries is None:
            return None
        return self._retries.next()

    async def _connect_once(self) -> None:
        """One connection, from its first byte to its end."""
        link = Link(self._url, self._headers)
        self.refusal, self.close_code = "", None
        try:
            with trio.fail_after(HANG_SECONDS):
                stream = await self._dial(link)
        except (OSError, trio.BrokenResourceError, trio.TooSlowError) as error:
            self.refusal = f"no connection: {error}"
            return
        if not self._wanted:  # hung up while it was dialled
            await trio.aclose_forcefully(stream)
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
            self._model.faults.append(Fault("frame", "websocket", link.violation, FRAME_DROPPED))

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
                RECORDER.saw(message)
                was_up = self._model.connected
                frame = self._model.received(message)
                if self._model.connected and not was_up and self._retries is not None:
                    self._retries.reset()
                if frame is not None:
                    self._hear(frame)
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
            if self._model.connected:
                if self._model.variant.socket_pings and self._link is not None:
                    self._link.ping()
                self._model.sync.ping()
                self.flush()
