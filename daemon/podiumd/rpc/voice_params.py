"""The parameters of ``voice.*``."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from podiumd.rpc.params import Directory, File, Id, Text

AudioFormat = Literal["pcm16", "wav", "m4a", "mp4", "webm", "ogg", "caf", "mp3", "flac"]
Base64 = Annotated[
    str, Meta(pattern=r"\A[A-Za-z0-9+/]*={0,2}\Z", description="audio in base64, on one line")
]
Language = Annotated[
    str,
    Meta(
        pattern=r"\A[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z",
        description="the code of a language such as 'en' or 'de-AT'",
    ),
]
ModelName = Annotated[
    str,
    Meta(
        pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z",
        description="the name of a model: letters, digits, '-', '_' and '.'",
    ),
]
UtteranceId = Annotated[
    str,
    Meta(
        pattern=r"\A[0-9A-Za-z][0-9A-Za-z_.-]{0,127}\Z",
        description="an id of letters, digits, '-', '_' and '.'",
    ),
]
SampleRate = Annotated[int, Meta(ge=8000, le=192_000)]


class _Params(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What every method's parameters have in common."""


class Transcribe(_Params):
    """``voice.transcribe``: ``path``, or ``audio`` with its ``format``."""

    path: File | None = None
    audio: Base64 | None = None
    format: AudioFormat | None = None
    sample_rate: SampleRate = 16_000
    language: Language | None = None
    session_id: Id | None = None


class Start(_Params):
    """``voice.start``; without an id one is made up."""

    utterance_id: UtteranceId | None = None
    format: AudioFormat = "pcm16"
    sample_rate: SampleRate = 16_000
    language: Language | None = None
    session_id: Id | None = None
    partials: bool = True


class Audio(_Params):
    """``voice.audio``; ``frame`` numbers the pieces from 0, where they are numbered."""

    utterance_id: UtteranceId
    audio: Base64
    frame: Annotated[int, Meta(ge=0, lt=2**32)] | None = None


class OneUtterance(_Params):
    """``voice.end`` and ``voice.cancel``."""

    utterance_id: UtteranceId


class Say(_Params):
    """``voice.say``; ``full``: all of it, else its first sentences."""

    text: Text
    full: bool = False


class Install(_Params):
    """``voice.install``."""

    name: ModelName


class Vocabulary(_Params):
    """``voice.vocabulary``: that of a session, or of a directory."""

    session_id: Id | None = None
    working_directory: Directory | None = None
