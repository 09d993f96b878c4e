"""Changes that the index says not to look at are seen all the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podiumd.tools import git, honest_index
from podiumd.tools.changes import TreeWatch
from podiumd.tools.changes_since import changes_since
from podiumd.tools.originals import Originals
from tests.tools.git_repository import HOSTILE, commit, make_repository, run_git
from tests.tools.turn_repository import TEN, Turn

HIDING = [["--assume-unchanged"], ["--skip-worktree"], ["--assume-unchanged", "--skip-worktree"]]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = make_repository(tmp_path / "repo")
    (repo / "deep").mkdir()
    for name in ("kept.txt", "deep/changed.txt", "gone.txt"):
        (repo / name).write_text("as committed\n")
    commit(repo, "first")
    return repo


def hide(repo: Path, options: list[str], *names: str) -> None:
    for option in options:
        run_git(repo, "update-index", option, "--", *names)


@pytest.mark.parametrize("options", HIDING)
async def test_what_the_index_hides_is_uncommitted_and_in_the_diff(
    repo: Path, options: list[str]
) -> None:
    head, digest = await git.head(repo), await git.tree_digest(repo)
    hide(repo, options, "kept.txt", "deep/changed.txt", "gone.txt")
    marks = run_git(repo, "ls-files", "-v")
    assert await git.dirty(repo) == [] and await git.tree_digest(repo) == digest
    (repo / "deep/changed.txt").write_text("hidden\n")
    (repo / "gone.txt").unlink()
    assert run_git(repo, "status", "--porcelain") == ""
    assert sorted(await git.dirty(repo / "deep")) == ["deep/changed.txt", "gone.txt"]
    assert set((await git.uncommitted(repo))[0]) == {"deep/changed.txt", "gone.txt"}
    assert await git.tree_digest(repo) != digest
    told = (await changes_since(f"{repo}", head, head)).uncommitted
    assert [(one.path, one.change) for one in told.files] == [
        ("deep/changed.txt", "modified"),
        ("gone.txt", "deleted"),
    ]
    assert "+hidden" in told.patch
    assert run_git(repo, "ls-files", "-v") == marks  # the repository's own index stays


@pytest.mark.parametrize("options", HIDING)
async def test_a_command_that_hides_what_it_changes_is_seen(
    repo: Path, options: list[str], tmp_path: Path
) -> None:
    watch = TreeWatch(repo / "deep", Originals(tmp_path / "originals"))
    await watch.snapshot()
    before = await watch.snapshot()
    hide(repo, options, "deep/changed.txt")
    (repo / "deep/changed.txt").write_text("hidden\n")
    changes, more = await watch.between(before)
    assert [change.path for change in changes] == ["changed.txt"] and more == 0


async def test_what_a_submodule_hides_is_seen(repo: Path, tmp_path: Path) -> None:
    inner = make_repository(tmp_path / "inner")
    (inner / "a.txt").write_text("a\n")
    commit(inner, "first")
    run_git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", f"{inner}", "inner")
    commit(repo, "with a submodule")
    hide(repo / "inner", ["--skip-worktree"], "a.txt")
    (repo / "inner/a.txt").write_text("hidden\n")
    assert await git.dirty(repo) == ["inner"]


async def test_what_a_sparse_checkout_leaves_out_is_no_change(repo: Path) -> None:
    run_git(repo, "sparse-checkout", "set", "--no-cone", "/kept.txt")
    assert not (repo / "gone.txt").exists()
    assert await git.dirty(repo) == []
    (repo / "gone.txt").write_text("there all the same\n")
    assert await git.dirty(repo) == ["gone.txt"]


async def test_any_name_can_be_hidden(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo")
    names = [os.fsdecode(name) for name in HOSTILE]
    for name in names:
        Path(repo, name).write_text("as committed\n")
    commit(repo, "first")
    hide(repo, ["--skip-worktree"], *names)
    for name in names:
        Path(repo, name).write_text("hidden\n")
    assert sorted(await git.dirty(repo)) == sorted(names)


async def test_an_index_that_cannot_be_copied_is_said(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(repo, ["--skip-worktree"], "kept.txt")
    monkeypatch.setattr(honest_index, "MOST_BYTES", 10)
    with pytest.raises(git.GitError, match="cannot be read"):
        await git.dirty(repo)


@pytest.mark.parametrize("options", HIDING)
async def test_a_commit_takes_what_the_turn_hid(options: list[str], tmp_path: Path) -> None:
    turn = Turn(tmp_path)
    hide(turn.top, options, "a.py")
    turn.change("a.py", TEN + "more\n")
    assert (await turn.commit()).files == (("a.py", "modified"),)
    assert turn.git("show", "HEAD:a.py") == (TEN + "more\n").strip()
    assert await git.dirty(turn.top) == []


async def test_what_stands_in_for_a_commit_hides_nothing(repo: Path) -> None:
    """A replace ref and a graft are read by everybody's git but ours: a push sends the real one."""
    head = run_git(repo, "rev-parse", "HEAD").strip()
    (repo / "gone.txt").write_text("staged, and no part of the commit\n")
    run_git(repo, "add", "gone.txt")
    tree = run_git(repo, "write-tree").strip()
    other = run_git(repo, "commit-tree", tree, "-m", "instead").strip()
    run_git(repo, "replace", head, other)
    assert run_git(repo, "status", "--porcelain") == ""
    assert await git.dirty(repo) == ["gone.txt"]
