"""A real daemon with everything of its own in a scratch directory, for one measurement."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import CannotMeasure
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.install_claude import InstallError, install
from tests.e2e.machine import Machine
from tests.fakes.model_server import ModelServer

ALWAYS_AGAIN = {"default": {"text": "Done.", "structured": {"outcome": "again"}}}
"""What the model says to every prompt of ``ping_pong``."""


def agent_program() -> Path:
    """Find the pinned ``claude``: ``CLAUDE_BIN``, else the one in ``.cache``, else install it.

    Raises ``CannotMeasure``.
    """
    given = os.environ.get("CLAUDE_BIN")
    if given:
        return Path(given).resolve()
    try:
        return install()
    except InstallError as error:
        raise CannotMeasure(f"claude could not be installed: {error}") from error


@asynccontextmanager
async def private_daemon(model: Mapping[str, Any]) -> AsyncIterator[PodiumDaemon]:
    """Start a daemon whose agent is the real one and whose model is scripted."""
    program = agent_program()
    with (
        tempfile.TemporaryDirectory(prefix="podium-bench-") as directory,
        ModelServer(model) as server,
    ):
        root = Path(directory)
        machine = Machine(root=root, home=root / "home", claude=program, model=server)
        machine.set_up()
        machine.configure()
        async with PodiumDaemon(machine) as daemon:
            yield daemon
