"""Utterances of phones: one belongs to its device and not to a connection.

The audio, its numbering and its text are the business of ``podiumd.speech``. Here a phone gets the
results, on the connection from which it has started the utterance last; and its outcome is kept for
a while, so that a phone which has lost the answer asks for it again and nothing is done twice.

    Utterances
    └── a task an utterance, which no lost connection ends
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import trio

from podiumd.gateway.phone.protocol import outgoing_tools, requests
from podiumd.observe.logs import log
from podiumd.runtime.voice.service import Voice
from podiumd.speech.api import AudioError, SpeechUnavailable, Transcript, UtteranceRequest
from podiumd.speech.utterance import Utterance
from podiumd.speech.words.languages import code_of

if TYPE_CHECKING:
    from podiumd.gateway.phone.ports import PhoneLink

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


class Talk:
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


Understood = Callable[[Talk, Transcript], Awaitable[Outcome]]
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
        self._talks: dict[tuple[str, str], Talk] = {}
        self._of_phone: dict[PhoneLink, Talk | None] = {}
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
        talk = Talk(phone, message, utterance, known)
        self._make_room(phone.device)
        self._talks[talk.key] = talk
        self._of_phone[phone] = talk
        self._spawn_detached(lambda: self._live(talk))
        self._ready(talk)

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
        talk = self._talks.get((phone.device, message.utterance_id))
        if talk is not None:
            self._again(phone, talk, message)
        return talk is not None

    def _again(self, phone: PhoneLink, talk: Talk, message: requests.VoiceStart) -> None:
        if not talk.same(message):
            words = "This utterance_id is that of another utterance; take a new one."
            phone.send(outgoing_tools.voice_error(talk.id, "other_utterance", words))
            return
        self._of_phone[phone] = talk
        talk.phone, talk.behind = phone, False
        self._ready(talk)
        for payload in talk.outcome or ():
            phone.send(payload)

    async def frame(self, phone: PhoneLink, piece: requests.VoiceFrame) -> None:
        """Take a piece of the utterance that this connection has started last."""
        if phone not in self._of_phone:
            self._of_phone[phone] = None  # sent once
            words = "No voice_start came before this piece."
            phone.send(outgoing_tools.voice_error(None, "not_open", words))
            return
        talk = self._of_phone[phone]
        if talk is None or talk.utterance.over or talk.phone is not phone:
            return  # refused, or over, or gone on with on another connection
        if len(piece.audio) > FRAME_BYTES or piece.number >= MOST_FRAMES:
            words = f"A piece has at most {FRAME_BYTES} bytes, an utterance {MOST_FRAMES} pieces."
            self._fail(talk, AudioError("too_big", words))
            return
        try:
            await talk.utterance.feed(piece.audio, piece.number)
        except AudioError as fault:
            if fault.code == "frame_gap":
                self._tell_gap(talk)
            elif not talk.utterance.over:  # else its own task reports it
                self._fail(talk, fault)
        else:
            talk.behind = False

    def _tell_gap(self, talk: Talk) -> None:
        """Have the phone send again from where something is missing; sent once."""
        if not talk.behind:
            talk.behind = True
            self._ready(talk)

    def end(self, phone: PhoneLink, utterance_id: str) -> None:
        """End an utterance; its outcome is sent when it is known."""
        talk = self._find(phone, utterance_id)
        if talk is not None:
            talk.phone = phone
            if talk.outcome is None:
                if not talk.behind:  # else pieces are on their way, and its end after them
                    talk.ended.set()
            else:
                for payload in talk.outcome:
                    phone.send(payload)

    def cancel(self, phone: PhoneLink, utterance_id: str) -> None:
        """Forget an utterance at once; what was done because of it stays done."""
        talk = self._talks.get((phone.device, utterance_id))
        if talk is not None and talk.outcome is None and not talk.acting:
            self._drop(talk)

    def _find(self, phone: PhoneLink, utterance_id: str) -> Talk | None:
        talk = self._talks.get((phone.device, utterance_id))
        if talk is None and self._of_phone.get(phone, ()) is not None:
            words = f"There is no utterance '{utterance_id}' of this device; start it again."
            phone.send(outgoing_tools.voice_error(utterance_id, "not_open", words))
        return talk

    # -- the connections ---------------------------------------------------------------------

    def gone(self, phone: PhoneLink) -> None:
        """Forget a lost connection; the utterance waits for its phone."""
        self._of_phone.pop(phone, None)

    def revoked(self, device: str) -> None:
        """Drop the utterances of a device whose key was taken back: nothing in them is done any
        more."""
        for talk in tuple(self._talks.values()):
            if talk.device == device:
                self._drop(talk)

    # -- the life of an utterance ------------------------------------------------------------

    async def _live(self, talk: Talk) -> None:
        """Run an utterance from its beginning until its outcome is no longer asked for."""
        try:
            with talk.scope:
                outcome = await self._outcome(talk)
                if talk.outcome is None and not talk.scope.cancel_called:
                    talk.outcome = outcome
                    self._tell(talk, *outcome)
                if talk.utterance.over:
                    talk.utterance.release()
                else:
                    talk.utterance.cancel()
                await trio.sleep(KEEP_SECONDS)
        finally:
            talk.utterance.cancel()
            if self._talks.get(talk.key) is talk:
                del self._talks[talk.key]

    async def _outcome(self, talk: Talk) -> Outcome:
        with trio.move_on_after(LONGEST_SECONDS):
            transcript = await self._transcript(talk)
            if isinstance(transcript, AudioError):
                return [_error(talk.id, transcript)]
            return await self._done(talk, transcript)
        words = f"Nothing came of it within {LONGEST_SECONDS:g} s."
        return [_error(talk.id, AudioError("expired", words))]

    async def _transcript(self, talk: Talk) -> Transcript | AudioError:
        """Wait for the end and return the text; meanwhile send the text so far."""
        outcome: Transcript | AudioError = AudioError("cancelled", "The recording was cancelled.")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tell_partials, talk)
            nursery.start_soon(self._expect, talk)
            await talk.ended.wait()
            try:
                outcome = await talk.utterance.end()
            except AudioError as fault:
                outcome = fault
            nursery.cancel_scope.cancel()
        return outcome

    async def _tell_partials(self, talk: Talk) -> None:
        async for text in talk.utterance.partials():
            if talk.phone.pending < MOST_PENDING:
                budget = talk.phone.budget
                self._tell(talk, outgoing_tools.voice_partial(talk.id, text, budget))
        talk.ended.set()  # it is over, even if its phone has not ended it

    async def _expect(self, talk: Talk) -> None:
        """While the person speaks there is time to look up which words may come."""
        talk.utterance.expect(await self._voice.terms(talk.message.session_id))

    async def _done(self, talk: Talk, transcript: Transcript) -> Outcome:
        """Do what the utterance asks. Its words are not lost, even if that fails."""
        talk.acting = True
        try:
            return await self._understood(talk, transcript)
        except Exception as error:  # noqa: BLE001 - one utterance's fault is not the gateway's
            log("Utterance failed", "error", exception=error, device=talk.device)
            words = "The daemon failed at what was said; its log tells more."
            return [transcript_of(talk, transcript), _error(talk.id, AudioError("failed", words))]

    def _fail(self, talk: Talk, fault: AudioError) -> None:
        talk.outcome = [_error(talk.id, fault)]
        self._tell(talk, *talk.outcome)
        log("Utterance failed", "warning", device=talk.device, code=fault.code)
        talk.utterance.cancel()
        talk.ended.set()

    def _drop(self, talk: Talk) -> None:
        talk.utterance.cancel()
        talk.scope.cancel()
        del self._talks[talk.key]

    def _make_room(self, device: str) -> None:
        own = [talk for talk in self._talks.values() if talk.device == device]
        over = [talk for talk in own if talk.outcome is not None]
        for talk in over[: max(0, len(own) + 1 - MOST_KEPT)]:
            self._drop(talk)

    # -- telling -----------------------------------------------------------------------------

    def _ready(self, talk: Talk) -> None:
        state = "ready" if self._voice.speech.status().state == "ready" else "loading"
        self._tell(talk, outgoing_tools.voice_ready(talk.id, talk.utterance.next_frame, state))

    def _tell(self, talk: Talk, *payloads: bytes) -> None:
        for payload in payloads:
            talk.phone.send(payload)

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


def transcript_of(talk: Talk, transcript: Transcript, *, delivered: str | None = None) -> bytes:
    """Build the message with the words; ``delivered``: the session that they went to."""
    return outgoing_tools.voice_transcript(
        talk.id,
        transcript.text,
        language=transcript.language,
        duration_ms=transcript.duration_ms,
        latency_ms=transcript.latency_ms,
        delivered=delivered is not None,
        session_id=delivered or talk.message.session_id,
        frame_bytes=talk.phone.budget,
    )
