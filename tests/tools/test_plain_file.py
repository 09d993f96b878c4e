"""What is no plain file, where git has one: nobody waits for it, and it is not read for ever."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import pytest
import trio

from podiumd.tools.confine.places import PLACED, is_own_worktree, is_placed, places_for
from podiumd.tools.files.plain_file import read_plain
from podiumd.tools.git import queries as git
from podiumd.tools.git.nested_repositories import RepositoryLook
from podiumd.tools.git.pinned_settings import repository_at
from podiumd.tools.git.queries import GitError
from podiumd.tools.git.worktree_remains import is_unfinished
from podiumd.tools.sandbox.boundary import Boundary, tidy
from tests.patience import HANG_SECONDS
from tests.tools.git_repository import commit, make_repository, run_git

T = TypeVar("T")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_directory(path: Path) -> None:
    path.mkdir()


def a_huge_one(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**32)


Kind = Callable[[Path], None]
KINDS: Final = (a_pipe, a_device, a_directory, a_huge_one)
of_each_kind = pytest.mark.parametrize("kind", KINDS)


async def in_time(look: Callable[[], T]) -> T:
    with trio.fail_after(HANG_SECONDS):
        return await trio.to_thread.run_sync(look, abandon_on_cancel=True)


def put(kind: Kind, path: Path) -> None:
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    kind(path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository, with a worktree beside it."""
    top = make_repository(tmp_path / "project")
    (top / "a.txt").write_text("a\n")
    commit(top, "first")
    run_git(top, "worktree", "add", "-q", "-b", "side", f"{tmp_path}/side")
    return top


def test_a_plain_file_is_read_and_a_link_only_where_wanted(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")

    assert read_plain(tmp_path / "file", 5) == b"12345"
    assert read_plain(tmp_path / "link", 5, links=True) == b"12345"
    with pytest.raises(OSError, match="more than 4 bytes"):
        read_plain(tmp_path / "file", 4)
    with pytest.raises(OSError, match="symbolic links"):
        read_plain(tmp_path / "link", 5)


@of_each_kind
async def test_anything_else_is_an_error(tmp_path: Path, kind: Kind) -> None:
    kind(tmp_path / "x")
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208

    for links in (False, True):
        with pytest.raises(OSError, match=r"no plain file|more than 10|symbolic links"):
            await in_time(partial(read_plain, tmp_path / "x", 10, links=links))

    assert len(os.listdir("/dev/fd")) == before  # noqa: PTH208


@of_each_kind
async def test_what_a_command_leaves_as_a_repository_is_tidied(project: Path, kind: Kind) -> None:
    for name in (".git", ".git/HEAD", ".git/config", ".git/commondir"):
        put(kind, project / "x" / name)
        boundary = Boundary(root=f"{project}", repositories=(f"{project}/.git",))

        done = await in_time(partial(tidy, boundary, RepositoryLook(project)))

        assert done.removed == (f"{project}/x/.git",), name
        assert not os.path.lexists(project / "x/.git")


@of_each_kind
async def test_a_sandbox_is_planned_around_it(tmp_path: Path, kind: Kind) -> None:
    for name in (".git", ".git/config", ".git/commondir", ".git/config.worktree"):
        top = tmp_path / name.replace("/", "-")
        if name != ".git":
            make_repository(top)
        put(kind, top / name)

        await in_time(partial(places_for, top, home=tmp_path / "home", closed=[], environ={}))


@of_each_kind
async def test_a_worktree_without_a_plain_record_or_link_is_none(project: Path, kind: Kind) -> None:
    side, common = project.parent / "side", [project / ".git"]
    assert is_own_worktree(side / ".git", common)
    for name in ("gitdir", "commondir"):
        record = project / ".git/worktrees/side" / name
        before = record.read_bytes()
        put(kind, record)
        assert not await in_time(lambda: is_own_worktree(side / ".git", common)), name
        shutil.rmtree(record) if record.is_dir() else record.unlink()
        record.write_bytes(before)
    assert await git.is_worktree(f"{project}", f"{side}")

    put(kind, side / ".git")

    assert not await in_time(lambda: is_unfinished(f"{side}"))
    assert not await in_time(lambda: trio.run(git.is_worktree, f"{project}", f"{side}"))
    again = partial(git.add_worktree, f"{project}", f"{side}", "side")
    with pytest.raises(GitError):
        await in_time(lambda: trio.run(again))


@of_each_kind
async def test_a_lock_of_a_worktree_that_is_no_file_says_nothing(project: Path, kind: Kind) -> None:
    side = project.parent / "side"
    put(kind, project / ".git/worktrees/side/locked")

    assert not await in_time(lambda: is_unfinished(f"{side}"))
    assert await in_time(lambda: trio.run(git.is_worktree, f"{project}", f"{side}"))


@of_each_kind
async def test_it_is_no_placeholder_of_ours(tmp_path: Path, kind: Kind) -> None:
    for name in PLACED:
        kind(tmp_path / name)
        assert not await in_time(partial(is_placed, tmp_path / name))


async def test_a_link_with_a_nul_in_it_leads_nowhere(project: Path) -> None:
    side = project.parent / "side"
    (side / ".git").write_bytes(b"gitdir: a\0b\n")

    assert not is_own_worktree(side / ".git", [project / ".git"])
    assert is_unfinished(f"{side}")
    assert not await git.is_worktree(f"{project}", f"{side}")


LEADS_NOWHERE: Final = "b" * 300
"""No file system has such a name: to look at one is an error, not an absence."""


async def test_a_link_to_a_name_that_none_can_have_is_no_repository(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "below").mkdir(parents=True)
    (tree / ".git").symlink_to(LEADS_NOWHERE)
    for place in (tree, tree / "below"):
        assert repository_at(f"{place}") is None
        assert await git.top_level(place) is None
    told = places_for(tree, home=tmp_path / "home", closed=[], environ={})
    assert isinstance(told, str) and "'.git' is a link there" in told
    assert not is_unfinished(f"{tmp_path / LEADS_NOWHERE}")
    (tree / ".git").unlink()
    (tree / ".git").write_text(f"gitdir: {LEADS_NOWHERE}\n")
    assert repository_at(f"{tree}") is None
    assert is_unfinished(f"{tree}")
