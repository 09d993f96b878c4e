"""Utterances of phones: one belongs to its device and not to a connection.

The audio, its numbering and its text are the business of ``podiumd.speech``. Here a phone gets the
results, on the connection from which it has started the utterance last; and its outcome is kept for
a while, so that a phone which has lost the answer asks for it again and nothing is done twice.

    Utterances
    └── a task an utterance, which no lost connection ends
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import trio

from podiumd.gateway.phone.phone_link import PhoneLink
from podiumd.gateway.phone.protocol import outgoing_tools, requests
from podiumd.observe.logs import log
from podiumd.runtime.voice.service import Voice
from podiumd.speech.api import AudioError, SpeechUnavailable, UtteranceRequest
from podiumd.speech.utterance import Utterance
from podiumd.speech.words.languages import code_of
from podiumd.wire.voice import Transcribed

KEEP_SECONDS: Final = 600.0
"""Seconds for which the result of an utterance is sent again."""

MOST_KEPT: Final = 32
"""Utterances of one device, over and not; the oldest that are over are forgotten first."""

LONGEST_SECONDS: Final = 3600.0
"""Seconds from the opening of a microphone to its text, whatever comes in between."""

FRAME_BYTES: Final = 1024 * 1024
MOST_FRAMES: Final = 200_000
"""An hour of pieces of 20 ms: more is no speech."""

DEFAULT_RATE: Final = 16_000

MOST_PENDING: Final = 64 * 1024
"""Bytes that a socket may have pending before partial texts are left out."""

MOST_TRIES: Final = 100

Outcome = list[bytes]
"""Messages with the result of an utterance."""


class PhoneUtterance:
    """An utterance. ``phone``: the connection that has started it last, which may be gone.

    ``began``: when it was started first, on trio's clock. ``open_questions``: those that it may be
    an answer to, for they were open then. ``outcome``: what it came to, once that is known.
    """

    def __init__(
        self,
        phone: PhoneLink,
        message: requests.VoiceStart,
        utterance: Utterance,
        open_questions: frozenset[str],
    ) -> None:
        self.device = phone.device
        self.phone = phone
        self.message = message
        self.utterance = utterance
        self.began = trio.current_time()
        self.open_questions = open_questions
        self.ended = trio.Event()
        self.outcome: Outcome | None = None
        self.scope = trio.CancelScope()
        self.behind = False
        """True once its phone has the report that pieces are missing."""
        self.acting = False
        """True while the spoken command is carried out, which a cancel does not stop half way."""

    @property
    def id(self) -> str:
        """Return the phone's name for it."""
        return self.message.utterance_id

    @property
    def key(self) -> tuple[str, str]:
        """Return its name among all phones'."""
        return self.device, self.id

    def same(self, message: requests.VoiceStart) -> bool:
        """Return whether a start is that of this utterance, begun anew after a lost connection."""
        began = self.message
        return (message.format, message.deliver, message.session_id, message.sample_rate) == (
            began.format,
            began.deliver,
            began.session_id,
            began.sample_rate,
        )


Understood = Callable[[PhoneUtterance, Transcribed], Awaitable[Outcome]]
"""Carries out the words, and returns the messages for the phone."""


