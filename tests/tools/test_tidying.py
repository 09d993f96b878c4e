"""What a command leaves is gone after it, whatever rights it has taken; or no git runs there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from podiumd.tools.commit.hooks import Hooks
from podiumd.tools.files import owner_rights
from podiumd.tools.git.nested_repositories import RepositoryLook
from podiumd.tools.git.process import GitError
from podiumd.tools.sandbox.boundary import RECORD, Tidied, left_before, make_up_for
from podiumd.tools.sandbox.sandbox import Probe, Sandbox, SandboxRefused
from tests.long import sampled
from tests.patience import HANG_SECONDS
from tests.tools.boxed_project import Inside
from tests.tools.git_repository import run_git
from tests.tools.test_registry import do, make_toolbox
from tests.tools.without_rights import NOBODY

pytestmark = pytest.mark.needs("bwrap")

TOP = Path(__file__).parents[2]
LINK = "rm -f .git/logs/refs/heads/main; ln -s $PWD/../profile .git/logs/refs/heads/main; "
NEST = "git init -q nest; git -C nest config core.fsmonitor 'touch canary'; "
BARE = (
    "mkdir -p x/objects x/refs; echo 'ref: refs/heads/main' > x/HEAD; "
    "git config -f x/config core.fsmonitor 'touch canary'; "
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory that a user without root's rights has, and reaches."""
    with tempfile.TemporaryDirectory(prefix="rights-") as name:
        if os.getuid() == 0:
            os.chown(name, NOBODY, NOBODY)
        yield Path(name)


