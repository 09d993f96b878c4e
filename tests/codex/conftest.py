"""What every test with the real Codex needs: its binary, and a model for it to talk to."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from podiumd.drivers.spool import SpoolWatch, watch_spools
from tests.codex.app_server import Home
from tests.e2e.install_claude import InstallError
from tests.e2e.install_codex import VARIABLE, install
from tests.fakes.model_server import ModelServer


@pytest.fixture(scope="session")
def codex_binary() -> Path:
    """The pinned ``codex``: CODEX_BIN, else the one in .cache, else it is installed now.

    Never skips: without the binary its contract is unproved, and that is a failure.
    """
    given = os.environ.get(VARIABLE)
    if given:
        binary = Path(given)
        if not os.access(binary, os.X_OK):
            pytest.fail(f"{VARIABLE}={given}: there is no program; unset it, or name the binary")
        return binary.resolve()
    try:
        return install()
    except InstallError as error:
        pytest.fail(f"codex is needed and could not be installed: {error}")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model that listens, with nothing scripted yet: ``load`` a script."""
    with ModelServer() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, codex_binary: Path, server: ModelServer) -> Home:
    """A home in which Codex asks that model."""
    return Home(tmp_path, codex_binary, server)


@pytest.fixture
async def watch() -> AsyncIterator[SpoolWatch]:
    """The service that wakes those who follow spools."""
    async with watch_spools() as service:
        yield service
