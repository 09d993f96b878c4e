"""How the worktrees of runs are looked into: some at once, and however deep one is."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from podiumd.core.run.facts import Worktree
from podiumd.runtime.worktrees import listing
from tests.patience import HANG_SECONDS
from tests.runtime.harness import Daemon, Machine, running
from tests.tools.git_repository import commit, make_repository


@pytest.fixture
def repository(machine: Machine) -> Path:
    path = make_repository(machine.project / "repo")
    (path / "a.txt").write_text("one\n")
    commit(path, "first")
    return path


async def worked(daemon: Daemon, recipe: str, repository: Path) -> tuple[str, Path]:
    """A run that has ended, and the worktree that it had."""
    run_id = await daemon.start(recipe, working_directory=str(repository), worktree=True)
    turn = await daemon.turn()
    turn.complete()
    await daemon.ended(run_id)
    await daemon.forgotten(run_id)
    return run_id, Path(turn.request.working_directory)


async def test_a_few_are_looked_into_at_once(
    machine: Machine, one: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = most = 0
    both = trio.Event()

    async def look(plan: Worktree) -> listing.Inside:
        nonlocal looks, most
        looks += 1
        most = max(most, looks)
        if looks == 2:
            both.set()
        with trio.fail_after(HANG_SECONDS):
            await both.wait()
        looks -= 1
        return await looked_inside(plan)

    looked_inside = listing.look_inside
    monkeypatch.setattr(listing, "AT_ONCE", 2)
    monkeypatch.setattr(listing, "LOOK_SECONDS", HANG_SECONDS)
    async with running(machine) as daemon:
        made = [await worked(daemon, one, repository) for _ in range(3)]
        monkeypatch.setattr(listing, "look_inside", look)
        rows = await daemon.service.worktrees.list()
    assert {row.run_id for row in rows} == {run_id for run_id, _ in made}
    assert [row.problem for row in rows] == [None] * 3
    assert (looks, most) == (0, 2)
