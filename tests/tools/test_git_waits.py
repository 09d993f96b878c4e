"""A pipe in the place of a file that git reads by itself: git is not run, or ended in time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from podiumd.core.loop_facts import FileChange
from podiumd.tools import git, git_process
from podiumd.tools.changes import TreeWatch
from podiumd.tools.git import GitError
from podiumd.tools.git_plumbing import GitCall
from podiumd.tools.originals import Originals
from tests.tools.git_repository import commit, make_repository

NAMES = (".gitattributes", ".gitignore", ".gitmodules")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = make_repository(tmp_path / "repository")
    (path / "sub").mkdir()
    (path / "sub/a.txt").write_text("one\n")
    commit(path, "first")
    (path / "sub/a.txt").write_text("two\n")
    return path


@pytest.mark.parametrize("name", NAMES)
async def test_git_is_not_run_where_it_would_wait(repository: Path, name: str) -> None:
    os.mkfifo(repository / name)

    for where in (repository, repository / "sub"):
        with pytest.raises(GitError, match=f"would wait for ever at '{repository}/{name}'"):
            await git.dirty(where)
    with pytest.raises(GitError, match="would wait for ever"):
        await GitCall(f"{repository}").beginning(10, "diff")
    assert await git.top_level(repository) == f"{repository}"


async def test_what_a_command_changed_then_is_said_to_be_unknown(
    repository: Path, tmp_path: Path
) -> None:
    watch = TreeWatch(repository, Originals(tmp_path / "originals"))
    before = await watch.snapshot()
    os.mkfifo(repository / ".gitignore")

    assert await watch.between(before) == ((), 0)
    assert "would wait for ever" in watch.trouble
    (repository / ".gitignore").unlink()
    (repository / "new.txt").write_text("x\n")

    changes, _ = await watch.between(before)
    assert watch.trouble == "" and [change.path for change in changes] == ["new.txt"]
    assert all(isinstance(change, FileChange) for change in changes)


@pytest.mark.parametrize("beginning", [False, True])
async def test_a_git_that_waits_at_one_deep_in_the_tree_is_ended(
    repository: Path, mock_clock: MockClock, beginning: bool
) -> None:
    pipe = repository / "sub/.gitattributes"
    os.mkfifo(pipe)
    call = GitCall(f"{repository}")
    writers = []

    async def let_it_be_over() -> None:
        writers.append(await trio.to_thread.run_sync(os.open, pipe, os.O_WRONLY))  # git reads
        mock_clock.jump(git_process.LIMIT_SECONDS)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(let_it_be_over)
        with pytest.raises(GitError, match=r"git status .*did not end in its time"):
            await (
                call.beginning(10, "status", "--short")
                if beginning
                else call.out("status", "--short")
            )

    with pytest.raises(BrokenPipeError):  # nobody reads any more
        os.write(writers[0], b"x")
    os.close(writers[0])
