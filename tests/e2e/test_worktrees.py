"""A daemon that is killed while it makes, merges or removes a worktree: done, or not begun."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.rpc_client import Json
from tests.runtime.processes import marker_of
from tests.tools.git_repository import set_for_person

pytestmark = pytest.mark.claude

COMMITTING = """
initial = "work"

[steps.work]
run = [
  "sh", "-c",
  "echo theirs > a.txt; git add -A; git -c user.name=A -c user.email=a@example.org commit -qm two"
]

[steps.work.on]
passed = { exit = "task-committed" }
failed = { exit = "implementation-blocked" }
"""


async def worked(podium: PodiumDaemon, machine: Machine, repo: GitRepo) -> Json:
    """A run that has committed in a worktree of its own."""
    recipe = machine.recipe("committing", COMMITTING)
    (machine.home / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
    where = {"working_directory": str(repo.path), "worktree": True}
    started = await podium.rpc("runs.start", recipe=recipe, **where)
    run: Json = await podium.ended(started["run_id"])
    assert run["exit"]["reason"] == "task-committed", run
    return run


async def killed_at(podium: PodiumDaemon, point: str, method: str, **params: object) -> list[Json]:
    """Have the daemon killed at a failpoint of a call; the worktrees that the next one lists."""
    await podium.stop()
    podium.arm(point)
    await podium.start()
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever a lost connection is told as
        await podium.rpc(method, **params)
    await podium.wait()
    podium.arm(None)
    await podium.start()
    rows: list[Json] = await podium.rpc("worktrees.list")
    return rows


@pytest.mark.parametrize("point", ["merge.before-make", "merge.after-make"])
async def test_a_merge_is_done_or_not_begun(
    podium: PodiumDaemon, machine: Machine, repo: GitRepo, point: str
) -> None:
    run = await worked(podium, machine, repo)
    before = repo.head
    [row] = await killed_at(podium, point, "worktrees.merge", run_id=run["run_id"])
    assert repo.git("status", "--porcelain") == ""
    assert row["merged"] is (repo.head != before)
    assert row["merged"] is (point == "merge.after-make") and row["merging"] is False
    await podium.rpc("worktrees.merge", run_id=run["run_id"])
    assert repo.subjects[0] == "two"


async def test_a_merge_that_stands_unfinished_is_told_and_nothing_of_it_is_touched(
    podium: PodiumDaemon, machine: Machine, repo: GitRepo
) -> None:
    run = await worked(podium, machine, repo)
    (repo.path / "a.txt").write_text("ours\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "ours")
    named = {"run_id": run["run_id"]}
    [row] = await killed_at(podium, "merge.conflicted", "worktrees.merge", **named)
    assert row["merging"] is True and row["merged"] is False
    [line] = podium.logged("Merge unfinished")
    assert line["repository"] == str(repo.path) and "git merge --abort" in line["fix"]
    refusal = await podium.refused("worktrees.merge", **named)
    assert "in the middle of a merge" in refusal.message
    await podium.restart()
    assert len(podium.logged("Merge unfinished")) == 1, "it is told once"
    repo.git("merge", "--abort")
    assert (repo.path / "a.txt").read_text() == "ours\n"


@pytest.mark.parametrize("point", ["remove.before-make", "remove.after-make"])
async def test_a_worktree_is_removed_to_the_end_or_is_as_it_was(
    podium: PodiumDaemon, machine: Machine, repo: GitRepo, point: str
) -> None:
    run = await worked(podium, machine, repo)
    named = {"run_id": run["run_id"], "force": True}
    rows = await killed_at(podium, point, "worktrees.remove", **named)
    directory = Path(run["worktree"]["directory"])
    if point == "remove.before-make":
        assert [row["problem"] for row in rows] == [None] and (directory / "a.txt").exists()
        await podium.rpc("worktrees.remove", **named)
    else:
        assert rows == []
    assert list(directory.parent.iterdir()) == []
    assert len(repo.git("worktree", "list").splitlines()) == 1
    assert repo.git("branch", "--list", "podium/*") == ""


async def test_the_git_of_a_killed_daemon_does_not_work_on_at_what_the_next_one_makes(
    podium: PodiumDaemon, machine: Machine, repo: GitRepo
) -> None:
    """Two at one worktree would spoil it: the first, once it fails, removes what it was at."""
    for name in ("a.txt", "m.slow", "z.txt"):
        (repo.path / name).write_text("one\n")
    (repo.path / ".gitattributes").write_text("*.slow filter=slow\n")
    repo.git("add", "--all")
    repo.git("commit", "-m", "slow")
    fifo = machine.root / "reached"
    os.mkfifo(fifo)
    set_for_person(machine.home, "filter.slow.smudge", f"echo here > '{fifo}'; exec sleep 3600")
    run = await podium.rpc(
        "runs.start",
        recipe=machine.recipe("committing", COMMITTING),
        working_directory=str(repo.path),
        worktree=True,
    )
    assert await marker_of(fifo) == "here"
    await podium.kill9()
    set_for_person(machine.home, "filter.slow.smudge", "cat")
    assert [line for line in podium.children() if line.startswith("sleep ")]
    await podium.start()
    ended = await podium.ended(run["run_id"])
    assert ended["exit"]["reason"] == "task-committed", ended
    assert podium.children() == []
    tree = Path(ended["worktree"]["directory"])
    assert (tree / "z.txt").exists() and (tree / "m.slow").read_text() == "one\n"
    assert repo.git("-C", str(tree), "status", "--porcelain") == ""
