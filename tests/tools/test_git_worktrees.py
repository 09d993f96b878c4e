"""Worktrees: made once, adopted after a crash, never at the cost of other things."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from podiumd.tools.git import queries as git
from podiumd.tools.git.queries import GitError
from tests.tools.git_repository import commit, make_repository, run_git


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = make_repository(tmp_path / "repository")
    (path / "a.txt").write_text("one\n")
    commit(path, "first")
    return path


async def test_a_worktree_starts_from_head_on_its_branch_and_again_is_harmless(
    repository: Path, tmp_path: Path
) -> None:
    directory = str(tmp_path / "work trees" / "-run 1")
    assert not await git.worktree_exists(str(repository), directory, "podium/run-1")
    await git.add_worktree(str(repository), directory, "podium/run-1")
    assert await git.worktree_exists(str(repository), directory, "podium/run-1")
    assert await git.head(directory) == await git.head(repository)
    assert run_git(Path(directory), "symbolic-ref", "HEAD") == "refs/heads/podium/run-1"
    assert await git.top_level(directory) == directory
    (Path(directory) / "work").write_text("mine")
    await git.add_worktree(str(repository), directory, "podium/run-1")
    assert (Path(directory) / "work").read_text() == "mine"


async def test_a_worktree_is_told_from_other_branches_repositories_and_directories(
    repository: Path, tmp_path: Path
) -> None:
    directory = str(tmp_path / "w")
    await git.add_worktree(str(repository), directory, "podium/1")
    other = make_repository(tmp_path / "other")
    (Path(directory) / "sub").mkdir()
    assert not await git.worktree_exists(str(repository), directory, "podium/2")
    assert not await git.worktree_exists(str(other), directory, "podium/1")
    assert not await git.worktree_exists(str(repository), directory + "/sub", "podium/1")
    assert not await git.worktree_exists(str(repository), str(repository), "main")


async def test_a_worktree_that_a_crash_left_half_made_is_made_anew(
    repository: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "w"
    await git.add_worktree(str(repository), str(directory), "podium/1")
    (repository / ".git" / "worktrees" / "w" / "locked").write_text("initializing")
    (directory / "a.txt").unlink()
    assert not await git.worktree_exists(str(repository), str(directory), "podium/1")
    await git.add_worktree(str(repository), str(directory), "podium/1")
    assert await git.worktree_exists(str(repository), str(directory), "podium/1")
    assert (directory / "a.txt").read_text() == "one\n"


async def test_a_worktree_that_has_no_files_yet_is_half_made(
    repository: Path, tmp_path: Path
) -> None:
    """As a crash leaves it between the two gits that make it."""
    directory = tmp_path / "w"
    run_git(
        repository,
        *("worktree", "add", "-q", "--no-checkout", "--lock", "--reason", "initializing"),
        *("-b", "podium/1", f"{directory}"),
    )

    assert not await git.is_worktree(str(repository), str(directory))
    await git.add_worktree(str(repository), str(directory), "podium/1")

    assert await git.worktree_exists(str(repository), str(directory), "podium/1")
    assert await git.dirty(directory) == []
    assert not (repository / ".git/worktrees/w/locked").exists()


async def test_a_worktree_whose_directory_is_gone_comes_back_with_its_commits(
    repository: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "w"
    await git.add_worktree(str(repository), str(directory), "podium/1")
    made = commit(directory, "in the worktree")
    shutil.rmtree(directory)
    await git.add_worktree(str(repository), str(directory), "podium/1")
    assert await git.head(directory) == made


async def test_a_directory_with_other_things_in_it_is_left_alone(
    repository: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "w"
    directory.mkdir()
    (directory / "mine").touch()
    with pytest.raises(GitError, match=r"git worktree add failed .*already exists"):
        await git.add_worktree(str(repository), str(directory), "podium/1")
    broken = tmp_path / "x"
    broken.mkdir()
    (broken / ".git").write_text("gitdir: /no/such/place\n")
    with pytest.raises(GitError, match=r"git worktree add failed .*already exists"):
        await git.add_worktree(str(repository), str(broken), "podium/2")
    assert list(directory.iterdir()) == [directory / "mine"]


async def test_without_a_commit_no_worktree_can_start(tmp_path: Path) -> None:
    path = make_repository(tmp_path / "new")
    with pytest.raises(GitError, match="has no commit yet"):
        await git.add_worktree(str(path), str(tmp_path / "w"), "podium/1")
