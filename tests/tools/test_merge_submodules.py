"""A merge looks into submodules with what their settings name: those that name programs are left
to the person."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from podiumd.tools.commit.worktree_merge import NotMerged, prepare
from tests.long import sampled

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")


def git(where: Path, *words: str) -> None:
    subprocess.run([*GIT, *words], cwd=where, check=True, capture_output=True)


@pytest.fixture
def outer(tmp_path: Path) -> Path:
    """A repository with a submodule, and a branch of its own that can be merged."""
    for name in ("inner", "outer"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q", "-b", "main")
        git(tmp_path / name, "commit", "-q", "--allow-empty", "-m", "Begin")
    outer = tmp_path / "outer"
    git(outer, "submodule", "add", "-q", str(tmp_path / "inner"), "inner")
    git(outer, "commit", "-qam", "A submodule")
    git(outer, "checkout", "-qb", "work")
    (outer / "new.txt").write_text("new")
    git(outer, "add", "new.txt")
    git(outer, "commit", "-qm", "Work")
    git(outer, "checkout", "-q", "main")
    return outer


async def test_a_submodule_that_names_nothing_is_no_hindrance(outer: Path) -> None:
    assert not (await prepare(str(outer), "work")).contained


@pytest.mark.parametrize("setting", sampled(["merge.x.driver", "filter.x.clean"]))
async def test_a_submodule_that_names_a_program_leaves_the_merge_to_the_person(
    outer: Path, setting: str
) -> None:
    git(outer / "inner", "config", setting, "true")
    with pytest.raises(NotMerged, match=rf"inner' names programs .*{setting}.* yourself"):
        await prepare(str(outer), "work")
