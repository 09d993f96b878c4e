"""Detection of speech: Silero's detector, as faster-whisper brings it."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from faster_whisper.vad import VadOptions, get_speech_timestamps

from podiumd.speech.worker.decode import RATE

_GAP_MS: Final = 2000  # a pause longer than this is cut out
_PAUSE_MS: Final = 350  # a pause longer than this can end a piece of dictation
_PAD_MS: Final = 400  # kept on either side
_PADS: Final = 2 * _PAD_MS * RATE // 1000  # samples
_SHORTEST_MS: Final = 120  # a click is no word


class Span(NamedTuple):
    """A stretch of audio, in samples."""

    start: int
    end: int


class Speech(NamedTuple):
    """Audio without its long pauses, and where its parts come from."""

    audio: np.ndarray
    spans: tuple[Span, ...]

    @property
    def seconds(self) -> float:
        """Return how many seconds are spoken."""
        return len(self.audio) / RATE

    def original(self, seconds: float, *, start: bool = False) -> float:
        """Convert a time within ``audio`` to one within what it was taken from, in seconds.

        Whisper lets a sentence begin where the one before ended: a ``start`` in the silence that is
        kept around a pause belongs behind it.
        """
        left = round(seconds * RATE)
        for span in self.spans[:-1]:
            length = span.end - span.start
            if left < length - (_PADS if start else 0):
                return round((span.start + left) / RATE, 2)
            left = max(0, left - length)
        last = self.spans[-1]
        return round(min(last.start + left, last.end) / RATE, 2)


def find_speech(audio: np.ndarray) -> Speech | None:
    """Find what is spoken; ``None``: nothing is."""
    spans = _spans(audio, gap_ms=_GAP_MS, pad_ms=_PAD_MS)
    if not spans:
        return None
    return Speech(np.concatenate([audio[span.start : span.end] for span in spans]), tuple(spans))


def phrases(audio: np.ndarray) -> list[Span]:
    """Return the stretches between pauses, without the silence around them."""
    return _spans(audio, gap_ms=_PAUSE_MS, pad_ms=0)


def _spans(audio: np.ndarray, *, gap_ms: int, pad_ms: int) -> list[Span]:
    options = VadOptions(
        min_silence_duration_ms=gap_ms, speech_pad_ms=pad_ms, min_speech_duration_ms=_SHORTEST_MS
    )
    return [Span(int(one["start"]), int(one["end"])) for one in _stamps(audio, options)]


def _stamps(audio: np.ndarray, options: VadOptions) -> list[dict[str, int]]:
    if not len(audio):
        return []
    found: list[dict[str, int]] = get_speech_timestamps(audio, options)
    return found
