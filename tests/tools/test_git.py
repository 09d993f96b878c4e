"""Looking with git at real repositories: hostile names, surroundings, history."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from podiumd.core.decide.claims import same_content
from podiumd.tools.git import content_digest
from podiumd.tools.git import queries as git
from podiumd.tools.git.process import GitCall
from podiumd.tools.git.queries import GitError
from tests.long import spread
from tests.patience import HANG_SECONDS
from tests.tools.git_repository import HOSTILE, begun, commit, make_repository, run_git

pytestmark = pytest.mark.usefixtures("home")


async def test_the_top_level_is_a_real_path_and_none_outside_of_any_tree(
    repository: Path, tmp_path: Path
) -> None:
    (repository / "sub").mkdir()
    (tmp_path / "link").symlink_to(repository)
    assert await git.top_level(tmp_path / "link" / "sub") == str(repository)
    assert await git.top_level(str(tmp_path)) is None
    assert await git.top_level(repository / ".git") is None


@pytest.mark.parametrize("name", spread(HOSTILE, 3))
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
    for look in (git.head(repository), GitCall(f"{repository}").beginning(10, "rev-parse", "HEAD")):
        with pytest.raises(GitError, match=r"git cannot be run .*: install it, on PATH"):
            await look


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN])
async def test_where_there_is_no_room_to_start_git_nothing_is_to_be_installed(
    repository: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("podiumd.tools.git.process.Program", full)
    with pytest.raises(GitError, match=r"git cannot be run \(.*\): try again when less is running"):
        await git.head(repository)


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


# -- worktrees: made once, adopted after a crash, never at the cost of other things ----------


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


# -- the digest of a working tree: what changes it and what does not -------------------------


async def test_the_digest_sees_every_kind_of_change_and_its_undoing(repository: Path) -> None:
    clean = await git.tree_digest(repository)
    seen = {clean}

    async def changed() -> bool:
        digest = await git.tree_digest(repository)
        fresh = digest not in seen
        seen.add(digest)
        return fresh

    file = repository / "a.txt"
    file.write_text("two\n")
    assert await changed()
    file.write_text("thr\n")  # of the same length
    assert await changed()
    run_git(repository, "add", "a.txt")
    assert await changed()
    file.chmod(0o755)
    assert await changed()
    (repository / "new").mkdir()
    (repository / "new" / "deep").write_text("1")
    assert await changed()
    (repository / "new" / "deep").write_text("2")
    assert await changed()
    (repository / "link").symlink_to("a")
    assert await changed()
    (repository / "link").unlink()
    (repository / "link").symlink_to("b")
    assert await changed()
    os.mkfifo(repository / "fifo")
    assert not await changed(), "git does not see a pipe, and it is no content"
    file.unlink()
    assert await changed()
    commit(repository, "second")
    assert await changed()
    run_git(repository, "reset", "--quiet", "--hard", "HEAD~1")
    assert await git.tree_digest(repository) == clean


async def test_the_digest_ignores_times_and_ignored_files(repository: Path) -> None:
    (repository / ".gitignore").write_text("ignored\n")
    (repository / "a.txt").write_text("changed")
    before = await git.tree_digest(repository)
    (repository / "ignored").touch()
    os.utime(repository / "a.txt", (1, 1))
    os.utime(repository / ".gitignore", (1, 1))
    assert await git.tree_digest(repository / ".") == before


async def test_the_digest_sees_into_nested_repositories_up_to_a_depth(repository: Path) -> None:
    path = repository
    for _ in range(5):
        path = make_repository(path / "nested")
        commit(path, "first")
    (repository / "nested" / "file").write_text("1")
    before = await git.tree_digest(repository)
    (repository / "nested" / "file").write_text("2")
    assert await git.tree_digest(repository) != before


async def test_the_digest_of_a_conflict_sees_its_resolution(repository: Path) -> None:
    run_git(repository, "checkout", "--quiet", "-b", "side")
    (repository / "a.txt").write_text("side\n")
    commit(repository, "side")
    run_git(repository, "checkout", "--quiet", "main")
    (repository / "a.txt").write_text("main\n")
    commit(repository, "main")
    with pytest.raises(subprocess.CalledProcessError):
        run_git(repository, "merge", "side")
    assert await git.dirty(repository) == ["a.txt"]
    before = await git.tree_digest(repository)
    (repository / "a.txt").write_text("both\n")
    assert await git.tree_digest(repository) != before


async def test_the_digest_is_empty_outside_git(tmp_path: Path) -> None:
    assert await git.tree_digest(tmp_path) == ""


async def test_content_beyond_the_bound_is_told_by_size_and_time(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_digest, "MAX_CONTENT_BYTES", 10)
    large = repository / "large"
    large.write_text("a" * 11)
    os.utime(large, (1, 1))
    before = await git.tree_digest(repository)
    large.write_text("b" * 11)
    os.utime(large, (1, 1))
    assert await git.tree_digest(repository) == before
    os.utime(large, (2, 2))
    assert await git.tree_digest(repository) != before


def test_a_file_that_is_gone_counts_as_that(tmp_path: Path) -> None:
    gone = content_digest.digest(str(tmp_path), b"", [b"a"])
    (tmp_path / "a").touch()
    assert content_digest.digest(str(tmp_path), b"", [b"a"]) != gone


async def test_what_a_nested_repository_names_is_not_run_and_its_changes_count(
    repository: Path,
) -> None:
    inner = begun(repository / "inner", {"file": "1\n", ".gitattributes": "file filter=planted\n"})
    trace = repository.parent / "trace"
    run_git(inner, "config", "filter.planted.clean", f"touch '{trace}'; cat")
    run_git(repository, "add", "inner")  # as a submodule is: by its commit
    commit(repository, "with the inner one")
    (inner / "file").write_text("2\n")
    trace.unlink(missing_ok=True)

    clean = await git.tree_digest(repository)
    (inner / "file").write_text("3\n")

    assert await git.dirty(repository) == ["inner"]
    assert await git.tree_digest(repository) != clean
    assert not trace.exists()


def test_all_files_share_one_room_for_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_digest, "MAX_CONTENT_BYTES", 100)
    names = [b"%02d" % number for number in range(24)]
    for name in names:
        (tmp_path / os.fsdecode(name)).write_text("x" * 40)
    pieces: list[None] = []

    found = content_digest.digests(str(tmp_path), names, lambda: pieces.append(None))

    assert [name for name in names if not found[name].startswith(" ")] == names[:2]
    assert len(pieces) == len(names) + 2, "before each file, and after each piece of two"


@pytest.mark.parametrize("read", [0, 100])
def test_an_unchanged_file_is_the_same_whichever_look_had_room_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: int
) -> None:
    file = tmp_path / "file"
    file.write_text("as it was")
    before = content_digest.digests(str(tmp_path), [b"file"])[b"file"]
    monkeypatch.setattr(content_digest, "MAX_CONTENT_BYTES", read)
    assert same_content(before, content_digest.digests(str(tmp_path), [b"file"])[b"file"])
    file.write_text("otherwise")
    os.utime(file, (1, 1))
    assert not same_content(before, content_digest.digests(str(tmp_path), [b"file"])[b"file"])


def test_reading_ends_between_two_pieces_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_digest, "_PIECE", 1)
    (tmp_path / "file").write_text("x" * 1000)
    asked: list[None] = []

    def go_on() -> None:
        asked.append(None)
        if len(asked) == 3:
            raise trio.TooSlowError

    with pytest.raises(trio.TooSlowError):
        content_digest.digests(str(tmp_path), [b"file"], go_on)
    assert len(asked) == 3


@pytest.mark.parametrize("look", [git.uncommitted, git.tree_digest])
async def test_a_look_that_is_given_up_reads_no_further(
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    look: Callable[[Path], Awaitable[object]],
) -> None:
    for number in range(5):
        (repository / f"{number}.txt").write_text("new")
    read: list[Path] = []
    over = threading.Event()

    def reading(path: Path, size: int, go_on: Callable[[], None]) -> bytes:
        read.append(path)
        trio.from_thread.run_sync(scope.cancel)
        try:
            while True:  # as a file without end
                go_on()
        finally:
            over.set()

    monkeypatch.setattr(content_digest, "_content", reading)
    with trio.CancelScope() as scope:
        await look(repository)

    assert scope.cancelled_caught
    assert await trio.to_thread.run_sync(over.wait, HANG_SECONDS)
    assert len(read) == 1
