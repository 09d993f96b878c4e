"""Looking with git at real repositories: hostile names, surroundings, history."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from podiumd.tools.git import queries as git
from podiumd.tools.git.plumbing import GitCall
from podiumd.tools.git.queries import GitError
from tests.tools.git_repository import HOSTILE, commit, make_repository, run_git


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


async def test_the_top_level_is_a_real_path_and_none_outside_of_any_tree(
    repository: Path, tmp_path: Path
) -> None:
    (repository / "sub").mkdir()
    (tmp_path / "link").symlink_to(repository)
    assert await git.top_level(tmp_path / "link" / "sub") == str(repository)
    assert await git.top_level(str(tmp_path)) is None
    assert await git.top_level(repository / ".git") is None


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_repository_may_have_any_name(tmp_path: Path, name: bytes) -> None:
    path = make_repository(Path(tmp_path, os.fsdecode(name)))
    first = commit(path, "first")
    assert await git.top_level(path) == str(path)
    assert await git.head(path) == first


async def test_a_directory_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(GitError, match=r"rev-parse --show-toplevel failed in .*gone.*cannot chang"):
        await git.top_level(tmp_path / "gone")


async def test_without_git_the_error_says_what_to_do(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match=r"git cannot be run .*: install it, on PATH"):
        await git.head(repository)


async def test_nor_is_there_another_error_where_only_its_beginning_is_wanted(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(GitError, match=r"git cannot be run .*: install it, on PATH"):
        await GitCall(f"{repository}").beginning(10, "rev-parse", "HEAD")


async def test_variables_of_a_surrounding_git_do_not_leak_in(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_repository(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", "/no/such/index")
    assert await git.top_level(repository) == str(repository)
    assert await git.dirty(repository) == []


async def test_head_is_a_commit_or_none_before_the_first(tmp_path: Path) -> None:
    path = make_repository(tmp_path / "new")
    assert await git.head(path) is None
    first = commit(path, "first")
    assert await git.head(path) == first
    run_git(path, "checkout", "--quiet", "--detach")
    assert await git.head(path) == first
    with pytest.raises(GitError, match="not a git repository"):
        await git.head(tmp_path)


async def test_dirty_names_changed_staged_deleted_renamed_and_untracked_paths(
    repository: Path,
) -> None:
    for name in ("b.txt", "c.txt", "d.txt"):
        (repository / name).write_text(name * 100)
    (repository / ".gitignore").write_text("ignored\n")
    commit(repository, "more")
    assert await git.dirty(repository) == []
    (repository / "ignored").touch()
    (repository / "a.txt").write_text("changed")
    (repository / "b.txt").unlink()
    run_git(repository, "mv", "c.txt", "moved.txt")
    (repository / "new").mkdir()
    (repository / "new" / "file").touch()
    found = await git.dirty(repository)
    assert sorted(found) == ["a.txt", "b.txt", "c.txt", "moved.txt", "new/"]


async def test_names_that_are_hostile_come_back_as_they_are(repository: Path) -> None:
    for name in HOSTILE:
        Path(repository, os.fsdecode(name)).touch()
    assert {os.fsencode(name) for name in await git.dirty(repository)} == set(HOSTILE)
    before = await git.tree_digest(repository)
    for name in HOSTILE:
        Path(repository, os.fsdecode(name)).write_text("x")
        after = await git.tree_digest(repository)
        assert after != before
        before = after


async def test_what_is_no_commit_id_never_reaches_git(repository: Path, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    with pytest.raises(ValueError, match="'--all' is no full commit id"):
        await git.remove_worktree(str(repository), missing, "main", "--all", force=False)


async def test_looking_takes_no_lock_of_the_index(repository: Path) -> None:
    (repository / ".git" / "index.lock").touch()
    (repository / "a.txt").write_text("changed")
    assert await git.dirty(repository) == ["a.txt"]
    assert await git.tree_digest(repository) != ""


async def test_a_repository_cannot_make_looking_start_a_program_of_its_own(
    repository: Path, tmp_path: Path
) -> None:
    program = tmp_path / "hook"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path / 'ran'}'\n")
    program.chmod(0o755)
    run_git(repository, "config", "core.fsmonitor", str(program))
    await git.dirty(repository)
    await git.tree_digest(repository)
    assert not (tmp_path / "ran").exists()


async def test_a_cancelled_git_is_ended(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    os.mkfifo(tmp_path / "fifo")
    (programs / "git").write_text(f"#!/bin/sh\necho $$ > '{tmp_path / 'fifo'}'\nexec sleep 1000\n")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(git.head, repository)
        async with await trio.open_file(tmp_path / "fifo") as fifo:
            pid = int(await fifo.readline())
        nursery.cancel_scope.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_listing_is_cut_where_no_more_is_wanted(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        (repository / f"{number}{'x' * 200}").write_text("x\n")

    assert await git.listed_files(repository.parent, 3) is None
    listed = await git.listed_files(repository, 5)
    assert listed is not None
    assert (len(listed[0]), listed[1]) == (5, True)
    listed = await git.listed_files(repository, 4)
    assert listed is not None
    assert (len(listed[0]), listed[1]) == (4, False)
    monkeypatch.setattr(git, "_NAME_BYTES", 100)  # it is cut within a name
    listed = await git.listed_files(repository, 2)
    assert listed is not None
    assert (len(listed[0]), listed[1]) == (1, False)


async def test_what_other_refs_had_is_not_new(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = run_git(repository, "rev-parse", "HEAD")
    run_git(repository, "tag", "merged")
    tips: list[str] = []
    for name in ("one", "two"):
        run_git(repository, "checkout", "--quiet", "-B", name, begun)
        (repository / name).write_text(name)
        tips.append(commit(repository, name))
    run_git(repository, "tag", "-a", "noted", "-m", "noted", tips[0])

    assert set(tips) < set(await git.other_tips(repository, begun))
    assert set(await git.other_tips(repository, None)) >= {begun, *tips}
    assert [await git.commits_since(repository, tip, begun) for tip in tips] == [1, 1]
    assert [await git.commits_since(repository, tip, begun, tips) for tip in tips] == [0, 0]
    gone = "0" * 39 + "1"
    assert await git.commits_since(repository, tips[1], begun, [gone, tips[0]]) == 1
    assert await git.commits_since(repository, tips[1], gone, tips) == 0
    monkeypatch.setattr(git, "MOST_TIPS", 1)
    assert len(await git.other_tips(repository, begun)) == 1
    (repository / ".git/refs/heads/broken").write_text(f"{gone}\n")
    assert len(await git.other_tips(repository, begun)) == 1
    assert await git.other_tips(repository, None) == []
