"""The top of a working tree is remembered: what is told is what git would say if it were asked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from podiumd.tools.git import known_tops, pinned_settings
from podiumd.tools.git import queries as git
from podiumd.tools.git.known_tops import Tops
from podiumd.tools.git.queries import GitError
from tests.tools.git_repository import begun, commit, make_repository, run_git


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directories of which git is asked for their top; all counts as settled."""
    monkeypatch.setattr(pinned_settings, "_SETTLED_NS", 0)
    monkeypatch.setattr(git, "_TOPS", Tops())
    places: list[str] = []
    real = git._asked_top

    async def ask(path: str) -> str | None:
        places.append(path)
        return await real(path)

    monkeypatch.setattr(git, "_asked_top", ask)
    return places


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return begun(tmp_path / "repository", {"sub/a.txt": "one\n"})


async def told(path: Path) -> str | None:
    try:
        return await git.top_level(path)
    except GitError as error:
        return f"refused: {error}"


async def test_git_is_asked_once_while_agents_work_there(
    repository: Path, asked: list[str]
) -> None:
    assert await git.top_level(repository) == f"{repository}"
    (repository / "sub/a.txt").write_text("two\n")
    commit(repository, "second")
    run_git(repository, "branch", "other")
    run_git(repository, "gc", "--quiet")
    assert await git.top_level(repository) == f"{repository}"
    assert asked == [f"{repository}"]
    for _ in range(2):  # git goes up from there, past whatever may stand in between
        assert await git.top_level(repository / "sub") == f"{repository}"
    assert asked.count(f"{repository}/sub") == 2


async def test_one_of_a_worktree_or_a_submodule_is_remembered_as_well(
    repository: Path, asked: list[str]
) -> None:
    run_git(repository, "worktree", "add", "-q", "../side")
    add = ("-c", "protocol.file.allow=always", "submodule", "add", "-q")
    run_git(repository, *add, f"{repository}", "inner")
    for there in (repository.parent / "side", repository / "inner"):
        for _ in range(2):
            assert await git.top_level(there) == f"{there}"
        assert asked.count(f"{there}") == 1


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def elsewhere(repo: Path) -> None:
    shutil.copytree(repo / "sub", repo.parent / "elsewhere")
    append(repo / ".git/config", f"[core]\n\tworktree = {repo.parent}/elsewhere\n")


def elsewhere_alone(repo: Path) -> None:
    run_git(repo, "config", "extensions.worktreeConfig", "true")
    (repo / ".git/config.worktree").write_text("[core]\n\tworktree = sub\n")


def without_objects(repo: Path) -> None:
    (repo / ".git/objects").rename(repo / ".git/gone")


def a_file_instead(repo: Path) -> None:
    (repo / ".git").rename(repo / "moved")
    (repo / ".git").write_text("gitdir: moved\n")


def another_in_its_place(repo: Path) -> None:
    shutil.move(f"{repo}", f"{repo.parent}/away")
    repo.mkdir()


def a_link_instead(repo: Path) -> None:
    (repo / ".git").rename(repo.parent / "moved")
    (repo / ".git").symlink_to("../moved")


def objects_that_are_a_file(repo: Path) -> None:
    without_objects(repo)
    append(repo / ".git/objects", "")


def a_file_that_leads_nowhere(repo: Path) -> None:
    a_file_instead(repo)
    (repo / ".git").write_text("gitdir: gone\n")


def somebody_s(repo: Path) -> None:
    os.chown(repo / ".git", 12345, 12345)


def somebody_s_tree(repo: Path) -> None:
    os.chown(repo, 12345, 12345)


CHANGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda repo: None,
    "a tree elsewhere": elsewhere,
    "a tree elsewhere, for this worktree alone": elsewhere_alone,
    "no tree": lambda repo: append(repo / ".git/config", "[core]\n\tbare = true\n"),
    "settings that are none": lambda repo: append(repo / ".git/config", "[core\n"),
    "a format of tomorrow": lambda repo: append(
        repo / ".git/config", "[core]\n\trepositoryformatversion = 99\n"
    ),
    "no HEAD": lambda repo: (repo / ".git/HEAD").unlink(),
    "a HEAD that is none": lambda repo: (repo / ".git/HEAD").write_text("nothing\n"),
    "another branch": lambda repo: run_git(repo, "checkout", "-q", "-b", "other"),
    "no objects": without_objects,
    "objects that are a file": objects_that_are_a_file,
    "no refs": lambda repo: shutil.rmtree(repo / ".git/refs"),
    "no repository": lambda repo: shutil.rmtree(repo / ".git"),
    "a file that leads to it": a_file_instead,
    "a file that leads nowhere": a_file_that_leads_nowhere,
    "a link to it": a_link_instead,
    "a directory without one": another_in_its_place,
    "a common directory elsewhere": lambda repo: (repo / ".git/commondir").write_text("../gone\n"),
    "somebody else's repository": somebody_s,
    "somebody else's tree": somebody_s_tree,
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
async def test_what_is_told_after_a_change_is_what_git_says(
    repository: Path, asked: list[str], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if what.startswith("somebody") and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    monkeypatch.setenv("HOME", f"{repository.parent}")
    assert await told(repository) == f"{repository}"
    CHANGES[what](repository)

    then = await told(repository)
    monkeypatch.setattr(git, "_TOPS", Tops())
    assert then == await told(repository)
    assert (then == f"{repository}") == (
        what in ("nothing", "another branch", "a file that leads to it", "a link to it")
    )


async def test_what_changed_just_now_is_asked_again(
    repository: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within one tick of the clock it may change twice, and look the same."""
    monkeypatch.setattr(pinned_settings, "_SETTLED_NS", 3_600_000_000_000)
    for _ in range(2):
        assert await git.top_level(repository) == f"{repository}"
    assert asked == [f"{repository}"] * 2


async def test_no_more_are_remembered_than_have_room(
    repository: Path, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_tops, "MOST_KNOWN", 1)
    other = make_repository(tmp_path / "other")
    for path in (repository, other, other, repository):
        assert await git.top_level(path) == f"{path}"
    assert asked == [f"{repository}", f"{other}", f"{repository}"]


async def test_what_is_remembered_is_no_way_past_the_look_at_what_a_git_waits_at(
    repository: Path, asked: list[str]
) -> None:
    before = await git.tree_mark(repository)
    os.mkfifo(repository / ".gitignore")
    with pytest.raises(GitError, match="would wait for ever"):
        await git.tree_mark(repository)
    (repository / ".gitignore").unlink()
    assert await git.tree_mark(repository) == before
    run_git(repository, "config", "include.path", "../pipe")
    os.mkfifo(repository / "pipe")
    with pytest.raises(GitError, match="would wait for ever"):
        await git.tree_mark(repository)