def turn_of_nobody(folder: Path, command: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.tools.without_rights", f"{folder}", command],
        cwd=TOP,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    assert done.returncode == 0, done.stderr.decode()
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize(
    ("command", "gone"),
    sampled(
        [
            (f"{LINK}chmod 555 .git/logs/refs/heads", ".git/logs/refs/heads/main"),
            (f"mkdir p; cd p; {NEST}cd ..; chmod 111 p", "p/nest/.git"),
            (f"{NEST}chmod 555 nest/.git nest", "nest/.git"),
            (f"{BARE}chmod 555 x", "x/HEAD"),
            (
                f"mkdir .git/modules; cd .git/modules; {BARE}chmod 111 .; cd ../..",
                ".git/modules/x/HEAD",
            ),
            (f"{LINK}chmod 000 .git/logs", ".git/logs/refs/heads/main"),
            (f"{LINK}chmod 444 .git/logs/refs .git/logs .git .", ".git/logs/refs/heads/main"),
            (f"{NEST}chmod 444 nest/.git nest", "nest/.git"),
            (f"{BARE}chmod 000 x", "x/HEAD"),
        ],
        2,
    ),
)
def test_taken_rights_keep_nothing_from_being_removed(
    folder: Path, command: str, gone: str
) -> None:
    """By a user whom they bind, in a real turn: the commit then writes where git always does."""
    told = turn_of_nobody(folder, command)

    root = folder / "home/repo"
    succeeded, said = told["results"][0]
    assert succeeded and f"led astray by it: {root}/{gone}" in said
    assert told["commit"] == "committed", told["detail"]
    assert (folder / "home/profile").read_text() == "# mine\n"
    log = root / ".git/logs/refs/heads/main"
    assert not log.is_symlink()
    if gone != f"{log.relative_to(root)}":
        assert not os.path.lexists(root / gone)


def unmovable(path: str) -> None:
    raise PermissionError(1, "Operation not permitted", path)


async def test_where_something_cannot_be_removed_no_git_runs_in_that_turn_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = make_toolbox(tmp_path, "required")
    root = tmp_path / "home/repo"
    link = root / ".git/logs/refs/heads/main"
    profile = tmp_path / "home/profile"
    written = await do(box, "write_file", path="new.txt", content="x\n")
    monkeypatch.setattr(owner_rights, "_remove", unmovable)

    done = await do(box, "run_command", command=LINK)
    refused = await do(box, "run_command", command="touch again")
    made = await box.commit(written.changes, run_id="run")

    assert done.result.message.startswith("a command has left what may lead git astray")
    assert f"'{link}' could not be removed" in done.result.message
    assert "removed, for git" not in done.result.message
    assert not done.result.success and done.result.critical and done.changes == ()
    assert not refused.result.success and not (root / "again").exists()
    assert f"'{link}' could not be removed" in refused.result.message
    assert made.state == "failed" and f"'{link}' could not be removed" in made.detail
    assert link.is_symlink() and not profile.exists()
    assert run_git(root, "log", "--format=%s") == "first"


async def test_nor_after_a_hook_that_leaves_such_a_thing_in_the_midst_of_a_commit(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = inside.project / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\n{LINK}\n")
    hook.chmod(0o755)
    enclosure, _ = await inside.sandbox.enclose(inside.project, inside.state)
    hooks = Hooks(
        environment={"PATH": os.environ["PATH"]},
        turn_id=inside.turn,
        enclosure=enclosure,
        top=f"{inside.project}",
        directory=f"{hook.parent}",
    )
    monkeypatch.setattr(owner_rights, "_remove", unmovable)

    with pytest.raises(GitError, match="could not be removed"):
        await hooks.run("pre-commit", index=f"{inside.project}/.git/index")
    with pytest.raises(OSError, match="no further command"):
        await hooks.run("pre-commit", index=f"{inside.project}/.git/index")


async def test_nor_after_a_crash_of_the_daemon(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / RECORD
    make: Callable[[], Sandbox] = partial(
        Sandbox, "required", home=inside.home, environ={}, probe=Probe(), record=record
    )
    enclosure, _ = await make().enclose(inside.project, tmp_path)
    assert enclosure is not None
    enclosure.prepare()
    (inside.project / ".git/refs/heads/away").symlink_to("/etc")
    with monkeypatch.context() as patched:
        patched.setattr(owner_rights, "_remove", unmovable)
        left = make_up_for(record).left

    assert left[-1].endswith("refs/heads/away' could not be removed")
    # What people make there later is none of that command's.
    assert not record.exists() and left_before(record) == left
    with pytest.raises(SandboxRefused, match="refs/heads/away' could not be removed"):
        await make().enclose(inside.project, tmp_path)


async def test_a_directory_that_cannot_be_looked_into_is_such_a_thing(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = owner_rights._scan

    def shut(directory: str) -> list[os.DirEntry[str]]:
        if directory.endswith(("/there", "/p", "/refs/q")):
            raise PermissionError(13, "Permission denied", directory)
        return scan(directory)

    (inside.project / "there").mkdir()
    monkeypatch.setattr(owner_rights, "_scan", shut)
    before = await inside.run("true")
    done = await inside.run("mkdir p .git/refs/q")

    assert before.tidied.left == (), "as before: somebody else's, which no command can write"
    assert done.tidied.left == tuple(
        f"'{inside.project}/{name}' could not be looked into" for name in (".git/refs/q", "p")
    )


async def test_directories_do_not_crowd_out_the_look_for_repositories(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = partial(RepositoryLook, most=50)
    monkeypatch.setattr("podiumd.tools.sandbox.sandbox.RepositoryLook", few)
    many = "mkdir -p m/z/z/z; for i in $(seq 60); do mkdir m/$i; done; "

    done = await inside.run(f"{many}git init -q m/z/z/z")

    assert done.tidied.left == (
        "the tree has more than 50 directories now, and no more are searched",
    )
    with pytest.raises(SandboxRefused, match="more than 50 directories"):
        await inside.run("true")


async def test_nor_do_submodules(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("podiumd.tools.sandbox.boundary", "podiumd.tools.confine.places"):
        monkeypatch.setattr(f"{name}.MOST_MODULES", 3)
    make = "for i in 1 2 3 4; do mkdir -p .git/modules/$i; touch .git/modules/$i/HEAD; done"

    done = await inside.run(make)

    assert done.tidied.left == ("a repository has 3 submodules now, and no more are searched",)


async def test_a_tree_that_was_larger_before_is_worked_in(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = RepositoryLook(inside.project, most=1)
    monkeypatch.setattr("podiumd.tools.sandbox.sandbox.RepositoryLook", lambda _: look)
    (inside.project / "libs").mkdir()
    enclosure, notice = await inside.sandbox.enclose(inside.project, inside.state)
    assert enclosure is not None and "repositories beyond the nearer ones" in notice
    enclosure.prepare()

    assert enclosure.tidy().left == ()


@pytest.mark.parametrize("broken", ["damaged", "no file"])
async def test_where_it_cannot_be_read_what_is_to_be_put_right_the_turn_goes_no_further(
    inside: Inside, tmp_path: Path, broken: str
) -> None:
    record = tmp_path / RECORD
    assert make_up_for(record) == Tidied()  # nothing had begun
    if broken == "damaged":
        record.write_bytes(b'{"root": 1')
    else:
        record.symlink_to("record")  # a loop: an error of the disk stands for any
        record.with_name("record").symlink_to(RECORD)

    left = make_up_for(record).left

    assert len(left) == 1 and "what is to be put right after a command cannot be read" in left[0]
    assert make_up_for(record) == Tidied() and left_before(record) == left
    again = Sandbox("required", home=inside.home, environ={}, probe=Probe(), record=record)
    with pytest.raises(SandboxRefused, match="cannot be read"):
        await again.enclose(inside.project, tmp_path)
