"""Worktree sessions: a branch and a sibling directory, made whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from podiumd.projects import worktrees
from podiumd.projects.errors import WorktreeRefused
from podiumd.projects.worktrees import Worktrees, branch_name
from podiumd.tools.git.queries import GitError
from podiumd.tools.process.processes import identity_of, wait_gone
from tests.patience import HANG_SECONDS
from tests.tools.git_repository import commit, make_repository, run_git, set_for_person


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = make_repository(tmp_path / "shop")
    (path / "a.txt").write_text("one\n")
    commit(path, "first")
    return path


@pytest.fixture
def maker(tmp_path: Path) -> Worktrees:
    return Worktrees(tmp_path)


def branches(project: Path) -> list[str]:
    return run_git(project, "branch", "--format=%(refname:short)").split()


async def refused(maker: Worktrees, name: str, parent: Path | str) -> str:
    """The reason for programs; the one for people is there too."""
    with pytest.raises(WorktreeRefused) as refusal:
        await maker.create(name, str(parent))
    assert len(str(refusal.value)) > 20
    return refusal.value.error_type


async def test_a_worktree_is_made_beside_the_project_on_a_branch_of_the_name(
    maker: Worktrees, project: Path, tmp_path: Path
) -> None:
    made = await maker.create("Fix the Login!", "~/shop")
    assert made.branch == "fix-the-login"
    assert made.path == str(tmp_path / "shop-fix-the-login")
    assert made.project == str(project)
    assert made.commit == run_git(project, "rev-parse", "HEAD")
    assert run_git(Path(made.path), "symbolic-ref", "HEAD") == "refs/heads/fix-the-login"
    assert Path(made.path, "a.txt").read_text() == "one\n"


async def test_a_directory_inside_the_project_and_a_worktree_of_it_are_parents_too(
    maker: Worktrees, project: Path, tmp_path: Path
) -> None:
    (project / "sub").mkdir()
    first = await maker.create("one", str(project / "sub"))
    assert first.path == str(tmp_path / "shop-one")
    assert (await maker.create("two", first.path)).path == str(tmp_path / "shop-one-two")


@pytest.mark.parametrize(
    ("name", "branch"),
    [
        ("Dark mode", "dark-mode"),
        ("  --force  ", "force"),
        ("-b main", "b-main"),
        ("../../etc", "etc"),
        ("feature/login", "feature-login"),
        ("a..b~c^d:e?f*g[h\\i", "a-b-c-d-e-f-g-h-i"),
        ("don't", "dont"),
        ("Größe ändern", "grosse-andern"),
        ("snake_case_", "snake_case"),
        ("HEAD", "head"),
        ("x.lock", "x-lock"),
        ("@{-1}", "1"),
        ("a\nb\0c", "a-b-c"),
        ("日本語", ""),
        ("...", ""),
        ("", ""),
        ("word " * 40, "-".join(["word"] * 12)),
    ],
)
def test_a_name_becomes_a_branch(name: str, branch: str) -> None:
    assert branch_name(name) == branch


@given(st.text(max_size=200))
def test_any_name_becomes_a_good_branch_or_none(name: str) -> None:
    branch = branch_name(name)
    assert len(branch) <= 60
    assert set(branch) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")
    assert branch.strip("-_") == branch
    assert branch_name(branch) == branch


async def test_what_cannot_be_is_refused_with_its_reason(
    maker: Worktrees, project: Path, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    bare = make_repository(tmp_path / "bare")
    (tmp_path / "shop-taken").symlink_to("nowhere")
    run_git(project, "branch", "used")
    assert await refused(maker, "!!!", project) == "invalid_session_name"
    assert await refused(maker, "a", tmp_path / "missing") == "directory_not_found"
    assert await refused(maker, "a", "shop") == "directory_not_found"
    assert await refused(maker, "a", plain) == "not_a_git_repository"
    assert await refused(maker, "a", bare) == "no_commit"
    assert await refused(maker, "taken", project) == "worktree_path_exists"
    assert await refused(maker, "used", project) == "branch_exists"
    assert branches(project) == ["main", "used"]
    assert {path.name for path in tmp_path.iterdir()} == {"plain", "bare", "shop", "shop-taken"}


def filtered(project: Path, home: Path, smudge: str) -> None:
    """Let each checkout of the project run a filter of the person's own."""
    (project / ".gitattributes").write_text("*.txt filter=own\n")
    commit(project, "filtered")
    set_for_person(home, "filter.own.smudge", smudge)
    set_for_person(home, "filter.own.required", "true")


async def test_a_failure_of_git_leaves_neither_directory_nor_branch(
    maker: Worktrees, project: Path, tmp_path: Path
) -> None:
    filtered(project, tmp_path, "echo not today >&2; exit 1")
    with pytest.raises(WorktreeRefused, match="not today") as refusal:
        await maker.create("work", str(project))
    assert refusal.value.error_type == "git_failed"
    assert branches(project) == ["main"]
    assert not (tmp_path / "shop-work").exists()
    set_for_person(tmp_path, "filter.own.smudge", "cat")
    assert (await maker.create("work", str(project))).branch == "work"


@pytest.mark.parametrize("end", ["cancelled", "too slow"])
async def test_what_is_given_up_in_the_middle_leaves_nothing(
    maker: Worktrees, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    filtered(project, tmp_path, f"echo $$ > {gate}; exec sleep 1000")
    if end == "too slow":
        monkeypatch.setattr(worktrees, "LIMIT_SECONDS", 0.2)
        assert await refused(maker, "work", project) == "git_failed"
    else:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(maker.create, "work", str(project))
            async with await trio.open_file(gate) as reached:
                helper = identity_of(int(await reached.readline()))
            nursery.cancel_scope.cancel()
        assert helper is not None
        with trio.fail_after(HANG_SECONDS):
            await wait_gone(helper)
    assert branches(project) == ["main"]
    assert not (tmp_path / "shop-work").exists()


async def test_of_two_that_want_the_same_name_one_gets_it(maker: Worktrees, project: Path) -> None:
    ends: list[str] = []

    async def one() -> None:
        try:
            ends.append((await maker.create("same", str(project))).branch)
        except WorktreeRefused as refusal:
            ends.append(refusal.error_type)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(one)
    assert sorted(ends) == ["same", "worktree_path_exists", "worktree_path_exists"]


async def test_a_worktree_is_discarded_with_its_branch_but_never_with_work_in_it(
    maker: Worktrees, project: Path
) -> None:
    unused, used, ahead = [
        await maker.create(name, str(project)) for name in ("unused", "used", "ahead")
    ]
    Path(used.path, "work").write_text("mine")
    commit(Path(ahead.path), "my work")
    await maker.discard(unused)
    await maker.discard(unused)
    with pytest.raises(GitError, match="work"):
        await maker.discard(used)
    await maker.discard(ahead)
    assert branches(project) == ["ahead", "main", "used"]
    assert not Path(unused.path).exists()
    assert Path(used.path, "work").read_text() == "mine"
