"""Changes that the index says not to look at are seen all the same."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from podiumd.tools.commit.changes import TreeWatch
from podiumd.tools.commit.originals import Originals
from podiumd.tools.git import honest_index, pinned_settings
from podiumd.tools.git import queries as git
from podiumd.tools.git.changes_since import changes_since
from podiumd.tools.git.process import GitCall
from podiumd.tools.git.queries import GitError
from tests.long import sampled
from tests.tools.forged_index import forge, forge_trees, forge_untracked, stat_of, trees_in
from tests.tools.git_repository import HOSTILE, begun, commit, make_repository, run_git
from tests.tools.turn_repository import TEN, Turn

HIDING = sampled(
    [["--assume-unchanged", "--skip-worktree"], ["--assume-unchanged"], ["--skip-worktree"]]
)


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
    inner = begun(tmp_path / "inner", {"a.txt": "a\n"})
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


async def test_a_sparse_checkout_that_expects_files_hides_none_that_is_there(repo: Path) -> None:
    run_git(repo, "config", "core.sparseCheckout", "true")
    run_git(repo, "config", "sparse.expectFilesOutsideOfPatterns", "true")
    (repo / ".git/info/sparse-checkout").write_text("/*\n")
    hide(repo, ["--skip-worktree"], "kept.txt")
    (repo / "kept.txt").write_text("hidden\n")
    assert run_git(repo, "status", "--porcelain") == ""
    assert await git.dirty(repo) == ["kept.txt"]
    head = await git.head(repo)
    told = (await changes_since(f"{repo}", head, head)).uncommitted
    assert [one.path for one in told.files] == ["kept.txt"]


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


async def test_what_is_written_into_the_index_by_hand_hides_nothing(
    repo: Path, tmp_path: Path
) -> None:
    head, digest = await git.head(repo), await git.tree_digest(repo)
    watch = TreeWatch(repo / "deep", Originals(tmp_path / "originals"))
    before = await watch.snapshot()
    (repo / "deep/changed.txt").write_text("hidden\n")
    long_ago(repo / "deep/changed.txt")
    forge(repo, "deep/changed.txt")
    assert run_git(repo, "status", "--porcelain") == ""

    assert await git.dirty(repo) == await git.dirty(repo / "deep") == ["deep/changed.txt"]
    assert await git.tree_digest(repo) != digest
    told = (await changes_since(f"{repo}", head, head)).uncommitted
    assert [one.path for one in told.files] == ["deep/changed.txt"] and "+hidden" in told.patch
    changes, _ = await watch.between(before)
    assert [change.path for change in changes] == ["changed.txt"]
    assert run_git(repo, "status", "--porcelain") == ""  # the repository's own index stays


async def test_what_may_have_changed_in_the_moment_of_the_index_is_read_in_a_copy_too(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(honest_index, "_SETTLED_NS", 0)
    run_git(repo, "config", "core.trustctime", "false")
    long_ago(repo / "kept.txt")
    hide(repo, ["--assume-unchanged"], "gone.txt")  # so that a copy is made
    run_git(repo, "update-index", "--refresh")
    (repo / "kept.txt").write_text("AS COMMITTED\n")
    long_ago(repo / "kept.txt", repo / ".git/index")
    assert await git.dirty(repo) == ["kept.txt"]


async def test_a_filter_that_is_not_run_does_not_end_a_look_in_the_moment_of_a_change(
    repo: Path,
) -> None:
    (repo / ".gitattributes").write_text("kept.txt filter=x\n")
    commit(repo, "second")
    hide(repo, ["--assume-unchanged"], "gone.txt")
    run_git(repo, "config", "filter.x.clean", "false")
    long_ago(repo / "kept.txt")
    run_git(repo, "-c", "filter.x.clean=cat", "update-index", "--refresh")
    long_ago(repo / ".git/index")
    assert await git.dirty(repo) == []


async def test_whoever_makes_many_repositories_has_no_first_look_anew(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(honest_index, "_SETTLED_NS", 0)
    monkeypatch.setattr(honest_index, "MOST_KNOWN", 1)
    monkeypatch.setattr(honest_index, "_TREES", honest_index._Trees())
    assert await git.dirty(repo) == []
    (repo / "kept.txt").write_text("hidden\n")
    long_ago(repo / "kept.txt")
    forge(repo, "kept.txt")
    for name in ("one", "two"):
        await git.dirty(make_repository(tmp_path / name))
    assert await git.dirty(repo) == ["kept.txt"]


async def test_what_is_written_by_hand_into_the_other_file_of_a_split_index_hides_nothing(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first file stays as it was."""
    for module in (honest_index, pinned_settings):
        monkeypatch.setattr(module, "_SETTLED_NS", 0)
    long_ago(repo / "kept.txt")
    run_git(repo, "update-index", "--refresh")  # else it is taken over into the first
    run_git(repo, "update-index", "--split-index")
    [shared] = (repo / ".git").glob("sharedindex.*")
    watch = TreeWatch(repo, Originals(tmp_path / "originals"))
    before = await watch.snapshot()
    assert await git.dirty(repo) == []
    (repo / "kept.txt").write_text("hidden\n")
    long_ago(repo / "kept.txt")
    forge(repo, "kept.txt", index=shared)
    assert run_git(repo, "--no-optional-locks", "status", "--porcelain") == ""
    assert await git.dirty(repo) == ["kept.txt"]
    changes, _ = await watch.between(before)
    assert [change.path for change in changes] == ["kept.txt"]


