"""What every test with the real Kimi Code needs: its program, and a model for it to talk to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.install_claude import InstallError
from tests.e2e.install_kimi import VARIABLE, install, node
from tests.fakes.model_server import ModelServer


@pytest.fixture(scope="session")
def kimi_command() -> tuple[str, ...]:
    """The command of the pinned ``kimi``: KIMI_JS, else that in .cache, else it is installed now.

    Never skips: without the program its contract is unproved, and that is a failure.
    """
    try:
        program = Path(os.environ[VARIABLE]) if VARIABLE in os.environ else install()
        return (str(node()), str(program.resolve(strict=True)), "acp")
    except (InstallError, OSError) as error:
        pytest.fail(f"kimi is needed and could not be installed: {error}")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model that listens, with nothing scripted yet: ``load`` a script."""
    with ModelServer() as running:
        yield running
