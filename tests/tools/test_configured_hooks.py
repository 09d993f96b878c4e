"""Git from 2.54 on runs hooks that settings name when refs or an index are written; ours does not.

The git here is an older one, behind a program that runs such hooks where that release would.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from podiumd.tools.git import queries as git
from podiumd.tools.git.plumbing import GitCall
from podiumd.tools.git.worktree_remains import forget_branch
from tests.long import sampled
from tests.tools.git_repository import commit, make_repository, run_git

NEWER = """#!{python}
import os, subprocess, sys

words = sys.argv[1:]
start = 0
while start < len(words) and words[start] in ("-C", "-c"):
    start += 2
asked = words[start : start + 2]
tables = {{
    "reference-transaction": ["update-ref", "symbolic-ref", "branch", "worktree", "commit"],
    "post-index-change": ["read-tree", "update-index", "write-tree", "add", "reset"],
    "post-checkout": ["worktree", "checkout"],
}}


def settings(pattern):
    command = [{git!r}, *words[:start], "config", "--get-regexp", pattern]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return [line.partition(" ")[::2] for line in said.splitlines()]


LOOKS = (["worktree", "unlock"], ["symbolic-ref", "--quiet"])
if asked[0] != "config" and asked not in LOOKS:
    for key, event in settings("^hook[.].*[.]event$"):
        name = key[len("hook."):-len(".event")]
        of_hook = dict(settings("^hook[.]" + name + "[.](command|enabled)$"))
        off = of_hook.get("hook." + name + ".enabled") == "false"
        if asked[0] in tables.get(event, []) and not off:
            subprocess.run(["sh", "-c", of_hook["hook." + name + ".command"]], check=True)
os.execv({git!r}, [{git!r}, *words])
"""


@pytest.fixture(autouse=True)
def _newer_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    programs = tmp_path / "programs"
    programs.mkdir()
    newer = programs / "git"
    newer.write_text(NEWER.format(python=sys.executable, git=shutil.which("git")))
    newer.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """What a hook that runs leaves."""
    return tmp_path / "a hook ran"


@pytest.fixture
def repository(tmp_path: Path, trace: Path) -> Path:
    """One whose settings name a hook for all that may happen, in a file that they include."""
    path = make_repository(tmp_path / "repository")
    (path / "a.txt").write_text("one\n")
    commit(path, "first")
    run_git(path, "branch", "old")
    lines = "".join(
        f"[hook \"{event}\"]\n\tevent = {event}\n\tcommand = touch '{trace}'\n"
        for event in ("reference-transaction", "post-index-change", "post-checkout")
    )
    (path / ".settings").write_text(lines)
    run_git(path, "config", "include.path", "../.settings")
    return path


async def _update_ref(path: Path) -> None:
    await GitCall(str(path)).out("update-ref", "refs/heads/new", "HEAD")


async def _switch(path: Path) -> None:
    await GitCall(str(path)).out("symbolic-ref", "HEAD", "refs/heads/old")


async def _read_tree(path: Path) -> None:
    await GitCall(str(path)).out("read-tree", "HEAD")


async def _write_tree(path: Path) -> None:
    await GitCall(str(path)).out("write-tree")


async def _update_index(path: Path) -> None:
    await GitCall(str(path)).out("update-index", "-z", "--index-info")


async def _delete_branch(path: Path) -> None:
    await forget_branch(str(path), "old")
    assert not await git.branch_exists(str(path), "old")


async def _worktree(path: Path) -> None:
    directory = str(path.parent / "w")
    await git.add_worktree(str(path), directory, "podium/1")
    assert await git.worktree_exists(str(path), directory, "podium/1")
    made = await git.head(directory)
    assert made is not None
    await git.remove_worktree(str(path), directory, "podium/1", made, force=False)
    assert not Path(directory).exists()
    assert not await git.branch_exists(str(path), "podium/1")
    assert not list(path.glob(".git/worktrees/*"))


WRITERS = (
    _update_ref, _switch, _read_tree, _write_tree, _update_index, _delete_branch, _worktree,
)  # fmt: skip


def test_anybodys_git_of_that_release_runs_them(repository: Path, trace: Path) -> None:
    run_git(repository, "update-ref", "refs/heads/new", "HEAD")

    assert trace.exists()


@pytest.mark.parametrize("write", sampled(WRITERS))
async def test_a_git_of_ours_runs_none_of_them(
    repository: Path, trace: Path, write: Callable[[Path], Awaitable[None]]
) -> None:
    await write(repository)

    assert not trace.exists()
