"""Speech: utterances as they are spoken, and files, become text. One service of the daemon.

    Speech
    ├── the engine's own tasks
    └── a task an utterance: from its opening until its text is no longer asked for

Audio is spooled until its answer is in and deleted then. Where the engine fails it is tried once
more, and then kept, and the person learns where.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Final

import msgspec
import trio

from podiumd.config.settings import VoiceSettings
from podiumd.observe.logs import log
from podiumd.speech.api import (
    FORMATS,
    SAMPLE_RATES,
    AudioError,
    EngineFailed,
    Heard,
    SpeechUnavailable,
    UtteranceRequest,
)
from podiumd.speech.audio.recording import Recording, Spool
from podiumd.speech.audio.wav import sniff
from podiumd.speech.engines.base import Engine, Job
from podiumd.speech.models import Models
from podiumd.speech.utterance import Utterance
from podiumd.speech.words.languages import primary_of
from podiumd.speech.words.spelling import spell
from podiumd.tools.files.plain_file import read_plain
from podiumd.wire.voice import Progress, SpeechModel, SpeechStatus, Transcribed

MOST_UTTERANCES: Final = 8
"""Open or waiting at once, files included."""

MOST_OF_ONE_OWNER: Final = 4

MOST_KEPT: Final = 32
"""Texts of one owner that wait to be fetched once more; the oldest are forgotten first."""

KEEP_SECONDS: Final = 120.0
"""Seconds that an utterance whose phone is silent is kept, and a text that was not fetched."""

_FREE_BYTES: Final = 64 * 1_048_576
_SCRIPT_BYTES: Final = 1_048_576  # of the file that the scripted engine plays
_MICROPHONE: Final = ("not-installed", "no-model", "off")


class Speech:
    """See the module. ``open_speech`` makes it."""

    def __init__(
        self,
        settings: VoiceSettings,
        engine: Engine,
        spool: Spool,
        models: Models,
        nursery: trio.Nursery,
        keep_seconds: float,
    ) -> None:
        self.models = models
        self._settings = settings
        self._engine = engine
        self._spool = spool
        self._nursery = nursery
        self._keep_seconds = keep_seconds
        self._utterances: dict[tuple[str, str], Utterance] = {}
        self._unheard: set[Utterance] = set()
        """Those whose outcome is not known: they alone take up a place."""
        self._files = 0
        self._tidied = False
        self._installing = trio.Lock()

    def status(self) -> SpeechStatus:
        """Return the state of speech."""
        found = self._engine.status()
        state = found.state if self._settings.enabled else "off"
        problem = found.problem if self._settings.enabled else None
        return SpeechStatus(
            state=state,
            model=found.model if self._settings.enabled else None,
            engine=self._engine.name,
            problem=problem,
        )

    def check(self) -> None:
        """Check that transcribing is possible as things stand. Raises ``SpeechUnavailable``."""
        if not self._settings.enabled:
            words = "Voice is switched off: set voice.enabled = true in the configuration."
            raise SpeechUnavailable("off", words)
        found = self._engine.status()
        if found.state in _MICROPHONE or found.unusable:
            raise SpeechUnavailable(found.state, found.problem or f"Voice: {found.state}.")

    def list_models(self) -> list[SpeechModel]:
        """See ``Models.listing``. Looks at the disk."""
        return self.models.listing(self._settings.model)

    async def install(self, name: str, progress: Callable[[Progress], None]) -> SpeechModel:
        """Install a model by its name and return its row of ``list_models``.

        ``progress`` is called with how far it is. Raises ``InstallError``, whose text says what to
        do.
        """
        from podiumd.speech.install import install  # rarely needed

        async with self._installing:
            await install(self.models, name, progress)
        return next(row for row in self.list_models() if row.name == name)

    def warm(self) -> None:
        """Load the model in the background: a microphone may open soon. Never raises."""
        if self._settings.enabled:
            self._engine.warm()

    async def open(self, request: UtteranceRequest) -> Utterance:
        """Open an utterance.

        The same id of the same owner again is the same utterance, with what it has; the rest of the
        request is then not looked at.

        Raises ``SpeechUnavailable``, and ``AudioError``: ``unknown_format``, ``busy``.
        """
        self.check()
        existing = self.find(request.owner, request.id)
        if existing is not None:
            return existing
        self._check_format(request)
        self._check_room(request.owner)
        recording = await self._record(request.format, request.sample_rate)
        with ExitStack() as unneeded:
            unneeded.callback(recording.close)
            # While the file was made others may have begun, or the same was asked for once more.
            existing = self.find(request.owner, request.id)
            if existing is not None:
                return existing
            self._check_room(request.owner)
            unneeded.pop_all()
        return self._begin(request, recording)

    def find(self, owner: str, id: str) -> Utterance | None:
        """Return the utterance of this id, open or with an outcome that has not been fetched."""
        return self._utterances.get((owner, id))

    async def transcribe(
        self,
        audio: bytes | Path,
        *,
        format: str = "",
        sample_rate: int = 16_000,
        language: str | None = None,
        hotwords: tuple[str, ...] = (),
        owner: str = "local",
    ) -> Transcribed:
        """Turn a whole recording into text; ``audio``: its bytes, or a file of the person's own.

        ``format`` is one of ``FORMATS``, or empty: what the audio itself says.
        Raises ``SpeechUnavailable``, ``AudioError``, and OSError where the file cannot be read.
        """
        self.check()
        self._check_room(owner)
        self._files += 1
        recording: Recording | None = None
        try:
            if isinstance(audio, Path):
                recording = self._spool.over(audio)
                head = await recording.read(0, 64)
            else:
                recording, head = await self._stored(audio, format, sample_rate), audio[:64]
            # Any bytes are PCM16, those too that look like something else.
            found = format if format == "pcm16" else sniff(head) or format
            request = UtteranceRequest(
                id="file",
                owner=owner,
                format=found,
                sample_rate=sample_rate,
                language=primary_of(language),
                hotwords=hotwords,
                partials=False,
            )
            if not head and found != "pcm16":
                raise AudioError("not_audio", f"{_called(audio)} is empty.")
            if not found:
                raise AudioError("unknown_format", self._unknown(_called(audio)))
            self._check_format(request)
            began = time.monotonic()
            heard = await self._hear(Job(request, recording, hotwords))
            return self._transcript(heard, round((time.monotonic() - began) * 1000))
        except EngineFailed as error:
            raise AudioError("engine_failed", str(error)) from error
        finally:
            self._files -= 1
            if recording is not None:
                recording.close()

    async def _stored(self, audio: bytes, format: str, sample_rate: int) -> Recording:
        recording = await self._record(format if format in FORMATS else "bin", sample_rate)
        try:
            await recording.append(audio)
        except BaseException:
            recording.close()
            raise
        recording.finish()
        return recording

    async def _record(self, format: str, sample_rate: int) -> Recording:
        if not self._tidied:
            self._tidied = True
            await trio.to_thread.run_sync(self._tidy)
        try:
            recording = self._spool.create(format, sample_rate)
            free = shutil.disk_usage(self._spool.directory).free
        except OSError as error:
            words = f"The audio cannot be stored in {self._spool.directory}: {error.strerror}."
            raise AudioError("engine_failed", words) from error
        if free < _FREE_BYTES:
            recording.close()
            words = f"The disk of {self._spool.directory} is full. Free some space."
            raise AudioError("engine_failed", words)
        return recording

    def _tidy(self) -> None:
        try:
            self._spool.tidy()
        except OSError as error:
            log("Recordings of an earlier daemon are left", "warning", reason=str(error))

    def _check_format(self, request: UtteranceRequest) -> None:
        known = self._engine.formats
        if request.format not in known:
            words = f"The format '{request.format}' is not known; send one of: {', '.join(known)}."
            if request.format in FORMATS:
                words = (
                    f"The engine '{self._engine.name}' takes {', '.join(known)} only, not"
                    f" '{request.format}'; another one in voice.engine takes it."
                )
            raise AudioError("unknown_format", words)
        low, high = SAMPLE_RATES
        if not low <= request.sample_rate <= high:
            words = f"A sample rate of {request.sample_rate} Hz; expected {low} to {high}."
            raise AudioError("unknown_format", words)

    def _unknown(self, name: str) -> str:
        """Return the message about a recording whose format is not known."""
        known = self._engine.formats
        if known == ("pcm16",):
            engine = self._engine.name
            return f"{name}: the engine '{engine}' takes PCM16 only; give 'pcm16' as its format."
        told = ", ".join(one for one in known if one != "pcm16")
        return f"{name} is no recording that is known: {told}; raw samples need the format 'pcm16'."

    def _check_room(self, owner: str) -> None:
        own = sum(1 for each in self._unheard if each.request.owner == owner)
        if len(self._unheard) + self._files >= MOST_UTTERANCES or own >= MOST_OF_ONE_OWNER:
            raise AudioError("busy", "Too much is being spoken at once. Try again in a moment.")

    def _begin(self, request: UtteranceRequest, recording: Recording) -> Utterance:
        request = msgspec.structs.replace(request, language=primary_of(request.language))
        utterance = Utterance(request, recording)
        self._forget_oldest(request.owner)
        self._utterances[(request.owner, request.id)] = utterance
        self._unheard.add(utterance)
        self._engine.warm()
        self._nursery.start_soon(self._live, utterance)
        return utterance

    def _forget_oldest(self, owner: str) -> None:
        own = (each for key, each in self._utterances.items() if key[0] == owner)
        kept = [each for each in own if each not in self._unheard]
        for each in kept[: max(0, len(kept) + 1 - MOST_KEPT)]:
            each.release()

    async def _live(self, utterance: Utterance) -> None:
        """Run an utterance from its opening until its text is no longer asked for."""
        try:
            with utterance.scope:
                await self._answer(utterance)
                with trio.move_on_after(self._keep_seconds):
                    await utterance.released()
        finally:
            if not utterance.over and utterance.recording.size:  # the daemon stops
                self._kept(utterance, "expired", "The daemon stopped.")
            utterance.settle(AudioError("expired", "The daemon stopped."))
            utterance.recording.close()
            self._unheard.discard(utterance)
            del self._utterances[(utterance.request.owner, utterance.id)]

    async def _answer(self, utterance: Utterance) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._expire, utterance)
            outcome = await self._outcome(utterance)
            utterance.recording.close()
            self._unheard.discard(utterance)
            utterance.settle(outcome)
            nursery.cancel_scope.cancel()

    async def _outcome(self, utterance: Utterance) -> Transcribed | AudioError:
        recording = utterance.recording
        try:
            heard = await self._hear(utterance.job)
            return self._transcript(heard, utterance.latency_ms())
        except AudioError as error:  # a person's words, whatever is wrong with the sound of them
            return self._kept(utterance, error.code, error.message) if recording.size else error
        except EngineFailed as error:
            while not recording.finished:  # later speech is kept too
                await recording.changed()
            return self._kept(utterance, "engine_failed", str(error))

    def _kept(self, utterance: Utterance, code: str, message: str) -> AudioError:
        path = utterance.recording.keep()
        where = f" The recording is kept: {path}" if path is not None else ""
        log("Speech was not understood", "warning", code=code, reason=message, kept=str(path))
        return AudioError(code, message + where)

    async def _hear(self, job: Job) -> Heard:
        try:
            return await self._engine.recognise(job)
        except EngineFailed as error:
            log("Speech engine failed, trying once more", "warning", reason=str(error))
        job.again = True
        return await self._engine.recognise(job)

    async def _expire(self, utterance: Utterance) -> None:
        """Give up on a microphone from which nothing comes any more."""
        recording = utterance.recording
        while not recording.finished:
            with trio.move_on_after(self._keep_seconds) as waited:
                await recording.changed()
            if waited.cancelled_caught:
                words = f"Nothing was heard of the recording for {self._keep_seconds:g} s."
                error = AudioError("expired", words)
                utterance.settle(
                    self._kept(utterance, error.code, words) if recording.size else error
                )
                utterance.scope.cancel()
                return

    def _transcript(self, heard: Heard, latency_ms: int) -> Transcribed:
        text = spell(heard.text.strip(), heard.terms)
        return Transcribed(
            text=text,
            language=heard.language,
            duration_ms=(duration_ms := round(heard.duration_s * 1000)),
            duration_s=duration_ms / 1000,
            latency_ms=latency_ms,
            segments=tuple(
                msgspec.structs.replace(one, text=spell(one.text, heard.terms))
                for one in heard.segments
            ),
            no_speech=not text,
            terms_used=heard.terms,
            engine=self._engine.name,
            model=self._engine.status().model,
        )


def _called(audio: bytes | Path) -> str:
    """Name a recording in a sentence."""
    return "The recording" if isinstance(audio, bytes) else f"The file {audio.name}"


def _configured(
    settings: VoiceSettings, models: Models, environ: Mapping[str, str]
) -> AbstractAsyncContextManager[Engine]:
    """Return the engine that the configuration asks for, to be entered.

    Each is imported only where it is used: most daemons have one. Raises ``OSError`` where a script
    cannot be read.
    """
    match settings.engine:
        case "worker":
            from podiumd.speech.engines.local import open_worker_engine

            return open_worker_engine(settings, models, environ)
        case "openai":
            from podiumd.speech.engines.openai import OpenAIEngine

            return nullcontext(OpenAIEngine(settings, environ))
        case "wyoming":
            from podiumd.speech.engines.wyoming import WyomingEngine

            return nullcontext(WyomingEngine(settings))
        case "scripted":
            from podiumd.speech.engines.scripted import ScriptedEngine

            path = settings.script
            script = read_plain(path, _SCRIPT_BYTES, links=True).decode("utf-8") if path else ""
            return nullcontext(ScriptedEngine(script.splitlines()))


@asynccontextmanager
async def open_speech(
    settings: VoiceSettings,
    state: Path,
    environ: Mapping[str, str],
    *,
    engine: Engine | None = None,
    keep_seconds: float = KEEP_SECONDS,
) -> AsyncIterator[Speech]:
    """Run the service; nothing is started and no file made before the first use.

    Parameters:
        settings: the configuration's.
        state: the daemon's directory; recordings are in its ``voice``, models in its ``models``.
        environ: the daemon's own environment.
        engine: in place of the configured one.
        keep_seconds: see ``KEEP_SECONDS``.
    """
    models = Models(state, environ)
    spool = Spool(state, settings.max_megabytes * 1_048_576)
    async with (
        _configured(settings, models, environ) if engine is None else nullcontext(engine) as opened,
        trio.open_nursery() as nursery,
    ):
        yield Speech(settings, opened, spool, models, nursery, keep_seconds)
        nursery.cancel_scope.cancel()