class Utterances:
    """The utterances of all phones. ``spawn_detached`` starts a task that outlives connections, and
    ``understood`` is given each text."""

    def __init__(
        self,
        voice: Voice,
        spawn_detached: Callable[[Callable[[], Awaitable[None]]], None],
        understood: Understood,
    ) -> None:
        self._voice = voice
        self._spawn_detached = spawn_detached
        self._understood = understood
        self._all: dict[tuple[str, str], PhoneUtterance] = {}
        self._of_phone: dict[PhoneLink, PhoneUtterance | None] = {}
        """The utterance that a connection has started last; ``None``: it was refused."""

    # -- what phones say ---------------------------------------------------------------------

    async def start(self, phone: PhoneLink, message: requests.VoiceStart) -> None:
        """Begin an utterance, or go on with one of this device."""
        self._of_phone[phone] = None
        if self._known(phone, message):
            return
        try:
            utterance = await self._opened(_wanted(phone, message))
        except SpeechUnavailable as reason:
            told = outgoing_tools.voice_ready(message.utterance_id, 0, "unavailable", str(reason))
            phone.send(told)
            return
        except AudioError as refusal:
            self._refuse(phone, message.utterance_id, refusal)
            return
        if phone.revoked:
            utterance.cancel()
            return
        if self._known(phone, message):  # by another connection, just now
            return
        # The rest of an utterance that began at another daemon: the question that the person was
        # asked then is not known.
        known = frozenset() if message.from_frame else self._voice.control.open_questions()
        said = PhoneUtterance(phone, message, utterance, known)
        self._make_room(phone.device)
        self._all[said.key] = said
        self._of_phone[phone] = said
        self._spawn_detached(lambda: self._live(said))
        self._ready(said)

    async def _opened(self, request: UtteranceRequest) -> Utterance:
        """Open a new utterance; one of this id that was cancelled a moment ago has to go first.

        Raises ``SpeechUnavailable``, ``AudioError``.
        """
        for _ in range(MOST_TRIES):
            utterance = await self._voice.speech.open(request)
            if not utterance.over:
                return utterance
            await trio.lowlevel.checkpoint()
        raise AudioError("busy", "The utterance before this one is still there; try again.")

    def _known(self, phone: PhoneLink, message: requests.VoiceStart) -> bool:
        """Go on with an utterance of this device, if it is one."""
        said = self._all.get((phone.device, message.utterance_id))
        if said is not None:
            self._again(phone, said, message)
        return said is not None

    def _again(self, phone: PhoneLink, said: PhoneUtterance, message: requests.VoiceStart) -> None:
        if not said.same(message):
            words = "This utterance_id is that of another utterance; take a new one."
            phone.send(outgoing_tools.voice_error(said.id, "other_utterance", words))
            return
        self._of_phone[phone] = said
        said.phone, said.behind = phone, False
        self._ready(said)
        for payload in said.outcome or ():
            phone.send(payload)

    async def frame(self, phone: PhoneLink, piece: requests.VoiceFrame) -> None:
        """Take a piece of the utterance that this connection has started last."""
        if phone not in self._of_phone:
            self._of_phone[phone] = None  # sent once
            words = "No voice_start came before this piece."
            phone.send(outgoing_tools.voice_error(None, "not_open", words))
            return
        said = self._of_phone[phone]
        if said is None or said.utterance.over or said.phone is not phone:
            return  # refused, or over, or gone on with on another connection
        if len(piece.audio) > FRAME_BYTES or piece.number >= MOST_FRAMES:
            words = f"A piece has at most {FRAME_BYTES} bytes, an utterance {MOST_FRAMES} pieces."
            self._fail(said, AudioError("too_big", words))
            return
        try:
            await said.utterance.feed(piece.audio, piece.number)
        except AudioError as fault:
            if fault.code == "frame_gap":
                self._tell_gap(said)
            elif not said.utterance.over:  # else its own task reports it
                self._fail(said, fault)
        else:
            said.behind = False

    def _tell_gap(self, said: PhoneUtterance) -> None:
        """Have the phone send again from where something is missing; sent once."""
        if not said.behind:
            said.behind = True
            self._ready(said)

    def end(self, phone: PhoneLink, utterance_id: str) -> None:
        """End an utterance; its outcome is sent when it is known."""
        said = self._find(phone, utterance_id)
        if said is not None:
            said.phone = phone
            if said.outcome is None:
                if not said.behind:  # else pieces are on their way, and its end after them
                    said.ended.set()
            else:
                for payload in said.outcome:
                    phone.send(payload)

    def cancel(self, phone: PhoneLink, utterance_id: str) -> None:
        """Forget an utterance at once; what was done because of it stays done."""
        said = self._all.get((phone.device, utterance_id))
        if said is not None and said.outcome is None and not said.acting:
            self._drop(said)

    def _find(self, phone: PhoneLink, utterance_id: str) -> PhoneUtterance | None:
        said = self._all.get((phone.device, utterance_id))
        if said is None and self._of_phone.get(phone, ()) is not None:
            words = f"There is no utterance '{utterance_id}' of this device; start it again."
            phone.send(outgoing_tools.voice_error(utterance_id, "not_open", words))
        return said

    # -- the connections ---------------------------------------------------------------------

    def gone(self, phone: PhoneLink) -> None:
        """Forget a lost connection; the utterance waits for its phone."""
        self._of_phone.pop(phone, None)

    def revoked(self, device: str) -> None:
        """Drop the utterances of a device whose key was taken back: nothing in them is done any
        more."""
        for said in tuple(self._all.values()):
            if said.device == device:
                self._drop(said)

    # -- the life of an utterance ------------------------------------------------------------

    async def _live(self, said: PhoneUtterance) -> None:
        """Run an utterance from its beginning until its outcome is no longer asked for."""
        try:
            with said.scope:
                outcome = await self._outcome(said)
                if said.outcome is None and not said.scope.cancel_called:
                    said.outcome = outcome
                    self._tell(said, *outcome)
                if said.utterance.over:
                    said.utterance.release()
                else:
                    said.utterance.cancel()
                await trio.sleep(KEEP_SECONDS)
        finally:
            said.utterance.cancel()
            if self._all.get(said.key) is said:
                del self._all[said.key]

    async def _outcome(self, said: PhoneUtterance) -> Outcome:
        with trio.move_on_after(LONGEST_SECONDS):
            transcript = await self._transcript(said)
            if isinstance(transcript, AudioError):
                return [_error(said.id, transcript)]
            return await self._done(said, transcript)
        words = f"Nothing came of it within {LONGEST_SECONDS:g} s."
        return [_error(said.id, AudioError("expired", words))]

    async def _transcript(self, said: PhoneUtterance) -> Transcribed | AudioError:
        """Wait for the end and return the text; meanwhile send the text so far."""
        outcome: Transcribed | AudioError = AudioError("cancelled", "The recording was cancelled.")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tell_partials, said)
            nursery.start_soon(self._expect, said)
            await said.ended.wait()
            try:
                outcome = await said.utterance.end()
            except AudioError as fault:
                outcome = fault
            nursery.cancel_scope.cancel()
        return outcome

    async def _tell_partials(self, said: PhoneUtterance) -> None:
        async for text in said.utterance.partials():
            if said.phone.pending < MOST_PENDING:
                budget = said.phone.budget
                self._tell(said, outgoing_tools.voice_partial(said.id, text, budget))
        said.ended.set()  # it is over, even if its phone has not ended it

    async def _expect(self, said: PhoneUtterance) -> None:
        """While the person speaks there is time to look up which words may come."""
        said.utterance.expect(await self._voice.terms(said.message.session_id))

    async def _done(self, said: PhoneUtterance, transcript: Transcribed) -> Outcome:
        """Do what the utterance asks. Its words are not lost, even if that fails."""
        said.acting = True
        try:
            return await self._understood(said, transcript)
        except Exception as error:  # noqa: BLE001 - one utterance's fault is not the gateway's
            log("Utterance failed", "error", exception=error, device=said.device)
            words = "The daemon failed at what was said; its log tells more."
            return [transcript_of(said, transcript), _error(said.id, AudioError("failed", words))]

    def _fail(self, said: PhoneUtterance, fault: AudioError) -> None:
        said.outcome = [_error(said.id, fault)]
        self._tell(said, *said.outcome)
        log("Utterance failed", "warning", device=said.device, code=fault.code)
        said.utterance.cancel()
        said.ended.set()

    def _drop(self, said: PhoneUtterance) -> None:
        said.utterance.cancel()
        said.scope.cancel()
        del self._all[said.key]

    def _make_room(self, device: str) -> None:
        own = [said for said in self._all.values() if said.device == device]
        over = [said for said in own if said.outcome is not None]
        for said in over[: max(0, len(own) + 1 - MOST_KEPT)]:
            self._drop(said)

    # -- telling -----------------------------------------------------------------------------

    def _ready(self, said: PhoneUtterance) -> None:
        state = "ready" if self._voice.speech.status().state == "ready" else "loading"
        self._tell(said, outgoing_tools.voice_ready(said.id, said.utterance.next_frame, state))

    def _tell(self, said: PhoneUtterance, *payloads: bytes) -> None:
        for payload in payloads:
            said.phone.send(payload)

    def _refuse(self, phone: PhoneLink, utterance_id: str, refusal: AudioError) -> None:
        phone.send(_error(utterance_id, refusal))


def _wanted(phone: PhoneLink, message: requests.VoiceStart) -> UtteranceRequest:
    return UtteranceRequest(
        id=message.utterance_id,
        owner=f"phone {phone.device}",
        format=message.format,
        sample_rate=message.sample_rate or DEFAULT_RATE,
        language=code_of(message.language),
    )


def _error(utterance_id: str, fault: AudioError) -> bytes:
    return outgoing_tools.voice_error(utterance_id, fault.code, fault.message)


def transcript_of(
    said: PhoneUtterance, transcript: Transcribed, *, delivered: str | None = None
) -> bytes:
    """Build the message with the words; ``delivered``: the session that they went to."""
    return outgoing_tools.voice_transcript(
        said.id,
        transcript.text,
        language=transcript.language,
        duration_ms=transcript.duration_ms,
        latency_ms=transcript.latency_ms,
        delivered=delivered is not None,
        session_id=delivered or said.message.session_id,
        frame_bytes=said.phone.budget,
    )
