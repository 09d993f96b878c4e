"""What every end-to-end test needs: the real agent's binary and a model for it to talk to."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.install_claude import InstallError, install
from tests.e2e.machine import GitRepo, Machine
from tests.fakes.model_server import ModelServer
from tests.phone.decoders.recorder import frames_that_every_app_reads

__all__ = ["frames_that_every_app_reads"]


@pytest.fixture(scope="session")
def claude_binary() -> Path:
    """The pinned ``claude``: CLAUDE_BIN, else the one in .cache, else it is installed now.

    Never skips: without the binary the contract is unproved, and that is a failure.
    """
    given = os.environ.get("CLAUDE_BIN")
    if given:
        binary = Path(given)
        if not os.access(binary, os.X_OK):
            pytest.fail(f"CLAUDE_BIN={given}: there is no program; unset it, or name the binary")
        return binary.resolve()
    try:
        return install()
    except InstallError as error:
        pytest.fail(f"claude is needed and could not be installed: {error}")


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A model that listens, with nothing scripted yet: ``load`` a script."""
    with ModelServer() as server:
        yield server


@pytest.fixture
def machine(claude_binary: Path, model_server: ModelServer, tmp_path: Path) -> Machine:
    """A machine with the default configuration, its daemon not yet started."""
    made = Machine(tmp_path, tmp_path / "home", claude_binary, model_server)
    made.set_up()
    made.configure()
    return made


@pytest.fixture
async def podium(machine: Machine) -> AsyncIterator[PodiumDaemon]:
    """The daemon of that machine, ready."""
    async with PodiumDaemon(machine) as daemon:
        yield daemon
    print(daemon.log_text())  # shown where the test fails


@pytest.fixture
def repo(machine: Machine) -> GitRepo:
    """A repository to work in."""
    return machine.repository()
