"""Fixtures for driver tests: the spool watch, a model server, the real ``claude``, the stub."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from podiumd.agents.claude.driver import ClaudeDriver
from podiumd.agents.scripted.journal import Entry, Journal
from podiumd.drivers import spooled
from podiumd.drivers.spool import SpoolWatch, watch_spools
from podiumd.tools.process.processes import carriers
from tests.drivers.rig import SMALL, Rig
from tests.e2e.install_claude import install
from tests.fakes.model_server import ModelServer

STUB = Path(__file__).with_name("stub_agent.py")


@pytest.fixture(scope="session")
def claude_command() -> tuple[str, ...]:
    """The pinned real agent, with a short system prompt."""
    binary = os.environ.get("CLAUDE_BIN") or str(install())
    return (binary, *SMALL)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A scripted model on loopback."""
    with ModelServer() as server:
        yield server


@pytest.fixture
async def watch() -> AsyncIterator[SpoolWatch]:
    """The service that wakes those who follow spools."""
    async with watch_spools() as service:
        yield service


@pytest.fixture
def claude(watch: SpoolWatch) -> ClaudeDriver:
    """The driver under test."""
    return ClaudeDriver(watch)


@pytest.fixture
def rig(tmp_path: Path, claude_command: tuple[str, ...], server: ModelServer) -> Iterator[Rig]:
    """A workbench with the real agent; nothing marked may outlive a test."""
    rig = Rig(
        tmp_path,
        command=claude_command,
        environment={
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
        },
    )
    yield rig
    left = [one for turn in rig.turns.iterdir() for one in carriers(turn.name)]
    assert left == [], "processes of a turn outlived its test"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Rig]:
    """A workbench whose agent is the stub; the steps of an ending take 0.2 s, not 2."""
    monkeypatch.setattr(spooled, "STEP_SECONDS", 0.2)
    return lambda *words: Rig(tmp_path, command=(sys.executable, "-S", str(STUB), *words, "--"))


@pytest.fixture
def journal_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripted turns write their journal at once: a clock that jumps waits for no thread."""

    async def append(self: Journal, entry: Entry) -> None:
        self._write(msgspec.json.encode(entry) + b"\n")

    monkeypatch.setattr(Journal, "_append", append)
