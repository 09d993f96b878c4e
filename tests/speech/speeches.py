"""What tests of speech begin with."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from podiumd.config.settings import VoiceSettings
from podiumd.speech.api import UtteranceRequest
from podiumd.speech.engines.local import WorkerEngine, open_worker_engine
from podiumd.speech.engines.scripted import ScriptedEngine
from podiumd.speech.models import Models
from podiumd.speech.service import Speech, open_speech
from podiumd.wire.voice import Transcribed
from tests.patience import HANG_SECONDS

FAKE = Path(__file__).with_name("fake_worker.py")
SECOND = bytes(32_000)
"""A second of PCM16."""


def model_in(directory: Path) -> Path:
    """A directory that looks as a model's does."""
    directory.mkdir(parents=True)
    for name in ("model.bin", "config.json", "tokenizer.json"):
        (directory / name).write_text(name)
    return directory


def request(id: str = "u1", **fields: Any) -> UtteranceRequest:
    return UtteranceRequest(id=id, **fields)


async def say(speech: Speech, id: str = "u1", seconds: int = 1, **fields: Any) -> Transcribed:
    """Say as much as one utterance; what is heard."""
    utterance = await speech.open(request(id, **fields))
    for _ in range(seconds):
        await utterance.feed(SECOND)
    return await utterance.end()


@asynccontextmanager
async def scripted(
    tmp_path: Path, *lines: str, keep_seconds: float = 120, **settings: Any
) -> AsyncIterator[Speech]:
    """Speech whose engine hears these lines."""
    engine = ScriptedEngine(lines)
    voice = VoiceSettings(**settings)
    async with open_speech(voice, tmp_path, {}, engine=engine, keep_seconds=keep_seconds) as speech:
        yield speech


@asynccontextmanager
async def fake_worker(
    tmp_path: Path, how: str, *, once: bool = False, **settings: Any
) -> AsyncIterator[tuple[Speech, WorkerEngine]]:
    """Speech with a fake worker that does well, or fails so, each time or ``once``."""
    model = tmp_path / "model"
    if not model.exists():
        model_in(model)
    chosen: dict[str, Any] = {"model": str(model), "timeout_seconds": HANG_SECONDS} | settings
    voice = VoiceSettings(**chosen)
    command = [sys.executable, str(FAKE), how, *([str(tmp_path / "failed")] if once else [])]
    models = Models(tmp_path, {})
    async with open_worker_engine(voice, models, {}, command=command, installed=True) as engine:
        assert isinstance(engine, WorkerEngine)
        async with open_speech(voice, tmp_path, {}, engine=engine) as speech:
            yield speech, engine
