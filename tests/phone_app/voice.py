"""Speech as an app sends it: pieces kept until the words are back, so that a sentence that the
network cuts in two goes on where the gateway lost it.

Nothing of an utterance is sent before the gateway says from where: ``voice_ready`` answers each
start, the first and those after a lost connection.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.phone_app.fields import MISREAD, Fault, Json

STATES = ("loading", "ready", "unavailable")
COMMAND_STATES = ("applied", "confirm", "refused")


@dataclass
class Utterance:
    """What a person says between pressing the button and letting go.

    ``start`` is the message that begins it, ``pieces`` what the microphone gave so far.
    ``next_frame`` is where the gateway wants to go on, ``None`` until it has said so on this
    connection. ``result`` is the message that it came to: a transcript, a command, or an error.
    """

    start: Json
    pieces: list[bytes] = field(default_factory=list)
    ended: bool = False
    cancelled: bool = False
    next_frame: int | None = None
    end_sent: bool = False
    state: str = ""
    partials: list[str] = field(default_factory=list)
    result: Json | None = None

    @property
    def utterance_id(self) -> str:
        """Its id, which the app made up."""
        return str(self.start["utterance_id"])

    @property
    def over(self) -> bool:
        """Whether nothing more is to come of it."""
        return self.result is not None or self.cancelled or self.state == "unavailable"


class Voice:
    """The utterances of one app, and what it was told to say aloud: (session id, text).

    ``send`` puts a message on its way, a piece of speech as bytes.
    """

    def __init__(self, send: Callable[[Json | bytes], None], faults: list[Fault]) -> None:
        self.utterances: dict[str, Utterance] = {}
        self.said: list[tuple[str, str]] = []
        self._send = send
        self._faults = faults
        self._current: str | None = None
        self._online = False

    # What the person does.

    def begin(self, utterance_id: str, format: str, **more: object) -> Utterance:
        """Press the button. ``more`` are further fields of ``voice_start``."""
        start = {"type": "voice_start", "utterance_id": utterance_id, "format": format, **more}
        utterance = self.utterances[utterance_id] = Utterance(start)
        self._start(utterance)
        return utterance

    def add(self, utterance: Utterance, piece: bytes) -> None:
        """The microphone gives a piece."""
        utterance.pieces.append(piece)
        self._go_on(utterance)

    def end(self, utterance: Utterance) -> None:
        """Let go of the button."""
        utterance.ended = True
        self._go_on(utterance)

    def cancel(self, utterance: Utterance) -> None:
        """Forget what was said."""
        utterance.cancelled = True
        self._send({"type": "voice_cancel", "utterance_id": utterance.utterance_id})

    def again(self, utterance: Utterance) -> None:
        """Ask for what an utterance came to once more, as an app does that has lost the answer."""
        utterance.result = None
        self._start(utterance)

    # The connection.

    def connected(self) -> None:
        """Go on with what was being said."""
        self._online = True
        for utterance in self.utterances.values():
            if not utterance.over:
                self._start(utterance)

    def disconnected(self) -> None:
        """What was sent may not have arrived."""
        self._online = False
        for utterance in self.utterances.values():
            utterance.next_frame, utterance.end_sent = None, False

    def _start(self, utterance: Utterance) -> None:
        if not self._online:
            return  # ``connected`` does it
        known = len(utterance.pieces)
        utterance.next_frame, utterance.end_sent = None, False
        self._current = utterance.utterance_id
        self._send(utterance.start | ({"from_frame": known} if known else {}))

    def _go_on(self, utterance: Utterance) -> None:
        """Send what the gateway lacks, as far as it is there."""
        if utterance.next_frame is None or utterance.over:
            return
        if self._current != utterance.utterance_id:
            self._start(utterance)  # pieces belong to the utterance that was started last
            return
        while utterance.next_frame < len(utterance.pieces):
            number = utterance.next_frame
            self._send(number.to_bytes(4, "big") + utterance.pieces[number])
            utterance.next_frame += 1
        if utterance.ended and not utterance.end_sent:
            utterance.end_sent = True
            self._send({"type": "voice_end", "utterance_id": utterance.utterance_id})

    # What the gateway says.

    def take(self, frame: Json) -> None:
        """One decoded message about speech."""
        if frame["type"] == "speak":
            self.said.append((frame["session_id"], frame["text"]))
            return
        utterance = self._of(frame)
        if utterance is None:
            return
        match frame["type"]:
            case "voice_ready":
                self._ready(utterance, frame)
            case "voice_partial":
                if utterance.result is not None:
                    self._misread(frame, "utterance_id", "has its words already")
                utterance.partials.append(frame["text"])
            case _:
                self._came_to(utterance, frame)

    def _of(self, frame: Json) -> Utterance | None:
        """The utterance that a message is about; an error may be about none."""
        named = frame.get("utterance_id")
        if named is None:
            return None
        utterance = self.utterances.get(named)
        if utterance is None:
            self._misread(frame, "utterance_id", "is of no utterance of this app")
        return utterance

    def _ready(self, utterance: Utterance, frame: Json) -> None:
        state, wanted = frame["state"], frame["next_frame"]
        if state not in STATES:
            self._misread(frame, "state", f"is '{state}'")
        if not 0 <= wanted <= len(utterance.pieces):
            self._misread(frame, "next_frame", f"is {wanted} of {len(utterance.pieces)}")
            return
        if state == "unavailable" and not frame.get("message"):
            self._misread(frame, "message", "does not say what to do")
        utterance.state, utterance.next_frame, utterance.end_sent = state, wanted, False
        self._go_on(utterance)

    def _came_to(self, utterance: Utterance, frame: Json) -> None:
        if frame["type"] == "voice_command" and frame["state"] not in COMMAND_STATES:
            self._misread(frame, "state", f"is '{frame['state']}'")
        if utterance.cancelled and frame["type"] != "voice_error":
            self._misread(frame, "utterance_id", "was cancelled")
        utterance.result = frame

    def _misread(self, frame: Json, name: str, reason: str) -> None:
        self._faults.append(Fault(frame["type"], name, reason, MISREAD))
