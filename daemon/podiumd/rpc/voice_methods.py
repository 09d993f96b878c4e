"""``voice.*``: speech becomes text for the clients of the socket.

A microphone is opened by ``voice.start``, fed by ``voice.audio`` and closed by ``voice.end``, which
answers with the text. The utterance belongs to the daemon: a client that has lost its connection
goes on over another one with the same id.
"""

from __future__ import annotations

import binascii
import uuid
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

import trio
from msgspec import UNSET
from msgspec.structs import asdict

from podiumd.core.voice.summary import plain, short
from podiumd.rpc.adapter import Method, bind
from podiumd.rpc.context import RequestContext
from podiumd.runtime.errors import (
    AgentUnavailable,
    InvalidParameter,
    NotFound,
    Overloaded,
    PodiumError,
)
from podiumd.runtime.voice.service import Voice
from podiumd.speech import api
from podiumd.speech.api import AudioError, UtteranceRequest
from podiumd.speech.audio.speaker import SpeakerMissing
from podiumd.speech.install import InstallError
from podiumd.speech.service import Speech
from podiumd.speech.utterance import Utterance
from podiumd.speech.words.languages import KNOWN, code_of
from podiumd.wire import voice as wire
from podiumd.wire.fields import Done, Nothing
from podiumd.wire.refusals import RefusalData

MOST_PROGRESS: Final = 64

_OFF: Final = wire.SpeechStatus(state="off", model=None, engine=None, problem=None)

Ctx = RequestContext


class SpeechUnavailable(AgentUnavailable):
    """Speech is not available as things stand; ``words`` are the reason and what to do."""

    def __init__(self, reason: str, words: str) -> None:
        PodiumError.__init__(self, words, RefusalData(agent="voice", reason=reason, fix=words))


def state_of(voice: Voice | None) -> wire.SpeechStatus:
    """Return the state of speech for ``daemon.status``."""
    return _OFF if voice is None else voice.speech.status()


@contextmanager
def _refusals(parameter: str) -> Iterator[None]:
    """Raise the refusals of speech in the words of the protocol. Raises ``PodiumError``."""
    try:
        yield
    except api.SpeechUnavailable as reason:
        raise SpeechUnavailable(reason.state, str(reason)) from None
    except AudioError as fault:
        raise _refusal(parameter, fault) from None


def _refusal(parameter: str, fault: AudioError) -> PodiumError:
    if fault.code == "busy":
        return Overloaded(fault.message)
    if fault.code == "engine_failed":
        return SpeechUnavailable("failed", fault.message)
    if fault.code in ("not_open", "expired", "cancelled"):
        return NotFound("utterance", fault.code, fault.message)
    refusal = InvalidParameter(parameter, fault.message)
    refusal.data.reason = fault.code
    return refusal


def _voice(context: Ctx) -> Voice:
    if context.info.voice is None:
        raise SpeechUnavailable("off", "This daemon reads no speech.")
    return context.info.voice


def _speech(context: Ctx) -> Speech:
    return _voice(context).speech


async def _status(context: Ctx, params: Nothing) -> wire.SpeechStatus:
    return state_of(context.info.voice)


async def _transcribe(context: Ctx, params: wire.Transcribe) -> wire.Transcribed:
    speech = _speech(context)
    audio, language = _given(params), _language(params.language)
    with _refusals("path" if isinstance(audio, Path) else "audio"):
        speech.check()
        try:
            return await speech.transcribe(
                audio,
                format=params.format or "",
                sample_rate=params.sample_rate,
                language=language,
                hotwords=await _terms(context, params.session_id),
                owner=context.caller,
            )
        except OSError as error:
            words = f"{params.path} cannot be read: {error.strerror or error}."
            raise InvalidParameter("path", words) from None


def _language(given: str | None) -> str | None:
    """Return the code of a requested language. Raises ``InvalidParameter`` for an unknown one."""
    code = code_of(given)
    if given is not None and code is None:
        words = f"'language': '{given}' is not known; expected one of: {KNOWN}."
        raise InvalidParameter("language", words)
    return code


def _given(params: wire.Transcribe) -> Path | bytes:
    if (params.path is None) == (params.audio is None):
        raise InvalidParameter("path", "Give one of 'path' and 'audio'.")
    if params.path is not None:
        return Path(params.path)
    if params.format is None:
        raise InvalidParameter("format", "'audio' needs a 'format', such as 'wav'.")
    return _decoded(params.audio or "")


def _decoded(audio: str) -> bytes:
    try:
        return b64decode(audio, validate=True)
    except binascii.Error:
        raise InvalidParameter("audio", "'audio' is no base64.") from None


async def _terms(context: Ctx, session_id: str | None) -> tuple[str, ...]:
    """Return the terms to expect in a session. Raises ``NotFound``."""
    if session_id is None:
        return ()
    await context.service.sessions_get(session_id)
    return await _voice(context).terms(session_id)


# -- a microphone ----------------------------------------------------------------------------


class _Listening:
    """The feed of what is understood so far."""

    start = 0

    def __init__(self, utterance: Utterance, *, wanted: bool) -> None:
        self._texts = utterance.partials()
        self._wanted = wanted
        self.about = utterance.id

    def __aiter__(self) -> _Listening:
        return self

    async def __anext__(self) -> wire.Partial:
        text = await anext(self._texts)
        while not self._wanted:
            text = await anext(self._texts)
        return wire.Partial(utterance_id=self.about, text=text)


