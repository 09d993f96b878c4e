"""A merge is what it says, whatever the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from podiumd.tools.worktree_merge import merge, prepare
from tests.long import sampled
from tests.tools.git_repository import commit, make_repository, run_git, set_for_person


@pytest.mark.parametrize(
    ("key", "value"),
    sampled(
        [
            ("branch.main.mergeoptions", "--squash"),
            ("branch.main.mergeoptions", "--no-commit --no-ff"),
            ("branch.main.mergeoptions", "--strategy=ours"),
            ("pull.twohead", "ours"),
        ],
        2,
    ),
)
async def test_what_is_told_as_merged_is_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: str
) -> None:
    monkeypatch.setenv("HOME", f"{tmp_path}")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    set_for_person(tmp_path, "user.name", "A Person")
    set_for_person(tmp_path, "user.email", "a@example.org")
    repository = make_repository(tmp_path / "repository")
    (repository / "a.txt").write_text("one\n")
    commit(repository, "first")
    run_git(repository, "checkout", "-q", "-b", "side")
    (repository / "b.txt").write_text("new\n")
    commit(repository, "side")
    run_git(repository, "checkout", "-q", "main")
    (repository / "c.txt").write_text("mine\n")
    commit(repository, "mine")
    run_git(repository, "config", key, value)

    merged = await merge(f"{repository}", await prepare(f"{repository}", "side"), "marker")

    assert merged == run_git(repository, "rev-parse", "HEAD")
    assert run_git(repository, "show", "HEAD:b.txt") == "new"
    assert len(run_git(repository, "rev-parse", "HEAD^@").split()) == 2
    assert run_git(repository, "status", "--short") == ""
