"""The message of a commit goes to its hooks in a file, and nowhere else."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from podiumd.tools.commit.hooks import (
    MOST_MESSAGE_BYTES,
    HookFailed,
    Hooks,
    placed_hooks,
    read_message,
    write_message,
)
from podiumd.tools.git import queries as git
from podiumd.tools.git.process import GitCall
from podiumd.tools.git.worktree_remains import forget_branch
from tests.long import sampled
from tests.tools.git_repository import begun, run_git, set_for_person
from tests.tools.turn_repository import Turn


async def test_a_hook_cannot_have_the_message_written_through_a_link(tmp_path: Path) -> None:
    turn = Turn(tmp_path)
    profile = tmp_path / "profile"
    profile.write_text("the user's\n")
    turn.hook("pre-commit", f"ln -s {profile} .git/podium-message-t1")
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "committed"
    assert profile.read_text() == "the user's\n"


async def test_a_hook_cannot_have_a_file_from_outside_committed_as_the_message(
    tmp_path: Path,
) -> None:
    turn = Turn(tmp_path)
    (tmp_path / "key").write_text("[secret]\n")
    turn.hook("commit-msg", f'ln -sf {tmp_path}/key "$1"')
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "refused" and "a hook left no message" in done.detail
    assert turn.git("rev-parse", "HEAD") == turn.first


async def test_what_a_hook_that_refuses_has_changed_in_other_files_is_not_committed(
    tmp_path: Path,
) -> None:
    turn = Turn(tmp_path)
    mend = "for file in a.py b.py new.py; do echo tidy >> $file; done"
    turn.hook("pre-commit", f"if grep -q tidy a.py; then exit 0; fi; {mend}; exit 1")
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert (done.state, done.files) == ("committed", (("a.py", "modified"),))
    assert (turn.shown("a.py"), turn.shown("b.py")) == ("x\ntidy", "b")
    assert turn.text("b.py") == "b\ntidy\n"
    assert turn.git("status", "--porcelain") == "M b.py\n?? new.py"


def test_a_message_that_is_no_file_or_endless_is_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long").write_bytes(b"x" * (MOST_MESSAGE_BYTES + 1))

    for name in ("pipe", "long", "missing"):
        with pytest.raises(HookFailed, match="a hook left no message"):
            read_message(f"{tmp_path / name}")


def test_what_stands_in_the_place_of_the_message_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("kept")
    (tmp_path / "message").symlink_to("other")

    write_message(f"{tmp_path / 'message'}", "words\n")

    assert read_message(f"{tmp_path / 'message'}") == "words"
    assert (tmp_path / "other").read_text() == "kept"


@pytest.mark.parametrize("named_in", ["config", "config.worktree", "an included file", "global"])
async def test_hooks_are_the_person_s_where_no_setting_of_the_repository_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named_in: str
) -> None:
    turn = Turn(tmp_path)
    monkeypatch.setenv("HOME", f"{tmp_path}")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    where, included = f"{tmp_path}/hooks", f"{tmp_path}/included"
    turn.git("config", "extensions.worktreeConfig", "true")
    if named_in == "global":
        set_for_person(tmp_path, "core.hooksPath", where)
    elif named_in == "an included file":
        turn.git("config", "-f", included, "core.hooksPath", where)
        turn.git("config", "--worktree", "include.path", included)
    else:
        scope = "--local" if named_in == "config" else "--worktree"
        turn.git("config", scope, "core.hooksPath", where)

    shut = Hooks(environment={}, turn_id=turn.turn, enclosure=None, shut="there is no sandbox")
    placed = await placed_hooks(GitCall(f"{turn.top}"), shut)

    assert placed.directory == where
    assert placed.shut == ("" if named_in == "global" else "there is no sandbox")


# -- git from 2.54 on runs hooks that settings name when refs or an index are written; ours doe


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


@pytest.fixture
def newer_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    path = begun(tmp_path / "repository", {"a.txt": "one\n"})
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


@pytest.mark.usefixtures("newer_git")
def test_anybodys_git_of_that_release_runs_them(repository: Path, trace: Path) -> None:
    run_git(repository, "update-ref", "refs/heads/new", "HEAD")

    assert trace.exists()


@pytest.mark.usefixtures("newer_git")
@pytest.mark.parametrize("write", sampled(WRITERS))
async def test_a_git_of_ours_runs_none_of_them(
    repository: Path, trace: Path, write: Callable[[Path], Awaitable[None]]
) -> None:
    await write(repository)

    assert not trace.exists()