@asynccontextmanager
async def _listening(
    voice: Voice, utterance: Utterance, params: wire.OpenMicrophone
) -> AsyncIterator[_Listening]:
    """While the person speaks there is time to look up which words may come."""

    async def expect() -> None:
        utterance.expect(await voice.terms(params.session_id))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(expect)
        yield _Listening(utterance, wanted=params.partials)
        nursery.cancel_scope.cancel()


async def _start(context: Ctx, params: wire.OpenMicrophone) -> wire.Microphone:
    voice = _voice(context)
    voice.speaker.stop()  # a person speaks now
    request = UtteranceRequest(
        id=params.utterance_id or str(uuid.uuid4()),
        owner=context.caller,
        format=params.format,
        sample_rate=params.sample_rate,
        language=_language(params.language),
        partials=params.partials,
    )
    with _refusals("format"):
        utterance = await voice.speech.open(request)
    voice.microphones.opened(utterance, params.session_id)
    await context.open_feed(_listening(voice, utterance, params), wire.PARTIAL.name)
    ready = voice.speech.status().state == "ready"
    return wire.Microphone(
        utterance_id=utterance.id,
        next_frame=utterance.next_frame,
        state="ready" if ready else "loading",
    )


def _utterance(context: Ctx, utterance_id: str) -> Utterance:
    found = _speech(context).find(context.caller, utterance_id)
    if found is None:
        words = f"There is no utterance '{utterance_id}': begin one with voice.start."
        raise NotFound("utterance", utterance_id, words)
    return found


async def _audio(context: Ctx, params: wire.Audio) -> wire.Taken:
    utterance = _utterance(context, params.utterance_id)
    with _refusals("audio"):
        await utterance.feed(_decoded(params.audio), params.frame)
    return wire.Taken(next_frame=utterance.next_frame)


async def _end(context: Ctx, params: wire.OneUtterance) -> wire.Heard:
    utterance = _utterance(context, params.utterance_id)
    with _refusals("utterance_id"):
        transcript = await utterance.end()
    voice = _voice(context)
    command = await voice.microphones.command(utterance, transcript)
    if command is not None and command.command == "stop":
        voice.speaker.stop()
    return wire.Heard(
        utterance_id=utterance.id,
        **asdict(transcript),
        command=UNSET if command is None else command,
    )


async def _cancel(context: Ctx, params: wire.OneUtterance) -> Done:
    _utterance(context, params.utterance_id).cancel()
    return Done()


# -- models and words ------------------------------------------------------------------------


async def _models(context: Ctx, params: Nothing) -> list[wire.SpeechModel]:
    speech = _speech(context)
    return await trio.to_thread.run_sync(speech.list_models)


class _Progress:
    """The feed of an installation."""

    start = 0

    def __init__(self, name: str, news: trio.MemoryReceiveChannel[wire.Progress]) -> None:
        self.about = name
        self._news = news

    def __aiter__(self) -> trio.MemoryReceiveChannel[wire.Progress]:
        return self._news


@asynccontextmanager
async def _progress(
    name: str, news: trio.MemoryReceiveChannel[wire.Progress]
) -> AsyncIterator[_Progress]:
    with news:
        yield _Progress(name, news)


async def _install(context: Ctx, params: wire.InstallModel) -> wire.SpeechModel:
    """Install a model and report progress before the answer; go on when its client has gone."""
    speech, name = _speech(context), params.name
    known = [row.name for row in await _models(context, Nothing())]
    if name not in known:
        words = f"There is no model '{name}'; there are: {', '.join(known)}."
        raise NotFound("model", name, words)
    send, news = trio.open_memory_channel[wire.Progress](MOST_PROGRESS)

    def tell(progress: wire.Progress) -> None:
        with suppress(trio.WouldBlock, trio.BrokenResourceError):  # a later one says as much
            send.send_nowait(progress)

    await context.open_feed(_progress(name, news), wire.PROGRESS.name)
    context.answered()
    with send:
        try:
            return await speech.install(name, tell)
        except InstallError as error:
            raise SpeechUnavailable("not-installed", str(error)) from None


async def _say(context: Ctx, params: wire.Say) -> wire.Spoken:
    speaker = _voice(context).speaker
    said = plain(params.text) if params.full else short(params.text)
    try:
        speaker.command()
    except SpeakerMissing as missing:
        raise SpeechUnavailable("not-installed", str(missing)) from None
    speaker.say(said)
    return wire.Spoken(spoken=said)


async def _hush(context: Ctx, params: Nothing) -> Done:
    _voice(context).speaker.stop()
    return Done()


async def _vocabulary(context: Ctx, params: wire.FindTerms) -> wire.Terms:
    return await _voice(context).vocabulary(params.session_id, params.working_directory)


VOICE_METHODS: Final[tuple[Method[RequestContext], ...]] = (
    bind(wire.AUDIO, _audio),
    bind(wire.CANCEL, _cancel),
    bind(wire.END, _end),
    bind(wire.HUSH, _hush),
    bind(wire.INSTALL, _install),
    bind(wire.MODELS, _models),
    bind(wire.SAY, _say),
    bind(wire.START, _start),
    bind(wire.STATUS, _status),
    bind(wire.TRANSCRIBE, _transcribe),
    bind(wire.VOCABULARY, _vocabulary),
)
