"""Whisper, quicker than it comes: encoding only as much time as there is speech.

Whisper fills every recording up to 30 s and encodes that, which is most of the work. A multilingual
model reads a shorter window as well, where that is the longer of 10 s and the speech with 2 s more;
below that it begins to repeat itself. ``tiny.en`` and its like lose words and are left alone. What
the short window gives is looked at, and where it seems wrong the full window is read.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from faster_whisper import BatchedInferencePipeline, WhisperModel
from faster_whisper.audio import pad_or_trim
from faster_whisper.tokenizer import Tokenizer
from faster_whisper.transcribe import get_suppressed_tokens

from podiumd.speech.api import Heard
from podiumd.speech.worker.decode import RATE
from podiumd.speech.worker.vad import Span, Speech, find_speech
from podiumd.wire.voice import Segment

FLOOR_SECONDS, MARGIN_SECONDS = 10.0, 2.0
SHORT_SECONDS: Final = 18.0
"""Speech up to this length is read in a short window."""

WINDOW_SECONDS: Final = 30.0
BATCH_SECONDS: Final = 60.0
"""Longer speech is read in several windows at once."""

HOTWORD_SECONDS: Final = 2.0
"""Below this, terms to expect change more than they mend."""

BEAM: Final = 5
_BATCH: Final = 8
_FRAMES: Final = 100  # a second
_PRECISION: Final = 0.02  # seconds a timestamp token
_MOST_TOKENS: Final = 448
_EXTRA_TOKENS, _TOKENS_A_SECOND = 16, 8.0
_REPEATS: Final = 2.4  # compressed so well, a text repeats itself
_UNSURE: Final = -1.0  # mean log probability a token
_NO_SPEECH: Final = 0.6
_CHARACTERS_A_SECOND: Final = 30.0
_TAIL_SECONDS: Final = 2.0

_MOST_THREADS: Final = 4
_SMALL_BYTES: Final = 200 * 1_048_576
"""Models up to this size, tiny and base, read a prompt with one thread. With matrices so small a
second one saves a third of the time on an idle machine; where other programs keep the processors
busy each of the many barriers waits until both have their turn, and a prompt takes many times as
long. People speak while agents build and test."""

Alive = Callable[[], None]
"""Called between pieces of work; may raise to end it."""


class Reading(NamedTuple):
    """The text of a window. ``sound``: it looks as a right reading does."""

    text: str
    segments: tuple[Segment, ...]
    sound: bool


class Whisper:
    """A loaded model. Loading blocks for a fraction of a second; raises what CTranslate2 does.

    ``threads``: 0 is one for a small model, and for a larger one as many as there are processors,
    at most four.
    """

    def __init__(self, directory: str, threads: int) -> None:
        self._directory = directory
        self._most_threads = threads or min(_MOST_THREADS, _processors())
        self._threads = threads or (1 if _is_small(directory) else self._most_threads)
        self._model = _loaded(directory, self._threads)
        self.multilingual = bool(self._model.model.is_multilingual)
        self._languages = frozenset(self._model.supported_languages)
        self._tokenizers: dict[str, Any] = {}
        self._suppressed: dict[str, list[int]] = {}
        self._seconds_a_second = 0.03  # of work for each of window; measured as we go

    def read(
        self,
        speech: Speech,
        language: str | None,
        hotwords: tuple[str, ...],
        alive: Alive,
        *,
        beam: int = BEAM,
    ) -> Heard:
        """Turn speech into text; times count from where the speech was taken from."""
        terms = hotwords if speech.seconds >= HOTWORD_SECONDS else ()
        known = language if language in self._languages else None
        if not self.multilingual:
            known = "en"
        if self.multilingual and speech.seconds <= SHORT_SECONDS:
            found, reading = self._short(speech, known, terms, alive, beam)
            if not reading.sound:
                alive()
                found, reading = self._full(speech, found, terms, alive, beam)
        else:
            found, reading = self._full(speech, known, terms, alive, beam)
        segments = tuple(
            Segment(speech.original(one.start, start=True), speech.original(one.end), one.text)
            for one in reading.segments
        )
        return Heard(text=reading.text, language=found, segments=segments, terms=terms)

    def seconds_for(self, speech_seconds: float) -> float:
        """About how long reading so much speech in full windows takes."""
        windows = int(speech_seconds // (WINDOW_SECONDS - 5)) + 1
        return windows * WINDOW_SECONDS * self._seconds_a_second

    def warm_up(self) -> None:
        """Do once what takes longer the first time."""
        audio = np.zeros(RATE, np.float32)
        find_speech(audio)
        speech = Speech(audio, (Span(0, len(audio)),))
        self._short(speech, None if self.multilingual else "en", (), lambda: None, 1)

    def _short(
        self,
        speech: Speech,
        language: str | None,
        terms: tuple[str, ...],
        alive: Alive,
        beam: int,
    ) -> tuple[str, Reading]:
        began = time.monotonic()
        window = max(FLOOR_SECONDS, speech.seconds + MARGIN_SECONDS)
        features = self._model.feature_extractor(speech.audio)
        frames = min(features.shape[-1] - 1, round(window * _FRAMES))
        padded = pad_or_trim(features[:, :frames], round(window * _FRAMES / 2) * 2)
        encoded = self._model.encode(padded)
        alive()
        if language is None:
            token, _ = self._model.model.detect_language(encoded)[0][0]
            language = token[2:-2]
        tokenizer = self._tokenizer(language)
        prompt = self._model.get_prompt(tokenizer, [], hotwords=", ".join(terms) or None)
        room = _EXTRA_TOKENS + round(_TOKENS_A_SECOND * speech.seconds)
        result = self._model.model.generate(
            encoded,
            [prompt],
            beam_size=beam,
            max_length=min(_MOST_TOKENS, len(prompt) + room),
            return_scores=True,
            return_no_speech_prob=True,
            suppress_blank=True,
            suppress_tokens=self._suppressed[language],
            max_initial_timestamp_index=round(1.0 / _PRECISION),
        )[0]
        tokens = result.sequences_ids[0]
        segments = _segments(tokens, tokenizer, speech.seconds)
        text = _joined(segments)
        confidence = result.scores[0] * len(tokens) / (len(tokens) + 1)
        silent = result.no_speech_prob > _NO_SPEECH and confidence < _UNSURE
        sound = len(tokens) < room and _is_sound(text, segments, confidence, speech.seconds)
        self._seconds_a_second += 0.3 * (
            (time.monotonic() - began) / window - self._seconds_a_second
        )
        return language, Reading("" if silent else text, tuple(segments), sound or silent)

    def _full(
        self,
        speech: Speech,
        language: str | None,
        terms: tuple[str, ...],
        alive: Alive,
        beam: int,
    ) -> tuple[str, Reading]:
        options: dict[str, Any] = {
            "language": language,
            "beam_size": beam,
            "hotwords": ", ".join(terms) or None,
            "condition_on_previous_text": False,
        }
        if speech.seconds > BATCH_SECONDS:
            pipeline = BatchedInferencePipeline(self._wide())
            found, info = pipeline.transcribe(
                speech.audio, batch_size=_BATCH, vad_filter=True, **options
            )
        else:
            found, info = self._model.transcribe(speech.audio, **options)
        segments = _collected(found, alive)
        return str(info.language), Reading(_joined(segments), tuple(segments), True)

    def _wide(self) -> WhisperModel:
        """Return the model for much work at once, which all threads can share."""
        if self._threads == self._most_threads:
            return self._model
        return _loaded(self._directory, self._most_threads)

    def _tokenizer(self, language: str) -> Any:
        if language not in self._tokenizers:
            tokenizer = Tokenizer(
                self._model.hf_tokenizer, self.multilingual, task="transcribe", language=language
            )
            self._suppressed[language] = list(get_suppressed_tokens(tokenizer, [-1]))
            self._tokenizers[language] = tokenizer
        return self._tokenizers[language]


def _loaded(directory: str, threads: int) -> WhisperModel:
    """Load the model by a thread that ends.

    Loading makes an OpenMP team of the calling thread, and CTranslate2 reads with a team of its own
    thread. While both are there libgomp counts more threads than processors, and at each of the
    thousands of barriers of a reading it puts threads to sleep where a moment's waiting would do:
    on two idle processors readings took three times as long. A team goes with its thread.
    """
    with ThreadPoolExecutor(1, "load") as loader:
        return loader.submit(
            WhisperModel,
            directory,
            device="cpu",
            compute_type="int8",
            cpu_threads=threads,
            local_files_only=True,
        ).result()


def _collected(found: Iterable[Any], alive: Alive) -> list[Segment]:
    segments: list[Segment] = []
    for one in found:
        alive()
        if one.text.strip():
            segments.append(Segment(one.start, one.end, one.text.strip()))
    return segments


def _segments(tokens: list[int], tokenizer: Any, length: float) -> list[Segment]:
    """Cut text at time tokens. A part that lacks its closing time ends with the speech."""
    segments: list[Segment] = []
    start, words = 0.0, list[int]()
    for token in [*tokens, None]:
        if token is not None and token < tokenizer.timestamp_begin:
            words.append(token)
            continue
        at = length if token is None else (token - tokenizer.timestamp_begin) * _PRECISION
        text = tokenizer.decode(words).strip()
        if text:
            segments.append(Segment(start, min(at, length), text))
        start, words = at, []
    return segments


def _joined(segments: Iterable[Segment]) -> str:
    return " ".join(segment.text for segment in segments)


def _is_sound(text: str, segments: list[Segment], confidence: float, length: float) -> bool:
    """Return whether a reading looks right: no loop, no guess, neither too much nor too little."""
    if not text:
        return length < 1.0
    data = text.encode()
    return (
        len(data) / len(zlib.compress(data)) <= _REPEATS
        and confidence >= _UNSURE
        and len(text) <= 20 + _CHARACTERS_A_SECOND * length
        and segments[-1].end >= length - _TAIL_SECONDS
    )


def _is_small(directory: str) -> bool:
    """Return whether one thread reads it best."""
    return Path(directory, "model.bin").stat().st_size <= _SMALL_BYTES


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
