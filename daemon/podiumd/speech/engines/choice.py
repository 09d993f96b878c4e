"""Choice of the engine that the configuration asks for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from podiumd.config.settings import VoiceSettings
from podiumd.speech.engines.base import Engine
from podiumd.speech.models import Models


@asynccontextmanager
async def open_engine(
    settings: VoiceSettings,
    models: Models,
    environ: Mapping[str, str],
    given: Engine | None = None,
) -> AsyncIterator[Engine]:
    """Enter the engine that is configured, or use the one that is given."""
    if given is not None:
        yield given
        return
    async with _configured(settings, models, environ) as engine:
        yield engine


def _configured(
    settings: VoiceSettings, models: Models, environ: Mapping[str, str]
) -> AbstractAsyncContextManager[Engine]:
    # Each is imported only where it is used: most daemons have one.
    match settings.engine:
        case "worker":
            from podiumd.speech.engines.local import open_worker_engine

            return open_worker_engine(settings, models, environ)
        case "openai":
            from podiumd.speech.engines.openai import open_openai

            return open_openai(settings, environ)
        case "wyoming":
            from podiumd.speech.engines.wyoming import open_wyoming

            return open_wyoming(settings)
        case "scripted":
            from podiumd.speech.engines.scripted import open_scripted

            return open_scripted(Path(settings.script) if settings.script else None)
