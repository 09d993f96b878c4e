"""Dictation of one utterance: the sound streams to the daemon, which returns its text."""

from __future__ import annotations

import select
import time
from binascii import b2a_base64
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from podium.audio.microphone import BYTES_A_SECOND, SAMPLE_RATE, Microphone
from podium.errors import ConnectionLost, DaemonDown, Failure
from podium.rpc import feed
from podium.rpc.connection import Connection

Json = dict[str, Any]
T = TypeVar("T")

PIECE_BYTES = BYTES_A_SECOND // 10
HOPE = "again, and you can say it again"


class Keys(Protocol):
    """Source of the key press that ends a recording."""

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        ...

    def pressed(self) -> bool:
        """Take what was typed; true if that ends the recording."""
        ...


class Dictation:
    """An utterance that is being spoken. ``frames`` are its pieces: a daemon that was away gets
    again what it lacks.

    Raises:
        Failure: the daemon takes no speech; the message says why.
    """

    def __init__(self, connection: Connection, language: str | None, session: str | None) -> None:
        import uuid

        self.connection = connection
        self._request: Json = {
            "utterance_id": str(uuid.uuid4()),
            "format": "pcm16",
            "sample_rate": SAMPLE_RATE,
        }
        given = {"language": language, "session_id": session}
        self._request |= {name: value for name, value in given.items() if value}
        self._frames: list[bytes] = []
        self._piece = bytearray()
        self._next = 0
        self._begin()

    @property
    def seconds(self) -> float:
        """Return the seconds of sound recorded so far."""
        whole = sum(map(len, self._frames))
        return (whole + len(self._piece)) / BYTES_A_SECOND

    def add(self, sound: bytes) -> None:
        """Send more of it."""
        self._piece += sound
        while len(self._piece) >= PIECE_BYTES:
            self._frames.append(bytes(self._piece[:PIECE_BYTES]))
            del self._piece[:PIECE_BYTES]
        self._again(self._send)

    def partials(self) -> str | None:
        """Return the latest partial transcript; ``None`` if no new one has arrived."""
        said = None
        for message in self._again(self.connection.notifications):
            params = message.get("params") or {}
            if message.get("method") == "voice.partial":
                said = str(params.get("text") or "")
        return said

    def end(self) -> Json:
        """End the utterance and return its transcript.

        Raises:
            Failure: there is none; the message says why.
        """
        if self._piece:
            self._frames.append(bytes(self._piece))
            self._piece.clear()

        def ended() -> Json:
            self._send()
            answer: Json = self._call("voice.end", seconds=None)
            return answer

        return self._again(ended)

    def cancel(self) -> None:
        """Forget it."""
        try:
            self._call("voice.cancel")
        except Failure:
            pass  # the daemon forgets it by itself

    def _begin(self) -> None:
        self._next = int(self.connection.call("voice.start", self._request).get("next_frame") or 0)

    def _send(self) -> None:
        while self._next < len(self._frames):
            frame = b2a_base64(self._frames[self._next], newline=False).decode("ascii")
            self._call("voice.audio", audio=frame, frame=self._next)
            self._next += 1

    def _call(self, method: str, seconds: float | None = 60.0, **params: Any) -> Any:
        params["utterance_id"] = self._request["utterance_id"]
        return self.connection.call(method, params, seconds)

    def _again(self, request: Callable[[], T]) -> T:
        """Do what a daemon that is started again meanwhile can be asked once more."""
        try:
            return request()
        except (ConnectionLost, DaemonDown):
            self.connection.close()
            self.connection = feed.wait_for_daemon(self.connection.path, HOPE)
            self._begin()
            return request()


def dictate(
    dictation: Dictation,
    microphone: Microphone,
    keys: Keys | None,
    seconds: float | None,
    show: Callable[[str, float], None],
) -> Json:
    """Record until a key or the time ends it, and return the transcript.

    Parameters:
        keys: what to wait on beside the microphone.
        seconds: how long at most.
        show: gets what is understood so far, and how many seconds were recorded.

    Raises:
        Failure: nothing could be recorded, or there is no text.
    """
    heard = ""
    deadline = None if seconds is None else time.monotonic() + seconds
    while deadline is None or time.monotonic() < deadline:
        watched: list[Any] = [microphone, *([keys] if keys is not None else [])]
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready = select.select(watched, [], [], left)[0]
        if keys is not None and keys in ready and keys.pressed():
            break
        if microphone in ready:
            dictation.add(microphone.read())
            heard = _latest(dictation, heard)
            show(heard, dictation.seconds)
    dictation.add(microphone.close())
    return dictation.end()


def _latest(dictation: Dictation, heard: str) -> str:
    said = dictation.partials()
    return heard if said is None else said
