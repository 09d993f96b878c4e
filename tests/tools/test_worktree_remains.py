"""What git leaves of a worktree that it was stopped at: removed, but never with anybody's work."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest

from podiumd.tools.agent import edit
from podiumd.tools.agent.workspace import Refused, Workspace
from podiumd.tools.git import queries as git
from podiumd.tools.git.nested_repositories import Repositories, RepositoryLook
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


# -- no file of an agent completes a repository, at any level, or lies in one ----------------


HEAD = "ref: refs/heads/main\n"

WAYS = (
    ("HEAD", "objects/x", "refs/x"),
    ("HEAD", "commondir"),
    ("deep/er/HEAD", "deep/er/objects/x", "deep/er/refs/heads/x"),
    ("deep/head", "deep/Objects/x", "deep/refs/x"),
)


@pytest.mark.parametrize("ways", [order for way in WAYS for order in permutations(way)])
def test_the_file_that_would_complete_one_is_refused(tmp_path: Path, ways: tuple[str, ...]) -> None:
    workspace = Workspace(tmp_path)
    *first, last = ways
    # Where case counts, only the last name is looked at so: it may not count elsewhere.
    for name in first:
        exact = name.replace("head", "HEAD") if name.endswith("head") else name
        edit.do_plan(workspace, edit.plan_write(workspace, exact.replace("Obj", "obj"), HEAD))

    with pytest.raises(Refused, match="is laid out as a git repository"):
        edit.plan_write(workspace, last, HEAD)
    with pytest.raises(Refused, match="is laid out as a git repository"):
        workspace.write(last, b"x", before=None)

    assert not (tmp_path / last).exists()


def test_nothing_is_written_in_one_that_is_there(tmp_path: Path) -> None:
    bare = tmp_path / "fixtures/bare.git"
    subprocess.run(["git", "init", "-q", "--bare", f"{bare}"], check=True)
    before = (bare / "config").read_bytes()
    workspace = Workspace(tmp_path)

    for name in ("config", "hooks/post-update", "new"):
        with pytest.raises(Refused, match=r"'fixtures/bare\.git' is laid out as"):
            edit.plan_write(workspace, f"fixtures/bare.git/{name}", "evil")
    line = {"line": 1, "type": "insert", "content": ["[core]"]}
    with pytest.raises(Refused, match="is laid out as"):
        edit.plan_patch(workspace, "fixtures/bare.git/config", [line])

    assert (bare / "config").read_bytes() == before


def test_two_of_the_three_are_names_like_others(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    for name in ("refs/x", "objects/x", "config", "a/HEAD", "a/refs/x", "a/objectsx"):
        edit.do_plan(workspace, edit.plan_write(workspace, name, "x"))
        assert (tmp_path / name).read_text() == "x"


# -- repositories within a tree are found, in bounds -----------------------------------------


def test_they_are_found_in_heaps_hidden_and_deep_ones_too_and_the_root_s_own_is_not(
    tmp_path: Path,
) -> None:
    deep = "/".join("abcdefghij")
    for name in (".", "one", f"far/{deep}", "node_modules/x", "vendor/lib", ".hidden/y"):
        (tmp_path / name / ".git/objects").mkdir(parents=True)
    (tmp_path / "module").mkdir()
    (tmp_path / "module/.git").write_text("gitdir: ../.git/modules/module\n")
    (tmp_path / "led").symlink_to("one")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/.git").symlink_to("../one/.git")

    found = RepositoryLook(tmp_path).look()

    names = [path.relative_to(tmp_path).as_posix() for path in found.gits]
    assert set(names) == {
        *("module/.git", "linked/.git", "one/.git", "node_modules/x/.git", "vendor/lib/.git"),
        *(".hidden/y/.git", f"far/{deep}/.git"),
    }
    assert names[-1] == f"far/{deep}/.git"  # the nearer ones first
    assert found.whole and found.laid_out == ()


def test_a_directory_that_is_laid_out_as_one_is_found(tmp_path: Path) -> None:
    for name in ("bare/objects", "bare/refs", "led", "half/objects"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("bare/HEAD", "led/HEAD", "led/commondir", "half/HEAD"):
        (tmp_path / name).touch()

    found = RepositoryLook(tmp_path).look()

    assert set(found.laid_out) == {tmp_path / "bare", tmp_path / "led"}


def test_what_git_would_wait_at_is_found(tmp_path: Path) -> None:
    """And a file, a directory or a link to one is none of it, until it leads to another."""
    (tmp_path / "sub").mkdir()
    os.mkfifo(tmp_path / "sub/.gitattributes")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".gitmodules").symlink_to("pipe")
    (tmp_path / ".gitignore").symlink_to("sub/later")
    (tmp_path / ".mailmap").write_text("x\n")
    (tmp_path / ".gitattributes").symlink_to("nowhere")
    look = RepositoryLook(tmp_path)

    assert look.look().waiting == (tmp_path / ".gitmodules", tmp_path / "sub/.gitattributes")
    os.mkfifo(tmp_path / "sub/later")
    assert tmp_path / ".gitignore" in look.look().waiting


def test_a_second_look_sees_what_is_new_and_what_is_gone(tmp_path: Path) -> None:
    for name in ("one", "old/deep"):
        (tmp_path / name / ".git").mkdir(parents=True)
    (tmp_path / "plain").mkdir()
    look = RepositoryLook(tmp_path)
    look.look()
    (tmp_path / "one/.git").rmdir()
    (tmp_path / "plain/.git").mkdir()

    assert set(look.look().gits) == {tmp_path / "old/deep/.git", tmp_path / "plain/.git"}


def test_there_is_a_bound_that_is_told_and_a_missing_tree_holds_none(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}/below").mkdir(parents=True)
    (tmp_path / "4/below/.git").mkdir()

    assert RepositoryLook(tmp_path, most=11).look().whole
    assert RepositoryLook(tmp_path, most=8).look() == Repositories(whole=False)
    assert RepositoryLook(tmp_path / "gone").look() == Repositories()
