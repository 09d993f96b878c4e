"""Fixtures for the tests of the tools: a home, a repository, a turn, a project in a sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.boxed_project import Inside
from tests.tools.git_repository import begin
from tests.tools.turn_repository import Turn


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's, with their own settings of git."""
    path = tmp_path / "person"
    path.mkdir()
    monkeypatch.setenv("HOME", f"{path}")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return path


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One with a commit of one file."""
    begin(tmp_path / "repository", {"a.txt": "one\n"})
    return tmp_path / "repository"


@pytest.fixture
def turn(tmp_path: Path) -> Turn:
    """A turn in a repository with a user's work in it."""
    return Turn(tmp_path)


@pytest.fixture
def inside(tmp_path: Path) -> Inside:
    """A project in a home, with secrets around it, and commands run in the sandbox there."""
    return Inside(tmp_path)
