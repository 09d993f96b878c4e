"""A pipe in the place of a file that git reads by itself: git is not run, or ended in time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from podiumd.core.run.native_loop_facts import FileChange
from podiumd.tools.commit.changes import TreeWatch
from podiumd.tools.commit.originals import Originals
from podiumd.tools.git import process
from podiumd.tools.git import queries as git
from podiumd.tools.git import waits as git_waits
from podiumd.tools.git.process import GitCall
from podiumd.tools.git.queries import GitError
from podiumd.tools.git.waits import waiting_below
from tests.tools.boxed_project import Inside
from tests.tools.git_repository import begun

NAMES = (".gitattributes", ".gitignore", ".gitmodules", ".mailmap")
EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
"""How git calls a file without content."""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = begun(tmp_path / "repository", {"sub/a.txt": "one\n"})
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


@pytest.mark.parametrize("name", NAMES)
async def test_one_that_is_a_link_to_the_null_device_is_an_empty_one(
    repository: Path, name: str
) -> None:
    (repository / name).symlink_to("/dev/null")
    (repository / "sub" / name).symlink_to("/dev/zero")

    assert await git.dirty(repository) != []
    with pytest.raises(GitError, match=f"would wait for ever at '{repository}/sub/{name}'"):
        await GitCall(f"{repository}/sub").out("status", "--short")


@pytest.mark.parametrize("beginning", [False, True])
@pytest.mark.parametrize("fails", [False, True])
async def test_a_git_that_waits_at_one_deep_in_the_tree_is_ended_in_words_though_the_look_fails(
    repository: Path,
    mock_clock: MockClock,
    monkeypatch: pytest.MonkeyPatch,
    beginning: bool,
    fails: bool,
) -> None:
    pipe = repository / "sub/.gitattributes"
    os.mkfifo(pipe)
    call = GitCall(f"{repository}")
    writers = []
    words = f"would wait for ever at '{pipe}'"

    def fail(path: str, command: str) -> str | None:
        raise ValueError("of whatever kind")

    if fails:
        monkeypatch.setattr(process, "waits_at", fail)
        words = r"status.* was ended: .*: of whatever kind"

    async def let_time_pass() -> None:
        writers.append(await trio.to_thread.run_sync(os.open, pipe, os.O_WRONLY))  # git reads
        mock_clock.jump(process.LOOK_SECONDS)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(let_time_pass)
        with pytest.raises(GitError, match=words):
            await (
                call.beginning(10, "status", "--short")
                if beginning
                else call.out("status", "--short")
            )

    with pytest.raises(BrokenPipeError):  # nobody reads any more
        os.write(writers[0], b"x")
    os.close(writers[0])


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> trio.Event:
    """It was looked at whether a git waits at something."""
    event = trio.Event()

    def look(path: str) -> str | None:
        found = waiting_below(path)
        trio.from_thread.run_sync(event.set)
        return found

    monkeypatch.setattr(git_waits, "waiting_below", look)
    return event


@pytest.mark.parametrize("ends", [True, False])
async def test_a_git_that_has_much_to_do_is_let(
    repository: Path, mock_clock: MockClock, looked: trio.Event, ends: bool
) -> None:
    """Reading from a pipe that another program fills slowly stands for it."""
    os.mkfifo(repository / "large")

    async def let_time_pass() -> None:
        slow = await trio.to_thread.run_sync(os.open, repository / "large", os.O_WRONLY)
        mock_clock.jump(process.LOOK_SECONDS)
        await looked.wait()
        await wait_all_tasks_blocked()
        if not ends:
            mock_clock.autojump_threshold = 0  # to the limit, once the look is over
            await over.wait()
        os.close(slow)

    over = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(let_time_pass)
        hashing = GitCall(f"{repository}").line("hash-object", "large")
        if ends:
            assert await hashing == EMPTY
        else:
            with pytest.raises(GitError, match=r"did not end within 20 minutes, and was ended"):
                await hashing
        over.set()


def test_what_one_waits_at_is_looked_for_in_its_tree_alone(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(repository.parent / ".gitignore")
    os.mkfifo(repository / ".git/.gitignore")
    for number in range(3):
        (repository / f"sub/{number}").mkdir()
    assert waiting_below(f"{repository}/sub") is None
    os.mkfifo(repository / "sub/2/.gitignore")

    assert waiting_below(f"{repository}/sub/1") == f"{repository}/sub/2/.gitignore"
    monkeypatch.setattr(git_waits, "MOST_DIRECTORIES", 2)
    assert waiting_below(f"{repository}/sub/1") is None


@pytest.mark.needs("bwrap")
async def test_one_that_a_command_leaves_is_removed_and_named(tmp_path: Path) -> None:
    inside = Inside(tmp_path)
    (inside.project / "mine").mkdir()
    os.mkfifo(inside.project / "mine/.gitignore")

    done = await inside.run(
        "mkfifo .gitattributes; mkdir -p a/b c; mkfifo a/b/.gitignore; chmod 111 a/b;"
        "ln -s /dev/null c/.gitignore; ln -s /dev/zero a/.mailmap"
    )

    top = inside.project
    assert set(done.tidied.removed) == {
        f"{top}/.gitattributes", f"{top}/a/b/.gitignore", f"{top}/a/.mailmap"
    }  # fmt: skip
    assert (top / "c/.gitignore").is_symlink()
    assert (top / "mine/.gitignore").is_fifo()
    (top / "mine/.gitignore").unlink()
    assert await git.dirty(top) == ["c/"]
