"""The simulated phone under trio: what scenarios hold in their hands.

async with Phone(url, key, "ios") as phone:
    await phone.open(session_id)
    await phone.say("hello")
    await phone.until(lambda phone: "hi" in phone.texts(session_id))
    assert phone.faults == []
"""

from __future__ import annotations

import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TypeVar

import trio

from tests.patience import HANG_SECONDS
from tests.phone.carrier import AtOnce, Carrier, Retries
from tests.phone_app.fields import Fault, Json
from tests.phone_app.histories import Message
from tests.phone_app.model import PhoneModel
from tests.phone_app.sessions import LegacySession, Session
from tests.phone_app.variants import VARIANTS, Variant
from tests.phone_app.voice import Utterance

__all__ = ["AtOnce", "Phone", "Refused", "Retries"]

KEEPALIVE_SECONDS = 30.0

T = TypeVar("T")


class Refused(Exception):
    """The phone was not let in; the words say why."""


class Phone:
    """One phone on one gateway; ``async with`` connects it and takes it away again.

    ``variant``: a name of ``VARIANTS`` or one of them. ``retries``: ``None`` stays down when the
    connection is lost. ``wait`` false: entering does not wait for the connection. ``headers``
    replace those of the same name in the opening request.

    ``model`` is what the app knows, ``ledger`` every message it ever took, in order of arrival.
    """

    def __init__(
        self,
        url: str,
        key: str,
        variant: str | Variant = "ios",
        *,
        retries: Retries | None = None,
        keepalive_seconds: float = KEEPALIVE_SECONDS,
        wait: bool = True,
        headers: tuple[tuple[str, str], ...] = (),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.url = url
        self.model = PhoneModel(key, VARIANTS[variant] if isinstance(variant, str) else variant)
        self.ledger: defaultdict[str, list[Message]] = defaultdict(list)
        self.model.sync.told = lambda session_id, one: self.ledger[session_id].append(one)
        self.carrier = Carrier(
            url,
            self.model,
            hear=self._hear,
            tell=self._tell,
            retries=retries,
            keepalive_seconds=keepalive_seconds,
            headers=headers,
            tls=tls,
        )
        self._wait = wait
        self._last_try = retries is None
        self._changed = trio.Event()
        self._listeners: list[Callable[[Json], None]] = []
        self._life: AbstractAsyncContextManager[None] | None = None

    async def __aenter__(self) -> Phone:
        self._life = self._living()
        await self._life.__aenter__()
        if self._wait:
            try:
                await self._let_in()
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
    def connections(self) -> int:
        """How often a connection was opened."""
        return self.carrier.connections

    @property
    def refusal(self) -> str:
        """Why the last connection was not opened; empty: it was."""
        return self.carrier.refusal

    @property
    def close_code(self) -> int | None:
        """The code that the gateway closed the last connection with."""
        return self.carrier.close_code

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

    async def until(self, predicate: Callable[[Phone], T]) -> T:
        """Wait until ``predicate(phone)`` is true and return it.

        Raises:
            AssertionError: it was not in time; the words describe the phone.
        """
        with trio.move_on_after(HANG_SECONDS):
            while not (value := predicate(self)):
                await self._changed.wait()
            return value
        raise AssertionError(f"not within {HANG_SECONDS:g} s\n{self.describe()}")

    async def barrier(self) -> None:
        """Ping, and wait for that pong: everything sent before was handled by then."""
        pongs = self.model.counts["pong"] + self.model.sync.pongs_due + 1
        self.model.sync.ping()
        self.flush()
        await self.until(lambda phone: phone.model.counts["pong"] >= pongs)

    async def request(self, frame: Json, *answers: str) -> Json:
        """Send a frame and return the next one of the types ``answers``."""
        with self.listening(*answers) as heard:
            self.send(frame)
            await self.until(lambda _: heard)
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

    async def open(self, session_id: str) -> None:
        """Show a session and wait until its history is complete."""
        errors = len(self.model.errors)
        self.model.sync.open(session_id)
        self.flush()
        await self.until(
            lambda phone: phone.model.sync.settled(session_id) or len(phone.model.errors) > errors,
        )

    async def reload(self) -> None:
        """Unsubscribe, ping, pong, subscribe; wait until the history is complete again."""
        session_id = self.model.screen
        assert session_id is not None, "no session is on the screen"
        self.model.sync.reload()
        self.flush()
        await self.until(
            lambda phone: (
                session_id in phone.model.sync.wanted and phone.model.sync.settled(session_id)
            ),
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

    # Speaking.

    async def press(self, format: str = "pcm16", **more: object) -> Utterance:
        """Press the button; returns when the gateway has said where it wants to begin. ``more``
        are further fields of ``voice_start``, ``utterance_id`` among them."""
        utterance_id = str(more.pop("utterance_id", None) or self.model.new_id())
        said = self.model.voice.begin(utterance_id, format, **more)
        self.flush()
        await self.until(lambda _: said.next_frame is not None)
        return said

    async def utter(self, said: Utterance, sound: bytes, piece_bytes: int = 3200) -> None:
        """Speak into the open microphone, in pieces; returns when the gateway has taken them."""
        for at in range(0, len(sound), piece_bytes):
            self.model.voice.add(said, sound[at : at + piece_bytes])
        self.flush()
        await self.barrier()

    async def release(self, said: Utterance) -> Json:
        """Let go of the button; returns what the utterance came to."""
        self.model.voice.end(said)
        self.flush()
        return await self.told(said)

    async def told(self, said: Utterance) -> Json:
        """Wait for what an utterance comes to: a transcript, a command or an error."""
        await self.until(lambda _: said.over)
        return said.result or {"type": "voice_ready", "state": said.state}

    async def speak(self, sound: bytes, **more: object) -> Json:
        """Say something whole: ``press``, ``utter`` and ``release``."""
        said = await self.press(**more)  # type: ignore[arg-type]
        if not said.over:
            await self.utter(said, sound)
        return await self.release(said)

    async def turns(self, session_id: str, count: int) -> None:
        """Wait until ``count`` turns of a session have ended since this phone was made."""
        await self.until(lambda phone: phone.model.turns_done[session_id] >= count)

    # The connection.

    def send(self, frame: Json) -> None:
        """Put a frame of one's own on its way."""
        self.model.send(frame)
        self.flush()

    def send_raw(self, data: str | bytes) -> None:
        """Put a message on its way that the model knows nothing of: text, or binary bytes."""
        self.carrier.send_raw(data)

    def flush(self) -> None:
        """Hand what the model has to send to the connection; lost without one, as in the apps."""
        self.carrier.flush()

    def stop_reading(self) -> None:
        """Take no more bytes from the socket until ``go_on_reading``."""
        self.carrier.stop_reading()

    def go_on_reading(self) -> None:
        """Take bytes from the socket again."""
        self.carrier.go_on_reading()

    def cut(self) -> None:
        """Lose the connection without a word; what follows depends on ``retries``."""
        self.carrier.cut()

    async def background(self) -> None:
        """Close the connection in order, and stay away until ``foreground``."""
        self.carrier.hang_up()
        await self.until(lambda phone: not phone.carrier.is_open)

    async def foreground(self, *, url: str | None = None) -> None:
        """Connect (again), and wait until let in; ``url``: where the gateway is now."""
        self.carrier.come_back(url)
        await self._let_in()

    async def _let_in(self) -> None:
        await self.until(
            lambda phone: phone.up or phone.model.stopped or (phone._last_try and phone.refusal),
        )
        if not self.up:
            raise Refused(self.model.stopped or self.refusal)
        await self.barrier()

    @asynccontextmanager
    async def _living(self) -> AsyncIterator[None]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.carrier.live)
            yield
            nursery.cancel_scope.cancel()

    def _hear(self, frame: Json) -> None:
        for hear in tuple(self._listeners):
            hear(frame)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
