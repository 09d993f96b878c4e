"""Types of speech: requests, transcripts, states, errors. No engine is known here."""

from __future__ import annotations

import shlex
import sys
from typing import Final

import msgspec

from podiumd.wire.voice import Segment
from podiumd.wire.voice import SpeechState as State

FORMATS: Final = ("pcm16", "wav", "m4a", "mp4", "webm", "ogg", "caf", "mp3", "flac")
"""Formats of audio. ``pcm16``: little-endian, one channel, with a sample rate beside it."""

SAMPLE_RATES: Final = (8000, 192_000)
"""The lowest and the highest, in Hz."""

LIBRARY: Final = "faster-whisper>=1.1"
"""Requirement of the extra ``voice``, as it stands in ``pyproject.toml``."""

INSTALL: Final = f'{shlex.quote(sys.executable)} -m pip install "{LIBRARY}"'
"""Command that brings speech into the environment that Podium itself runs in; a person's own
``pip`` is another's. The library is named, not Podium's extra: Podium may have come from a checkout
that is gone, and in an index its name may be another project's."""


class SpeechUnavailable(Exception):
    """Transcription is not possible as things stand; the text is the reason and what to do."""

    def __init__(self, state: State, message: str) -> None:
        super().__init__(message)
        self.state = state


class AudioError(Exception):
    """An utterance or file got no transcript.

    ``code``: ``too_long``, ``too_big``, ``not_audio``, ``unknown_format``, ``truncated``,
    ``frame_gap``, ``not_open``, ``busy``, ``expired``, ``cancelled`` or ``engine_failed``. The text
    is a sentence for the person.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class EngineFailed(Exception):
    """The engine could not do its work, by all signs through no fault of the audio."""


class UtteranceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of an utterance that is about to begin.

    ``id`` is the client's name for it, ``owner`` the client: no other client gets at it.
    ``sample_rate`` (Hz) counts for ``pcm16`` only. ``language``: a code such as ``en`` or
    ``en-US``; none: the setting, else it is detected, as it is where the model does not know it.
    ``hotwords``: terms that the engine should expect, the most important first. ``partials``:
    whether text is wanted while the person still speaks.
    """

    id: str
    owner: str = "local"
    format: str = "pcm16"
    sample_rate: int = 16_000
    language: str | None = None
    hotwords: tuple[str, ...] = ()
    partials: bool = True


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an engine for one recording.

    ``language`` is a code, empty where the engine does not report it; ``duration_s`` of the audio,
    in seconds; ``terms``: the hotwords that were used, which very short audio goes without.
    """

    text: str
    language: str = ""
    duration_s: float = 0.0
    segments: tuple[Segment, ...] = ()
    terms: tuple[str, ...] = ()


class EngineStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an engine; ``problem`` is a sentence that says what to do. ``unusable``: nothing
    can be asked of it before the settings or the daemon's environment are other ones."""

    state: State
    model: str | None = None
    problem: str | None = None
    unusable: bool = False
