"""kill -9 while a command runs in the sandbox: what it may not leave is gone before git looks."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import PATH, GitRepo, Machine
from tests.e2e.native_rig import act, after, begun, first, fixtures, killed_at, says

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")


machine, repo = fixtures(mode="allow-all", sandbox="required")


def telling_git(folder: Path, *watched: Path) -> Path:
    """A git that notes, each time it is run, which of the ``watched`` are there by then."""
    trace = folder / "trace"
    shim = folder / "shim"
    shim.mkdir()
    looks = "".join(f"[ -e '{one}' ] && echo '{one}' >> '{trace}'\n" for one in watched)
    (shim / "git").write_text(f'#!/bin/sh\n{looks}exec {shutil.which("git")} "$@"\n')
    (shim / "git").chmod(0o755)
    trace.touch()
    return shim


async def test_the_next_daemon_tidies_up_before_any_git_of_its_own(
    machine: Machine, repo: GitRepo, tmp_path: Path
) -> None:
    below, git = repo.path / "below", repo.path / ".git"
    below.mkdir()
    os.mkfifo(below / "begun")
    canary = machine.home / "canary"
    line = (
        "mkdir -p objects refs; echo 'ref: refs/heads/main' > HEAD; "
        f"printf '[core]\\nbare = false\\nworktree = .\\nfsmonitor = touch {canary}\\n' > config; "
        "mkdir sub; git init -q sub; git -C sub config core.fsmonitor evil; "
        "ln -s /etc ../.git/refs/heads/away; echo > begun; sleep 300"
    )
    rules = [
        {"when": {"prompt": "interrupted, unknown outcome"}, **says("I see.")},
        after("run_command", False, says("Something else.")),
        first("Go", says(act({"action": "run_command", "command": line}))),
    ]
    machine.model.load({"rules": rules})
    left = (git / "commondir", git / "refs/heads/away", below / "HEAD", below / "sub/.git/HEAD")
    shim = telling_git(tmp_path, *left)
    first_life = PodiumDaemon(machine)
    where = await begun(first_life, below, "Go.")
    (below / "begun").read_bytes()
    await first_life.kill9()
    assert all(os.path.lexists(path) for path in left)
    assert (git / "commondir").read_text() == "./\n"

    async with PodiumDaemon(machine, PATH=f"{shim}{os.pathsep}{PATH}") as podium:
        run = await podium.ended(where["run_id"])
        assert podium.children() == []

    assert run["exit"]["reason"] == "turn-complete"
    assert not any(os.path.lexists(path) for path in left)
    assert (tmp_path / "trace").read_text() == ""
    assert (below / "config").exists() and list((below / "sub").glob("git-set-aside-*/config"))
    assert not canary.exists()
    assert list((machine.podium_home / "state/turns").glob("*/boundary.json")) == []


@pytest.mark.parametrize("point", ["sandbox.after-prepare", "sandbox.before-tidy"])
async def test_before_and_after_a_command_the_same_holds(
    machine: Machine, repo: GitRepo, point: str
) -> None:
    line = "ln -s /etc .git/refs/heads/away; echo done >> log"
    rules = [
        {"when": {"prompt": "interrupted, unknown outcome"}, **says("I see.")},
        first("Go", says(act({"action": "run_command", "command": line}))),
    ]
    machine.model.load({"rules": rules})
    where = await killed_at(machine, repo, point)
    ran = point == "sandbox.before-tidy"
    assert os.path.lexists(repo.path / ".git/refs/heads/away") == ran
    assert (repo.path / ".git/commondir").exists()

    async with PodiumDaemon(machine) as podium:
        run = await podium.ended(where["run_id"])

    assert run["exit"]["reason"] == "turn-complete"
    assert not os.path.lexists(repo.path / ".git/refs/heads/away")
    assert not (repo.path / ".git/commondir").exists()
    assert (repo.path / "log").exists() == ran  # it is not run again by itself


async def test_what_a_command_has_left_ends_the_turn_s_commands_over_a_crash(
    machine: Machine, repo: GitRepo
) -> None:
    """Killed between the two files that say so, of which either alone would do."""
    many = "for i in $(seq 1000); do mkdir -p .git/modules/$i; : > .git/modules/$i/HEAD; done"
    again = act({"action": "run_command", "command": "echo again > log"})
    rules = [
        after("run_command", False, says("I see.")),
        {"when": {"prompt": "interrupted, unknown outcome"}, **says(again)},
        first("Go", says(act({"action": "run_command", "command": many}))),
    ]
    machine.model.load({"rules": rules})
    where = await killed_at(machine, repo, "sandbox.left-stored")

    async with PodiumDaemon(machine) as podium:
        run = await podium.ended(where["run_id"])

    assert run["exit"]["reason"] == "turn-complete"
    assert not (repo.path / "log").exists()
    assert list((machine.podium_home / "state/turns").glob("*/boundary.json")) == []


async def test_nothing_is_left_of_a_git_that_was_about_to_look(
    machine: Machine, repo: GitRepo
) -> None:
    looking = says(act({"action": "run_command", "command": "echo done > log"}))
    rules = [after("run_command", True, says("Done.")), {"when": {"prompt": "."}, **looking}]
    machine.model.load({"rules": rules})
    pins = machine.podium_home / "state/git"
    where = await killed_at(machine, repo, "git.pinned")
    (left,) = pins.iterdir()

    async with PodiumDaemon(machine) as podium:
        run = await podium.ended(where["run_id"])

    assert run["exit"]["reason"] == "turn-complete"
    assert not left.exists()
    assert (repo.path / ".git/objects").is_dir()
