"""The worker engine: faster-whisper in a process of its own, kept while it is used.

It is started when a microphone opens and ends when it has not been used for a while. Where it dies
or hangs, the utterance is read once more by a fresh process that has nothing else to do, so that
audio which kills a worker takes no other client's with it twice.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

import trio

from podiumd.config.settings import VoiceSettings
from podiumd.speech.api import FORMATS, INSTALL, EngineFailed, EngineStatus, Heard
from podiumd.speech.engines import wire
from podiumd.speech.engines.base import Engine, Job
from podiumd.speech.engines.process import BegunJob, WorkerProcess, start_worker
from podiumd.speech.models import Models

COMMAND: Final = (sys.executable, "-P", "-m", "podiumd.speech.worker")
_PIECE: Final = 65_536
_PASSED: Final = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_OURS: Final = {
    "PYTHONUTF8": "1",
    "HF_HUB_OFFLINE": "1",
    "TQDM_DISABLE": "1",
    "OPENBLAS_NUM_THREADS": "1",  # its matrices are small; others would wait on a processor
}


class WorkerEngine:
    """See the module."""

    name = "worker"
    formats = FORMATS

    def __init__(
        self,
        settings: VoiceSettings,
        models: Models,
        environ: Mapping[str, str],
        nursery: trio.Nursery,
        command: Sequence[str],
        installed: bool | None,
    ) -> None:
        self._settings = settings
        self._models = models
        self._environment = {name: environ[name] for name in _PASSED if name in environ} | _OURS
        self._nursery = nursery
        self._command = command
        self._installed = installed
        self._worker: WorkerProcess | None = None
        self._users = 0
        self._idle = trio.CancelScope()
        self._starting = trio.Lock()
        self._alone = trio.Lock()
        self._problem: str | None = None

    @property
    def worker(self) -> WorkerProcess | None:
        """Return the process that is kept, while there is one."""
        return None if self._worker is None or self._worker.gone else self._worker

    def status(self) -> EngineStatus:
        """``not-installed`` without the extra, ``no-model`` without the model."""
        model = self._settings.model
        if not self._is_installed():
            words = f"Voice is not installed. Run: {INSTALL}"
            return EngineStatus(state="not-installed", model=model, problem=words)
        worker = self.worker
        if worker is not None:
            return EngineStatus(state="ready" if worker.ready else "loading", model=model)
        if self._models.find(model) is None:
            words = self._models.missing(model)
            return EngineStatus(state="no-model", model=model, problem=words)
        if self._problem is not None:
            return EngineStatus(state="failed", model=model, problem=self._problem)
        return EngineStatus(state="idle", model=model)

    def warm(self) -> None:
        """Start the process in the background, and keep it for a while."""
        if self.status().state in ("idle", "failed", "loading", "ready"):
            self._nursery.start_soon(self._warm)

    async def recognise(self, job: Job) -> Heard:
        """See ``Engine``."""
        if not job.again:
            async with self._shared() as worker:
                heard = await self._hear(worker, job)
        else:
            async with self._alone, self._own() as worker:
                heard = await self._hear(worker, job)
        self._problem = None
        return heard

    async def _hear(self, worker: WorkerProcess, job: Job) -> Heard:
        async with worker.begin(job.partial) as begun, trio.open_nursery() as nursery:
            nursery.start_soon(self._feed, worker, begun, job)
            nursery.start_soon(self._watch, worker, begun, job)
            while begun.outcome is None:
                await begun.sign()
            nursery.cancel_scope.cancel()
        outcome = begun.outcome
        if isinstance(outcome, Heard):
            return outcome
        assert outcome is not None
        if isinstance(outcome, EngineFailed):
            self._problem = str(outcome)
        raise outcome

    async def _feed(self, worker: WorkerProcess, begun: BegunJob, job: Job) -> None:
        """Hand over the recording as it grows."""
        asked = wire.Opened(
            format=job.request.format,
            sample_rate=job.request.sample_rate,
            language=job.request.language or self._settings.language or None,
            partials=job.request.partials,
            hotwords=job.hotwords,
        )
        try:
            await worker.send(wire.message(wire.OPEN, begun.number, asked))
            offset = 0
            while data := await job.recording.read(offset, _PIECE):
                await worker.send(wire.frame(wire.DATA, begun.number, data))
                offset += len(data)
            ended = wire.Ended(hotwords=job.hotwords)
            await worker.send(wire.message(wire.END, begun.number, ended))
        except EngineFailed as error:
            begun.settle(error)

    async def _watch(self, worker: WorkerProcess, begun: BegunJob, job: Job) -> None:
        """Watch for signs of life, once the audio is complete, until there is an answer."""
        while not job.recording.finished:
            await job.recording.changed()
        patience = self._settings.timeout_seconds
        while True:
            with trio.move_on_after(patience) as waited:
                await begun.sign()
            if waited.cancelled_caught:
                worker.kill(f"The speech worker gave no sign of life for {patience:g} s.")
                begun.settle(EngineFailed(worker.problem or "The speech worker hangs."))
                return

    # --- processes ---------------------------------------------------------------------------

    @asynccontextmanager
    async def _shared(self) -> AsyncIterator[WorkerProcess]:
        """Share the process that all use; start it where there is none."""
        self._users += 1
        self._idle.cancel()
        try:
            yield await self._started()
        finally:
            self._users -= 1
            if not self._users:
                self._nursery.start_soon(self._unload_later)

    async def _started(self) -> WorkerProcess:
        async with self._starting:
            if self.worker is None:
                worker = await self._start()
                self._worker = worker
                self._nursery.start_soon(self._run, worker)
            assert self._worker is not None
            return self._worker

    @asynccontextmanager
    async def _own(self) -> AsyncIterator[WorkerProcess]:
        """Start a process for one job."""
        worker = await self._start()
        self._nursery.start_soon(self._run, worker)
        try:
            yield worker
        finally:
            worker.retire()

    async def _start(self) -> WorkerProcess:
        model = self._settings.model
        directory = self._models.find(model)
        if directory is None:
            raise EngineFailed(self._models.missing(model))
        setup = wire.Setup(
            model=str(directory.absolute()),
            hashes=self._models.expected(model, directory),
            threads=self._settings.threads,
            max_seconds=self._settings.max_seconds,
            max_bytes=self._settings.max_megabytes * 1_048_576,
        )
        timeout = self._settings.timeout_seconds
        return await start_worker(self._command, self._environment, setup, timeout)

    async def _run(self, worker: WorkerProcess) -> None:
        await worker.run()
        if worker.problem is not None:
            self._problem = worker.problem

    async def _warm(self) -> None:
        try:
            async with self._shared():
                pass
        except EngineFailed as error:
            self._problem = str(error)

    async def _unload_later(self) -> None:
        """End the process when no job has used it for the time that is set."""
        self._idle.cancel()
        self._idle = trio.CancelScope()
        with self._idle:
            await trio.sleep(self._settings.idle_unload_seconds)
            # A user may have come in the moment in which the time was up.
            if self._worker is not None and not self._users:
                self._worker.retire()
                self._worker = None

    def _is_installed(self) -> bool:
        if self._installed is not None:
            return self._installed
        return importlib.util.find_spec("faster_whisper") is not None


@asynccontextmanager
async def open_worker_engine(
    settings: VoiceSettings,
    models: Models,
    environ: Mapping[str, str],
    *,
    command: Sequence[str] = COMMAND,
    installed: bool | None = None,
) -> AsyncIterator[Engine]:
    """Open the engine; no process is left when this ends.

    ``installed``: whether the extra is there; none: looked up.
    """
    async with trio.open_nursery() as nursery:
        yield WorkerEngine(settings, models, environ, nursery, command, installed)
        nursery.cancel_scope.cancel()
