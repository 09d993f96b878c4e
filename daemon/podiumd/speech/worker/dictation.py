"""A dictation: what has been decoded of a job, what is settled, what comes in between.

While a person speaks long, what lies before a pause is read and settled, so that little is left to
read at the end. When all is there the whole is read once more where that is quick: it is better
than its pieces.
"""

from __future__ import annotations

import time
from typing import Final

import numpy as np

from podiumd.speech.api import Heard
from podiumd.speech.worker.agreement import Agreement
from podiumd.speech.worker.decode import RATE, Samples
from podiumd.speech.worker.vad import Span, Speech, find_speech, phrases
from podiumd.speech.worker.whisper import Alive, Whisper
from podiumd.wire.voice import Segment

PIECE_SECONDS: Final = 8.0
"""Speech is settled in pieces of at least this length ..."""

LONGEST_SECONDS: Final = 26.0
"""... and at most this."""

REREAD_SECONDS: Final = 2.0
"""The whole is read once more where that takes no longer."""

FRESH_SECONDS: Final = 0.6
"""So much new audio is worth a look."""

_EDGE: Final = round(0.15 * RATE)  # left around what is settled
_SHARE: Final = 3  # of the time at least so many parts are left to others


class Dictation:
    """See the module."""

    def __init__(
        self, samples: Samples, language: str | None, hotwords: tuple[str, ...], partials: bool
    ) -> None:
        self.samples = samples
        self.hotwords = hotwords
        self._language = language
        self._partials = partials
        self._settled: list[Heard] = []
        self._done = 0  # samples that are settled
        self._seen = 0  # samples that have been looked at
        self._spoken = 0.0  # seconds of speech settled
        self._rest_until = 0.0
        self._agreement = Agreement()

    def worth_a_look(self, now: float) -> bool:
        """Return whether there is enough new audio, and the machine has had its rest from us."""
        fresh = len(self.samples) - self._seen
        return fresh >= FRESH_SECONDS * RATE and now >= self._rest_until

    def look(self, whisper: Whisper, alive: Alive, *, busy: bool) -> str | None:
        """Settle what can be settled, and read the rest where the processor is free.

        The rest is read where no other job needs the processor. Returns a new partial text, or
        ``None``.
        """
        began = time.monotonic()
        self._seen = len(self.samples)
        audio = self.samples.since(self._done)
        spans = phrases(audio)
        text = None
        cut = _cut(spans, len(audio))
        if not spans:
            self._done = max(self._done, self._seen - 2 * _EDGE)  # silence so far
        elif cut:
            self._settle(find_speech(audio[:cut]), whisper, alive)
            self._done += cut
            text = self._text()
        elif self._partials and not busy:
            text = self._reading(audio, whisper, alive)
        self._rest_until = time.monotonic() + _SHARE * (time.monotonic() - began)
        return text

    def finish(self, whisper: Whisper, alive: Alive) -> Heard:
        """Return the final text: all audio is there."""
        duration = len(self.samples) / RATE
        if not self._settled:
            # Noise that is listened to from its middle on can seem to be speech.
            self._done = 0
        speech = find_speech(self.samples.since(self._done))
        left = speech.seconds if speech is not None else 0.0
        if self._settled and whisper.seconds_for(self._spoken + left) <= REREAD_SECONDS:
            self._settled, self._done = [], 0
            speech = find_speech(self.samples.since(0))
        self._settle(speech, whisper, alive)
        return Heard(
            text=self._text(),
            language=self._language_found(),
            duration_s=duration,
            segments=tuple(part for heard in self._settled for part in heard.segments),
            terms=self.hotwords if any(heard.terms for heard in self._settled) else (),
        )

    def _settle(self, speech: Speech | None, whisper: Whisper, alive: Alive) -> None:
        if speech is None:
            return
        heard = whisper.read(speech, self._language, self.hotwords, alive)
        self._language = self._language or heard.language or None
        self._spoken += speech.seconds
        if heard.text:
            self._settled.append(_later(heard, self._done / RATE))
            self._agreement = Agreement()

    def _reading(self, audio: np.ndarray, whisper: Whisper, alive: Alive) -> str | None:
        speech = find_speech(audio)
        if speech is None:
            return None
        heard = whisper.read(speech, self._language, self.hotwords, alive, beam=1)
        agreed = self._agreement.take(heard.text)
        return " ".join(filter(None, (self._text(), agreed))) or None

    def _text(self) -> str:
        return " ".join(heard.text for heard in self._settled)

    def _language_found(self) -> str:
        return next((heard.language for heard in self._settled), self._language or "")


def _cut(spans: list[Span], length: int) -> int:
    """Return where the audio can be cut so that what lies before is settled; 0: nowhere yet.

    In the last pause that leaves a piece of the right length; without any at the latest moment.
    """
    if not spans:
        return 0
    start = spans[0].start
    nexts = [one.start for one in spans[1:]]
    if length - spans[-1].end >= RATE:
        nexts.append(length)
    pauses = [
        (one.end - start, (one.end + after) // 2)
        for one, after in zip(spans, nexts, strict=False)
        if one.end - start <= LONGEST_SECONDS * RATE
    ]
    good = [cut for spoken, cut in pauses if spoken >= PIECE_SECONDS * RATE]
    if good:
        return good[-1]
    if length - start <= LONGEST_SECONDS * RATE:
        return 0
    return pauses[-1][1] if pauses else round(start + LONGEST_SECONDS * RATE)


def _later(heard: Heard, seconds: float) -> Heard:
    moved = tuple(
        Segment(round(one.start + seconds, 2), round(one.end + seconds, 2), one.text)
        for one in heard.segments
    )
    return Heard(text=heard.text, language=heard.language, segments=moved, terms=heard.terms)
