"""A directory of projects, and the index, for the tests of the sessions."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
import trio

from podiumd.sessions.index import bulk
from podiumd.store.index import open_index
from tests.sessions import service
from tests.sessions.support import session_id


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    """An agent's directory of projects, with one project in it."""
    directory = tmp_path / "projects"
    (directory / "-home-dev-app").mkdir(parents=True)
    return directory


@pytest.fixture
def project(projects: Path) -> Path:
    return projects / "-home-dev-app"


@pytest.fixture
def transcript(project: Path) -> Path:
    """The path of session 1, where nothing is yet."""
    return project / f"{session_id()}.jsonl"


@pytest.fixture
def home(tmp_path: Path) -> service.Home:
    """What outlives the service: transcripts, its state, and the ledgers."""
    return service.Home(tmp_path)


@pytest.fixture
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """No change is told by the system: only what the service looks at itself."""
    service.unwatched(monkeypatch)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_index(tmp_path / "state")[0]) as connection:
        yield connection


@pytest.fixture
def opened() -> Iterator[Callable[[Path], int]]:
    """Opens files for reading; they are closed at the end of the test."""
    descriptors: list[int] = []

    def open_it(path: Path) -> int:
        descriptors.append(os.open(path, os.O_RDONLY))
        return descriptors[-1]

    yield open_it
    for descriptor in descriptors:
        os.close(descriptor)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[trio.Process]:
    """The processes that read for a sweep, in the order of their start."""
    processes: list[trio.Process] = []
    start = bulk._start

    async def noted(command: Sequence[str]) -> trio.Process | None:
        process = await start(command)
        if process is not None:
            processes.append(process)
        return process

    monkeypatch.setattr(bulk, "_start", noted)
    return processes