async def test_a_cache_of_untracked_files_that_is_written_by_hand_hides_none(repo: Path) -> None:
    run_git(repo, "update-index", "--untracked-cache")
    long_ago(repo / "deep")
    run_git(repo, "status")
    was = stat_of(repo / "deep")
    (repo / "deep/new.txt").write_text("new\n")
    long_ago(repo / "deep")
    forge_untracked(repo, was, repo / "deep")
    assert run_git(repo, "status", "--porcelain") == ""
    assert await git.dirty(repo) == ["deep/new.txt"]


FORMS = sampled(
    [
        ["update-index", "--split-index"],
        ["update-index", "--refresh"],
        ["update-index", "--index-version", "4"],
        ["config", "index.recordEndOfIndexEntries", "true"],
    ]
)


@pytest.mark.parametrize("form", FORMS)
async def test_trees_that_are_told_by_hand_hide_nothing_that_is_staged(
    repo: Path, form: list[str], tmp_path: Path
) -> None:
    run_git(repo, "read-tree", "HEAD")
    run_git(repo, *form)
    head, digest = await git.head(repo), await git.tree_digest(repo)
    watch = TreeWatch(repo / "deep", Originals(tmp_path / "originals"))
    before = await watch.snapshot()
    (repo / "deep/changed.txt").write_text("staged\n")
    forge_trees(repo, "deep/changed.txt")
    for asked in (["status", "--porcelain"], ["diff", "--stat", "HEAD"], ["diff", "--cached"]):
        assert run_git(repo, "--no-optional-locks", *asked) == ""

    assert await git.dirty(repo) == await git.dirty(repo / "deep") == ["deep/changed.txt"]
    assert await git.dirty(repo) == ["deep/changed.txt"]  # what was found holds
    assert (await git.uncommitted(repo))[0].keys() == {"deep/changed.txt"}
    assert await git.tree_digest(repo) != digest
    told = (await changes_since(f"{repo}", head, head)).uncommitted
    assert [one.path for one in told.files] == ["deep/changed.txt"] and "+staged" in told.patch
    changes, _ = await watch.between(before)
    assert [change.path for change in changes] == ["changed.txt"]
    assert run_git(repo, "--no-optional-locks", "status", "--porcelain") == ""  # it stays


async def test_a_directory_that_is_staged_as_gone_is_not_hidden_either(repo: Path) -> None:
    run_git(repo, "read-tree", "HEAD")
    said = trees_in(repo / ".git/index")
    run_git(repo, "rm", "--quiet", "-r", "--cached", "deep")
    (repo / "deep/changed.txt").unlink()
    index = repo / ".git/index"
    data = index.read_bytes()[:-20].replace(trees_in(index), said)
    index.write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())
    assert await git.dirty(repo) == ["deep/changed.txt"]


async def test_trees_of_a_commit_that_comes_later_hide_nothing_from_then_on(repo: Path) -> None:
    first = run_git(repo, "rev-parse", "HEAD")
    (repo / "deep/changed.txt").write_text("second\n")
    second = commit(repo, "second")
    run_git(repo, "reset", "--quiet", "--soft", first)
    (repo / "deep/changed.txt").write_text("staged\n")
    forge_trees(repo, "deep/changed.txt")  # those of the second
    assert await git.dirty(repo) == ["deep/changed.txt"]
    run_git(repo, "update-ref", "HEAD", second)
    assert run_git(repo, "--no-optional-locks", "status", "--porcelain") == ""
    assert await git.dirty(repo) == ["deep/changed.txt"]


