"""Dictation of one utterance: the sound streams to the daemon, which returns its text.

At the terminal Enter begins and ends it; what is understood is shown meanwhile.
"""

from __future__ import annotations

import os
import select
import sys
import time
from binascii import b2a_base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from podium import text
from podium.audio.microphone import BYTES_A_SECOND, SAMPLE_RATE, Microphone, recorders
from podium.errors import ConnectionLost, DaemonDown, Failure
from podium.given import present
from podium.render.screen import ASSUMED_COLUMNS, Screen
from podium.rpc import feed
from podium.rpc.connection import Connection

if TYPE_CHECKING:
    from podium import protocol

T = TypeVar("T")

PIECE_BYTES = BYTES_A_SECOND // 10
HOPE = "again, and you can say it again"

LACKING = ("off", "not-installed", "no-model")
"""States in which nothing can be transcribed until a person acts."""


class Keys:
    """Standard input while something is recorded: a line, or its end, ends the recording."""

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return sys.stdin.fileno()

    def take(self) -> None:
        """Take what was typed."""
        os.read(self.fileno(), 65536)


class Dictation:
    """An utterance that is being spoken. ``frames`` are its pieces: a daemon that was away gets
    again what it lacks.

    Raises:
        Failure: the daemon takes no speech; the message says why.
    """

    def __init__(self, connection: Connection, language: str | None, session: str | None) -> None:
        import uuid

        self.connection = connection
        self._utterance_id = str(uuid.uuid4())
        request: protocol.OpenMicrophone = {
            "utterance_id": self._utterance_id,
            "format": "pcm16",
            "sample_rate": SAMPLE_RATE,
            "language": language,
            "session_id": session,
        }
        self._request = present(request)
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

    def end(self) -> protocol.Heard:
        """End the utterance and return its transcript.

        Raises:
            Failure: there is none; the message says why.
        """
        if self._piece:
            self._frames.append(bytes(self._piece))
            self._piece.clear()

        def ended() -> protocol.Heard:
            self._send()
            return self.connection.call("voice.end", self._this(), seconds=None)

        return self._again(ended)

    def cancel(self) -> None:
        """Forget it."""
        try:
            self.connection.call("voice.cancel", self._this())
        except Failure:
            pass  # the daemon forgets it by itself

    def _begin(self) -> None:
        self._next = int(self.connection.call("voice.start", self._request).get("next_frame") or 0)

    def _send(self) -> None:
        while self._next < len(self._frames):
            frame = b2a_base64(self._frames[self._next], newline=False).decode("ascii")
            piece: protocol.Audio = {**self._this(), "audio": frame, "frame": self._next}
            self.connection.call("voice.audio", piece)
            self._next += 1

    def _this(self) -> protocol.OneUtterance:
        return {"utterance_id": self._utterance_id}

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
) -> protocol.Heard:
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
        if keys is not None and keys in ready:
            keys.take()
            break
        if microphone in ready:
            dictation.add(microphone.read())
            said = dictation.partials()
            heard = heard if said is None else said
            show(heard, dictation.seconds)
    dictation.add(microphone.close())
    return dictation.end()


def record(language: str | None, session: str | None, seconds: float | None) -> protocol.Heard:
    """Record one utterance from the machine's microphone and return its transcript.

    At a terminal Enter begins it; without one, or with ``seconds``, it begins at once. It ends with
    Enter, with the end of standard input, or after ``seconds``.

    Raises:
        Failure: there is no recorder, no daemon, no engine, or no sound.
        KeyboardInterrupt: Ctrl-C: nothing is kept.
    """
    screen = Screen(sys.stderr)
    keys = Keys() if seconds is None else None
    recorders()  # report what is missing before the person speaks
    connection = Connection()
    lacking = problem(connection)
    if lacking:
        connection.close()
        raise Failure(lacking)
    if keys is not None and text.is_terminal(sys.stdin):
        screen.write("Press Enter to speak, and Enter again when you are done. ")
        keys.take()
        screen.typed()
    dictation = Dictation(connection, language, session)
    try:
        return spoken(dictation, keys, seconds, screen)
    except BaseException:
        dictation.cancel()
        raise
    finally:
        dictation.connection.close()


def problem(connection: Connection) -> str:
    """Return why speech cannot become text here, and what to do; empty where it can."""
    status: protocol.SpeechStatus = connection.call("voice.status")
    if status.get("state") not in LACKING:
        return ""
    return str(status.get("problem") or f"Voice is {status.get('state')}: see 'podium doctor'.")


def spoken(
    dictation: Dictation, keys: Keys | None, seconds: float | None, screen: Screen
) -> protocol.Heard:
    """Record an utterance that was begun, and show how it goes on ``screen``.

    Raises:
        Failure: nothing could be recorded, or there is no text.
    """

    def show(heard: str, length: float) -> None:
        screen.status(live_line(heard, length))

    with Microphone() as microphone:
        show("", 0.0)
        if not screen.live:
            screen.line("Listening …")
        try:
            return dictate(dictation, microphone, keys, seconds, show)
        finally:
            screen.clear()


def live_line(heard: str, seconds: float) -> str:
    """Build the live line during speech: the end of the partial transcript."""
    head = f"● {seconds:4.1f} s  "
    room = (text.columns() or ASSUMED_COLUMNS) - 2 - len(head)
    words = text.fold(heard)
    return head + (words if len(words) <= room else f"…{words[1 - room :]}")
