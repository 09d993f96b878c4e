"""What git leaves of a worktree that it was stopped at: removed, but never with anybody's work."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from podiumd.tools.git import queries as git
from podiumd.tools.git.queries import GitError
from podiumd.tools.git.worktree_remains import clear, forget_branch, is_unfinished
from tests.long import sampled
from tests.tools.git_repository import commit, make_repository, run_git

BRANCH = "podium/1"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One whose checkout kills the git that does it, with all that git has started."""
    path = make_repository(tmp_path / "repository")
    (path / ".gitattributes").write_text("*.deadly filter=deadly\n")
    (path / ".gitignore").write_text("*.log\n")
    for name in ("a.txt", "m.deadly", "z.txt"):
        (path / name).write_text("one\n")
    commit(path, "first")
    run_git(path, "config", "filter.deadly.smudge", "kill -9 0")
    return path


@pytest.fixture
def unfinished(repository: Path, tmp_path: Path) -> Path:
    """A worktree that git was killed at."""
    directory = tmp_path / "w"
    add = ["git", "-C", str(repository), "worktree", "add", "-b", BRANCH, str(directory)]
    done = subprocess.run(add, capture_output=True, start_new_session=True, check=False)
    assert done.returncode == -9, done
    assert (directory / "a.txt").exists() and not (directory / "m.deadly").exists()
    return directory


def branches(repository: Path) -> list[str]:
    return run_git(repository, "branch", "--format=%(refname:short)").split()


async def test_a_worktree_that_git_was_killed_at_is_removed_with_its_branch(
    repository: Path, unfinished: Path
) -> None:
    assert is_unfinished(str(unfinished))
    assert await clear(str(repository), str(unfinished), BRANCH) == ""
    assert not unfinished.exists()
    assert run_git(repository, "worktree", "list").count("\n") == 0
    await forget_branch(str(repository), BRANCH)
    assert branches(repository) == ["main"]
    assert await clear(str(repository), str(unfinished), BRANCH) == "", "again is harmless"


def drop_record(repository: Path, unfinished: Path) -> None:
    shutil.rmtree(repository / ".git" / "worktrees" / "w")


def drop_link(repository: Path, unfinished: Path) -> None:
    drop_record(repository, unfinished)
    (unfinished / ".git").unlink()


def empty_link(repository: Path, unfinished: Path) -> None:
    (unfinished / ".git").write_bytes(b"")


def begin_file(repository: Path, unfinished: Path) -> None:
    (unfinished / "z.txt").touch()


def drop_branch(repository: Path, unfinished: Path) -> None:
    run_git(repository, "update-ref", "-d", f"refs/heads/{BRANCH}")


@pytest.mark.parametrize(
    "more", sampled([drop_record, drop_link, empty_link, begin_file, drop_branch], 2)
)
async def test_however_far_git_had_come_it_is_removed(
    repository: Path, unfinished: Path, more: Callable[[Path, Path], None]
) -> None:
    more(repository, unfinished)
    assert is_unfinished(str(unfinished))
    assert await clear(str(repository), str(unfinished), BRANCH) == ""
    assert not unfinished.exists()


@pytest.mark.parametrize("name", sampled(["new.txt", "kept.log", "a.txt", "inner/x", "caf\xe9"], 3))
async def test_what_somebody_has_put_there_keeps_all_of_it(
    repository: Path, unfinished: Path, name: str
) -> None:
    """A new file, an ignored one, a changed one, one in a directory."""
    path = unfinished / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("work")
    kept = await clear(str(repository), str(unfinished), BRANCH)
    assert kept == f"it holds what git did not put there: {name}"
    assert path.read_text() == "work" and (unfinished / "a.txt").exists()


async def test_many_are_counted_and_some_are_named(repository: Path, unfinished: Path) -> None:
    for number in range(5):
        (unfinished / f"new{number}").touch()
    kept = await clear(str(repository), str(unfinished), BRANCH)
    assert kept.endswith(": new0, new1, new2 and 2 more")


async def test_a_repository_that_somebody_has_put_there_is_kept(
    repository: Path, unfinished: Path
) -> None:
    inner = make_repository(unfinished / "inner")
    commit(inner, "work")
    assert "inner/" in await clear(str(repository), str(unfinished), BRANCH)
    assert inner.exists()


async def test_commits_outlive_the_directory_that_they_were_made_in(
    repository: Path, unfinished: Path
) -> None:
    tree = run_git(repository, "rev-parse", "HEAD^{tree}")
    work = run_git(repository, "commit-tree", "-m", "work", "-p", "HEAD", tree)
    run_git(repository, "update-ref", f"refs/heads/{BRANCH}", work)
    assert await clear(str(repository), str(unfinished), BRANCH) == ""
    await forget_branch(str(repository), BRANCH)
    assert run_git(repository, "rev-parse", BRANCH) == work


async def test_a_branch_that_is_checked_out_is_kept(repository: Path) -> None:
    run_git(repository, "switch", "--quiet", "-c", BRANCH)
    await forget_branch(str(repository), BRANCH)
    assert branches(repository) == ["main", BRANCH]


async def test_a_worktree_that_is_whole_is_never_touched(repository: Path, tmp_path: Path) -> None:
    run_git(repository, "config", "--unset", "filter.deadly.smudge")
    directory = str(tmp_path / "w")
    await git.add_worktree(str(repository), directory, BRANCH)
    run_git(Path(directory), "switch", "--quiet", "-c", "another")
    assert not is_unfinished(directory)
    assert await clear(str(repository), directory, BRANCH) == ""
    run_git(repository, "worktree", "lock", "--reason", "mine", directory)
    assert await clear(str(repository), directory, BRANCH) == ""
    assert (tmp_path / "w" / "a.txt").read_text() == "one\n"


async def test_what_never_was_a_worktree_is_not_unfinished(
    repository: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(repository)
    file = tmp_path / "file"
    file.touch()
    for path in (repository, link, file, tmp_path / "nothing"):
        assert not is_unfinished(str(path))


async def test_without_its_repository_nothing_is_removed(
    repository: Path, unfinished: Path
) -> None:
    shutil.rmtree(repository)
    kept = await clear(str(repository), str(unfinished), BRANCH)
    assert kept == f"'{repository}' does not tell what was to be in it"
    assert (unfinished / "a.txt").exists()


async def test_a_repository_that_is_damaged_is_said_and_nothing_is_removed(
    repository: Path, unfinished: Path
) -> None:
    tree = run_git(repository, "rev-parse", "HEAD^{tree}")
    (repository / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(GitError, match="git read-tree failed"):
        await clear(str(repository), str(unfinished), BRANCH)
    assert (unfinished / "a.txt").exists()