async def test_an_index_that_tells_of_its_trees_as_they_are_is_not_copied(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(honest_index, "without_trees", None)
    for letter in ("deep/er/x", "deep.txt", "deep-er/x", "z"):
        (repo / letter).parent.mkdir(exist_ok=True)
        (repo / letter).write_text("new\n")
    commit(repo, "second")
    run_git(repo, "read-tree", "HEAD")
    assert await git.dirty(repo) == []
    run_git(repo, "rm", "--quiet", "-r", "--cached", "deep")
    (repo / "intended").write_text("intended\n")
    run_git(repo, "add", "--intent-to-add", "intended")
    assert "intended" in await git.dirty(repo)


async def test_what_was_found_to_be_honest_is_not_asked_again(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (honest_index, pinned_settings):
        monkeypatch.setattr(module, "_SETTLED_NS", 0)
    assert await git.dirty(repo) == []
    (repo / "kept.txt").write_text("anew\n")
    (repo / "gone.txt").write_text("anew too\n")
    long_ago(repo / "kept.txt", repo / "gone.txt")
    commit(repo, "second")
    asked: list[str] = []
    real = GitCall.out

    async def out(self: GitCall, *arguments: str, stdin: bytes = b"") -> bytes:
        asked.append(f"{arguments[0]} {stdin.count(0)}")
        return await real(self, *arguments, stdin=stdin)

    monkeypatch.setattr(GitCall, "out", out)
    assert await git.dirty(repo) == [] and "update-index 2" in asked
    asked.clear()
    assert await git.dirty(repo) == [] and asked == []

    (repo / "deep/changed.txt").write_text("anew as well\n")
    long_ago(repo / "deep/changed.txt")
    commit(repo, "third")
    async with honest_index.honest_index(GitCall(f"{repo}/deep")):
        assert "update-index 1" in asked
    asked.clear()
    async with honest_index.honest_index(GitCall(f"{repo}")):  # what is elsewhere is known still
        assert asked == ["ls-files 0"]

    (repo / "kept.txt").write_text("hidden\n")
    long_ago(repo / "kept.txt")
    forge(repo, "kept.txt")
    assert await git.dirty(repo) == ["kept.txt"] and "update-index 1" in asked


async def test_a_file_that_goes_through_a_filter_of_the_repository_is_not_taken_for_changed(
    repo: Path,
) -> None:
    """None of those is run for a look, so its content says nothing."""
    (repo / ".gitattributes").write_text("deep/* filter=x\ngone.txt -filter\n")
    assert await git.dirty(repo / "deep") == [".gitattributes"]
    run_git(repo, "config", "filter.x.clean", "tr a-z A-Z")
    for name in ("deep/changed.txt", "gone.txt"):
        (repo / name).write_text("anew\n")
        long_ago(repo / name)
    commit(repo, "second")
    assert await git.dirty(repo) == await git.dirty(repo / "deep") == []


async def test_a_tree_elsewhere_hides_nothing(repo: Path, tmp_path: Path) -> None:
    shutil.copytree(repo, tmp_path / "elsewhere")
    watch = TreeWatch(repo, Originals(tmp_path / "originals"))
    before = await watch.snapshot()
    (repo / "kept.txt").write_text("hidden\n")
    run_git(repo, "config", "core.worktree", f"{tmp_path}/elsewhere")
    said = "say that its files are in '.*/elsewhere'"

    with pytest.raises(GitError, match=said):
        await git.dirty(repo)
    with pytest.raises(GitError, match=said):
        await changes_since(f"{repo}", None, None)
    assert await watch.between(before) == ((), 0) and "core.worktree" in watch.trouble
    run_git(repo, "config", "core.worktree", f"{repo}")
    assert await git.dirty(repo) == ["kept.txt"]


def long_ago(*paths: Path) -> None:
    """A time of change that anybody can set: git takes an entry that is as new as the index for one
    that may have changed in the same moment, and looks."""
    for path in paths:
        os.utime(path, (10**9, 10**9))
