"""The peers of bench_voice: installed at pinned versions, started, and asked in turn."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import cast

import trio

from benchmarks.measure import CACHE, ROOT, CannotMeasure
from podiumd.config.settings import VoiceSettings
from podiumd.speech.api import UtteranceRequest
from podiumd.speech.audio.recording import Recording, Spool
from podiumd.speech.engines.base import Job
from podiumd.speech.engines.wire import Setup
from podiumd.speech.engines.wyoming import WyomingEngine

PACKAGES = (
    "pywhispercpp==1.5.1",
    "wyoming-faster-whisper==3.8.1",
    "faster-whisper==1.2.1",
    "ctranslate2==4.8.5",
)
HOME = CACHE / "voice-peers"
START_SECONDS = 60


def install_peers(model: Path) -> tuple[Path, Path]:
    """Install the peers, and give whisper.cpp our weights; returns their Python and the weights."""
    python, ggml = HOME / "bin" / "python", HOME / f"{model.name}.ggml"
    if not (HOME / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
        quiet = ["--quiet", "--disable-pip-version-check"]
        subprocess.run([python, "-m", "pip", "install", *quiet, *PACKAGES], check=True)
        (HOME / "installed").touch()
    if not ggml.exists():
        from benchmarks.whisper_weights import convert

        convert(model, ggml.with_suffix(".part"))
        ggml.with_suffix(".part").rename(ggml)
    return python, ggml


# As our worker does: on a machine that does other things too, all are slowed down alike.
GIVE_WAY = ("nice", "-n", str(Setup(model="").niceness))


class Peer:
    """A process of ``voice_peer.py``."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    async def hear(self, path: Path, _pcm: bytes) -> tuple[float, str]:
        """Seconds and text of one recording."""
        line = await trio.to_thread.run_sync(self._ask, path)
        if not line:
            raise CannotMeasure(f"{self._process.args!r} ended")
        found = json.loads(line)
        return found["seconds"], found["text"]

    def _ask(self, path: Path) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()


@contextlib.contextmanager
def peer(python: Path, kind: str, model: Path, threads: int) -> Iterator[Peer]:
    """Run one that hears in its own process."""
    script = ROOT / "benchmarks" / "voice_peer.py"
    command = [*GIVE_WAY, str(python), str(script), kind, str(model), str(threads)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    ) as process:
        try:
            yield Peer(process)
        finally:
            process.terminate()


class Watched:
    """What an engine asks of a recording that is still open; tells when all so far was taken."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.all_taken = trio.Event()

    @property
    def size(self) -> int:
        return self._recording.size

    async def read(self, offset: int, most: int) -> bytes:
        """As a recording reads. Who asks for more than there is has sent what there was."""
        if offset == self.size:
            self.all_taken.set()
        return await self._recording.read(offset, most)


class Wyoming:
    """A Wyoming server, spoken to by our own client; timed from the last byte to the text."""

    def __init__(self, port: int) -> None:
        self._engine = WyomingEngine(
            VoiceSettings(url=f"tcp://127.0.0.1:{port}", language="en", timeout_seconds=120)
        )
        self._spool = Spool(HOME / "spool", 1 << 30)

    async def hear(self, _path: Path, pcm: bytes) -> tuple[float, str]:
        """Seconds and text of one recording."""
        recording = self._spool.create("pcm16", 16_000)
        try:
            await recording.append(pcm)
            watched = Watched(recording)
            job = Job(UtteranceRequest(id="bench"), cast(Recording, watched))
            async with trio.open_nursery() as nursery:
                done: list[tuple[float, str]] = []

                async def listen() -> None:
                    text = (await self._engine.recognise(job)).text
                    done.append((time.perf_counter(), text))

                nursery.start_soon(listen)
                await watched.all_taken.wait()
                began = time.perf_counter()
                recording.finish()
            ((ended, text),) = done
            return ended - began, text
        finally:
            recording.close()


@contextlib.contextmanager
def wyoming(python: Path, model: Path, threads: int) -> Iterator[Wyoming]:
    """Run wyoming-faster-whisper, its beam as its defaults choose."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--model", str(model), "--uri", f"tcp://127.0.0.1:{port}", "--language", "en"]
    places = ["--data-dir", str(HOME), "--cpu-threads", str(threads), "--device", "cpu"]
    kinds = ["--compute-type", "int8", "--stt-library", "faster-whisper", "--local-files-only"]
    command = [*GIVE_WAY, str(python), "-m", "wyoming_faster_whisper", *options, *places, *kinds]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            trio.run(partial(_answering, port, process))
            yield Wyoming(port)
        finally:
            process.terminate()


async def _answering(port: int, process: subprocess.Popen[bytes]) -> None:
    with trio.move_on_after(START_SECONDS):
        while process.poll() is None:
            try:
                stream = await trio.open_tcp_stream("127.0.0.1", port)
            except OSError:
                # Nothing of it tells that it listens but an answer, so it is asked now and then.
                await trio.sleep(0.2)
            else:
                await stream.aclose()
                return
    raise CannotMeasure("wyoming-faster-whisper does not answer")
