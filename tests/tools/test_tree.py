"""The digest of a working tree: what changes it and what does not."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from podiumd.core.decide.claims import same_content
from podiumd.tools.git import content_digest
from podiumd.tools.git import queries as git
from tests.patience import HANG_SECONDS
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
    inner = make_repository(repository / "inner")
    (inner / "file").write_text("1\n")
    (inner / ".gitattributes").write_text("file filter=planted\n")
    commit(inner, "first")
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
