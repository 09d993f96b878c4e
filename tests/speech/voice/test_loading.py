"""How a model is loaded and how many threads read with it; no real model is needed but once."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from podiumd.speech.worker import whisper
from podiumd.speech.worker.decode import RATE
from podiumd.speech.worker.vad import Span, Speech
from podiumd.speech.worker.whisper import Whisper
from tests.patience import HANG_SECONDS

SMALL, LARGE = 150 * 1_048_576, 490 * 1_048_576


class FakeModel:
    """What faster-whisper's model shows of itself, and who has made it."""

    def __init__(self, directory: str, *, cpu_threads: int, **_: Any) -> None:
        self.threads = cpu_threads
        self.maker = threading.current_thread()
        self.model = SimpleNamespace(is_multilingual=True)
        self.supported_languages = ["en"]
        made.append(self)


made: list[FakeModel] = []


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> list[FakeModel]:
    """The models that are loaded, in their order, on a machine with three processors."""
    made.clear()
    monkeypatch.setattr(whisper, "WhisperModel", FakeModel)
    monkeypatch.setattr(whisper, "_processors", lambda: 3)
    return made


def directory(tmp_path: Path, size: int) -> str:
    with (tmp_path / "model.bin").open("wb") as file:
        file.truncate(size)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("size", "asked", "threads"),
    [(SMALL, 0, 1), (LARGE, 0, 3), (SMALL, 2, 2), (LARGE, 6, 6)],
)
def test_small_models_read_with_one_thread_unless_told_otherwise(
    models: list[FakeModel], tmp_path: Path, size: int, asked: int, threads: int
) -> None:
    Whisper(directory(tmp_path, size), asked)
    assert [model.threads for model in models] == [threads]


def test_the_thread_that_loads_is_gone_when_the_model_is_there(
    models: list[FakeModel], tmp_path: Path
) -> None:
    Whisper(directory(tmp_path, SMALL), 0)
    (model,) = models
    assert model.maker is not threading.current_thread() and not model.maker.is_alive()


@pytest.mark.parametrize(
    ("asked", "seconds", "threads"), [(0, 61, [1, 3]), (0, 59, [1]), (2, 61, [2])]
)
def test_much_speech_is_read_with_all_threads(
    models: list[FakeModel],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: int,
    seconds: int,
    threads: list[int],
) -> None:
    readers: list[FakeModel] = []

    def transcribe(model: FakeModel, *_: Any, **__: Any) -> tuple[list[Any], Any]:
        readers.append(model)
        return [], SimpleNamespace(language="en")

    class Pipeline:
        def __init__(self, model: FakeModel) -> None:
            self.model = model

        def transcribe(self, *_: Any, **__: Any) -> tuple[list[Any], Any]:
            return transcribe(self.model)

    monkeypatch.setattr(whisper, "BatchedInferencePipeline", Pipeline)
    monkeypatch.setattr(FakeModel, "transcribe", transcribe, raising=False)
    loaded = Whisper(directory(tmp_path, SMALL), asked)
    audio = np.zeros(seconds * RATE, np.float32)
    loaded.read(Speech(audio, (Span(0, len(audio)),)), "en", (), lambda: None)
    assert [model.threads for model in models] == threads
    assert readers == [models[-1]]


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted where Linux shows them")
def test_loading_leaves_no_team_of_threads_behind(base: Path) -> None:
    """The one that reads is there, and soon nobody else: the system ends threads when it likes."""
    script = (
        "import os, sys, time\n"
        "os.environ['OPENBLAS_NUM_THREADS'] = '1'\n"
        "from podiumd.speech.worker.whisper import Whisper\n"
        "count = lambda: len(os.listdir('/proc/self/task'))\n"
        "before, deadline = count(), time.monotonic() + 20\n"
        "loaded = Whisper(sys.argv[1], 2)\n"
        "while count() - before > 1 and time.monotonic() < deadline:\n"
        "    os.sched_yield()\n"
        "print(count() - before)\n"
    )
    command = [sys.executable, "-P", "-c", script, str(base)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG_SECONDS)
    assert done.stdout.split() == ["1"]
