"""A merge is what it says, whatever the settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podiumd.tools.commit.worktree_merge import NotMerged, merge, prepare
from podiumd.tools.git import queries as git
from tests.long import sampled
from tests.tools.forged_index import forge
from tests.tools.git_repository import begun, commit, make_repository, run_git, set_for_person


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
    as_somebody(tmp_path, monkeypatch)
    repository = begun(tmp_path / "repository", {"a.txt": "one\n"})
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


async def test_what_the_index_hides_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_somebody(tmp_path, monkeypatch)
    repository = make_repository(tmp_path / "repository")
    for name in ("a.txt", "b.txt"):
        (repository / name).write_text("one\n")
    commit(repository, "first")
    run_git(repository, "checkout", "-q", "-b", "side")
    (repository / "a.txt").write_text("two\n")
    commit(repository, "side")
    run_git(repository, "checkout", "-q", "main")
    assert await git.dirty(repository) == []
    for name in ("a.txt", "b.txt"):
        (repository / name).write_text("mine\n")
        os.utime(repository / name, (10**9, 10**9))
    forge(repository, "a.txt", "b.txt")
    assert run_git(repository, "status", "--short") == ""

    with pytest.raises(NotMerged, match=r"hides \(a.txt\)"):
        await prepare(f"{repository}", "side")
    assert (repository / "a.txt").read_text() == "mine\n"
    (repository / "a.txt").unlink()
    run_git(repository, "checkout", "-q", "HEAD", "--", "a.txt")
    await merge(f"{repository}", await prepare(f"{repository}", "side"), "marker")
    assert (repository / "b.txt").read_text() == "mine\n"


def as_somebody(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", f"{home}")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    set_for_person(home, "user.name", "A Person")
    set_for_person(home, "user.email", "a@example.org")
