"""The real model, real recordings, and one worker process that tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.speech import assets
from tests.speech.voice.worker import Worker


@pytest.fixture(scope="session")
def recordings() -> dict[str, Path]:
    """By name. Never skips: without them nothing is proved, and that is a failure."""
    try:
        return assets.recordings()
    except assets.AssetError as error:
        pytest.fail(str(error))


@pytest.fixture(scope="session")
def tiny() -> Path:
    """The directory of tiny.en, which knows English only."""
    return _model("tiny.en")


@pytest.fixture(scope="session")
def base() -> Path:
    """The directory of base, which knows many languages and is read in short windows."""
    return _model("base")


@pytest.fixture(scope="session")
def worker(tiny: Path) -> Iterator[Worker]:
    """A worker with tiny.en."""
    with Worker(tiny) as started:
        yield started


@pytest.fixture(scope="session")
def base_worker(base: Path) -> Iterator[Worker]:
    """A worker with base."""
    with Worker(base) as started:
        yield started


def _model(name: str) -> Path:
    try:
        return assets.model(name)
    except assets.AssetError as error:
        pytest.fail(str(error))
