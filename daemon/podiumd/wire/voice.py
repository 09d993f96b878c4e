"""Speech: recordings become text, and text is spoken aloud."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from podiumd.wire.fields import Directory, Done, File, Id, Nothing, Params, Result, Text
from podiumd.wire.method import Method, Notification

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
SpeechModelName = Annotated[
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
SpeechState = Literal["off", "not-installed", "no-model", "idle", "loading", "ready", "failed"]
DownloadPhase = Literal["hub", "package", "verify", "done"]
TermSource = Literal["recipe", "step", "branch", "file", "identifier", "dependency"]

# -- parameters ------------------------------------------------------------------------------


class Transcribe(Params, frozen=True, kw_only=True):
    """``voice.transcribe``: ``path``, or ``audio`` with its ``format``."""

    path: File | None = None
    audio: Base64 | None = None
    format: AudioFormat | None = None
    sample_rate: SampleRate = 16_000
    language: Language | None = None
    session_id: Id | None = None


class OpenMicrophone(Params, frozen=True, kw_only=True):
    """``voice.start``; without an id one is made up."""

    utterance_id: UtteranceId | None = None
    format: AudioFormat = "pcm16"
    sample_rate: SampleRate = 16_000
    language: Language | None = None
    session_id: Id | None = None
    partials: bool = True


class Audio(Params, frozen=True, kw_only=True):
    """``voice.audio``; ``frame`` numbers the pieces from 0, where they are numbered."""

    utterance_id: UtteranceId
    audio: Base64
    frame: Annotated[int, Meta(ge=0, lt=2**32)] | None = None


class OneUtterance(Params, frozen=True, kw_only=True):
    """``voice.end`` and ``voice.cancel``."""

    utterance_id: UtteranceId


class Say(Params, frozen=True, kw_only=True):
    """``voice.say``; ``full``: all of it, else its first sentences."""

    text: Text
    full: bool = False


class InstallModel(Params, frozen=True, kw_only=True):
    """``voice.install``."""

    name: SpeechModelName


class FindTerms(Params, frozen=True, kw_only=True):
    """``voice.vocabulary``: that of a session, or of a directory."""

    session_id: Id | None = None
    working_directory: Directory | None = None


# -- results ---------------------------------------------------------------------------------


class SpeechStatus(Result, frozen=True, kw_only=True):
    """The state of speech; ``problem`` says what is wrong and what to do."""

    state: SpeechState
    model: str | None
    engine: str | None
    problem: str | None


class Segment(msgspec.Struct, frozen=True):
    """A part of a transcript; times in seconds from the beginning of the audio."""

    start: float
    end: float
    text: str


class Transcribed(Result, frozen=True, kw_only=True):
    """The text of a recording. ``latency_ms``: from the end of the audio to this. ``no_speech``: no
    person spoke. ``terms_used``: the words that the engine was to expect."""

    text: str
    language: str
    duration_ms: int
    latency_ms: int
    segments: tuple[Segment, ...]
    no_speech: bool
    terms_used: tuple[str, ...]
    engine: str
    model: str | None
    duration_s: float


class SpokenCommand(Result, frozen=True, kw_only=True):
    """The result of a spoken command; ``read_back`` is to be spoken."""

    command: str
    state: Literal["applied", "confirm", "refused"]
    question_id: str | None
    choice: str | None
    read_back: str


class Heard(Transcribed, frozen=True, kw_only=True):
    """The text of an utterance at a microphone, and the command that it was."""

    utterance_id: str
    command: SpokenCommand | UnsetType = UNSET


class Microphone(Result, frozen=True, kw_only=True):
    """A microphone that is open; ``next_frame`` is the number of the piece that it waits for."""

    utterance_id: str
    next_frame: int
    state: Literal["ready", "loading"]


class Taken(Result, frozen=True, kw_only=True):
    """The number of the piece that comes next."""

    next_frame: int


class SpeechModel(Result, frozen=True, kw_only=True):
    """A model of speech. ``source``: where it comes from; ``configured``: it is the one in use."""

    name: str
    installed: bool
    path: str | None
    megabytes: int | None
    multilingual: bool | None
    source: Literal["package", "hub", "directory"]
    configured: bool


class Spoken(Result, frozen=True, kw_only=True):
    """The utterance that is being spoken at the machine."""

    spoken: str


class Term(msgspec.Struct, frozen=True):
    """A word to expect, and where it comes from."""

    term: str
    source: TermSource


class Terms(Result, frozen=True, kw_only=True):
    """The words to expect, the most important first. ``complete``: everything was looked at."""

    working_directory: str
    terms: tuple[Term, ...]
    complete: bool


class Partial(Result, frozen=True, kw_only=True):
    """The text so far of an utterance that goes on."""

    utterance_id: str
    text: str


class Progress(Result, frozen=True, kw_only=True):
    """The progress of an installation."""

    name: str
    phase: DownloadPhase
    message: str
    bytes: int | UnsetType = UNSET
    total: int | UnsetType = UNSET


# -- methods ---------------------------------------------------------------------------------

AUDIO = Method[Audio, Taken]("voice.audio", "A piece of what is being said.", needs="work")
CANCEL = Method[OneUtterance, Done]("voice.cancel", "Forget what was said.", needs="work")
END = Method[OneUtterance, Heard](
    "voice.end", "All was said: its text.", pace="waiting", needs="work"
)
HUSH = Method[Nothing, Done]("voice.hush", "Stop speaking at the machine.")
INSTALL = Method[InstallModel, SpeechModel]("voice.install", "Install a model.", pace="waiting")
MODELS = Method[Nothing, list[SpeechModel]](
    "voice.models", "The models that there are.", reads=True, needs="look"
)
SAY = Method[Say, Spoken]("voice.say", "Say something at the machine.")
START = Method[OpenMicrophone, Microphone]("voice.start", "Begin to say something.", needs="work")
STATUS = Method[Nothing, SpeechStatus]("voice.status", "How speech does.", reads=True, needs="look")
TRANSCRIBE = Method[Transcribe, Transcribed](
    "voice.transcribe", "The text of a recording.", pace="waiting"
)
VOCABULARY = Method[FindTerms, Terms](
    "voice.vocabulary", "The terms of a project.", reads=True, needs="look"
)
PARTIAL = Notification[Partial]("voice.partial", "What is understood so far.")
PROGRESS = Notification[Progress]("voice.progress", "How far an installation is.")
