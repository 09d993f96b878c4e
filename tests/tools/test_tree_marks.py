"""The mark of a working tree, taken at each turn's end: what it tells, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podiumd.tools.git import honest_index, pinned_settings, process
from podiumd.tools.git import queries as git
from tests.in_threads import in_threads
from tests.tools.git_repository import commit, make_repository, run_git


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Whose files count as settled from the moment on when they are written."""
    for module in (pinned_settings, honest_index):
        monkeypatch.setattr(module, "_SETTLED_NS", 0)
    path = make_repository(tmp_path / "repository")
    (path / "a.txt").write_text("one\n")
    (path / "b.txt").write_text("one\n")
    commit(path, "first")
    return path


@pytest.fixture
def gits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What each git was asked that is started."""
    asked: list[str] = []
    real = process._run

    async def run(command: list[str], environment: Mapping[str, str], *more: Any) -> process.Result:
        asked.append(process.asked_of(command).partition(" ")[0])
        return await real(command, environment, *more)

    monkeypatch.setattr(process, "_run", run)
    return asked


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done in other threads."""
    return in_threads(monkeypatch)


async def test_a_mark_is_the_commit_and_a_digest_of_all_that_differs(repository: Path) -> None:
    first = await git.tree_mark(repository)
    assert first is not None
    assert first == (await git.head(repository), await git.tree_digest(repository))
    (repository / "a.txt").write_text("two\n")
    second = await git.tree_mark(repository)
    assert second is not None and second[0] == first[0] and second[1] != first[1]
    (repository / "a.txt").write_text("one\n")
    assert await git.tree_mark(repository) == first


async def test_before_the_first_commit_there_is_a_digest_alone(
    tmp_path: Path, repository: Path
) -> None:
    empty = make_repository(tmp_path / "empty")
    mark = await git.tree_mark(empty)
    assert mark is not None and mark[0] is None and mark[1]
    assert await git.tree_mark(tmp_path) is None and await git.tree_digest(tmp_path) == ""
    run_git(repository, "checkout", "--quiet", "--detach")
    detached = await git.tree_mark(repository)
    assert detached is not None and detached[0] == await git.head(repository)


async def test_what_git_says_of_the_branch_and_the_stash_is_no_part_of_it(
    repository: Path,
) -> None:
    mark = await git.tree_mark(repository)
    run_git(repository, "config", "status.showStash", "true")
    (repository / "a.txt").write_text("put by\n")
    run_git(repository, "stash")
    run_git(repository, "checkout", "--quiet", "-b", "other", "--track")
    assert await git.tree_mark(repository) == mark
    assert await git.uncommitted(repository) == ({}, 0)


async def test_a_mark_takes_one_git_and_another_where_the_index_has_changed(
    repository: Path, gits: list[str]
) -> None:
    await git.tree_mark(repository)
    gits.clear()
    (repository / "new.txt").write_text("new\n")
    await git.tree_mark(repository)
    assert gits == ["status"]
    gits.clear()
    run_git(repository, "rm", "--quiet", "--cached", "b.txt")
    await git.tree_mark(repository)
    assert gits == ["ls-files", "status"]


async def test_a_mark_takes_one_thread_beside_that_of_its_git_and_another_for_what_differs(
    repository: Path, threads: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pins = pinned_settings.Pins()
    pins.keep_in(tmp_path / "pins")  # as the daemon has them
    monkeypatch.setattr(process, "PINS", pins)
    await git.tree_mark(repository)
    threads.clear()
    await git.tree_mark(repository)
    assert threads == ["_recalled", "program"]
    threads.clear()
    (repository / "new.txt").write_text("new\n")
    await git.tree_mark(repository)
    assert threads == ["_recalled", "program", "digest"]


async def test_what_has_changed_and_is_in_the_index_is_read_once(
    repository: Path, gits: list[str]
) -> None:
    """Whoever may write the index by hand may say of it what they like."""
    await git.tree_mark(repository)
    (repository / "new.txt").write_text("new\n")
    run_git(repository, "add", "new.txt")
    gits.clear()
    await git.tree_mark(repository)
    reading = ["check-attr", "rev-parse", "update-index", "diff"]
    assert gits == ["ls-files", *reading, "status"]
    gits.clear()
    await git.tree_mark(repository)
    assert gits == ["status"]


async def test_an_index_that_was_written_just_now_is_listed_again(
    repository: Path, gits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within one tick of the clock it may be written twice, and look the same."""
    await git.tree_mark(repository)
    monkeypatch.setattr(pinned_settings, "_SETTLED_NS", 3_600_000_000_000)
    run_git(repository, "update-index", "--force-write-index", "--add", "a.txt")
    for _ in range(2):
        gits.clear()
        await git.tree_mark(repository)
        assert "ls-files" in gits


async def test_what_the_index_hides_after_it_was_known_is_seen(
    repository: Path, gits: list[str]
) -> None:
    before = await git.tree_mark(repository)
    run_git(repository, "update-index", "--assume-unchanged", "b.txt")
    (repository / "b.txt").write_text("hidden\n")
    for _ in range(2):  # one that hides is never remembered
        gits.clear()
        assert await git.tree_mark(repository) != before
        assert "ls-files" in gits


async def test_no_more_indexes_are_remembered_than_have_room(
    tmp_path: Path, repository: Path, gits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(honest_index, "MOST_KNOWN", 1)
    monkeypatch.setattr(honest_index, "_LISTED", {})
    await git.tree_mark(repository)
    await git.tree_mark(make_repository(tmp_path / "another"))
    gits.clear()
    await git.tree_mark(repository)
    assert gits == ["ls-files", "status"]
