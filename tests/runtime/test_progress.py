"""The no-progress notice on real working trees: two rounds that leave everything as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from podiumd.runtime.run import observe
from podiumd.tools.git import queries as git
from tests.runtime.harness import Daemon, Json, Machine, fields_of, running, virtual
from tests.tools.git_repository import commit, make_repository

LOOP = """
format = 1
id = "loop"
initial = "work"
[limits]
max_total_steps = 4
[steps.work]
prompt = "Work."
[steps.work.on]
complete = { to = "review" }
[steps.review]
prompt = "Review it."
[steps.review.on]
good = { exit = "turn-complete" }
bad = { to = "work" }
"""


@pytest.fixture
def repository(machine: Machine) -> Path:
    path = make_repository(machine.project / "repo")
    (path / "shop.py").write_text("price = 1\n")
    commit(path, "first")
    return path


async def rounds(daemon: Daemon, where: Path, change: list[str | None]) -> Json:
    """Two rounds of the loop; before each review the file is given these contents."""
    run_id = await daemon.start(daemon.machine.recipe(LOOP, "loop"), working_directory=str(where))
    for number, text in enumerate(change):
        work = await daemon.turn()
        if text is not None:
            (where / "shop.py").write_text(text)
        work.complete(detail=f"Round {number}.")
        (await daemon.turn()).complete("bad", detail="The price is wrong.")
    return await daemon.ended(run_id)


async def test_two_rounds_that_change_nothing_are_told_in_events_and_log(
    machine: Machine, repository: Path
) -> None:
    """The file differs from its commit: what counts is that it does so in the same way."""
    async with running(machine) as daemon:
        run = await rounds(daemon, repository, ["price = 2\n", None])
        assert run["exit"]["reason"] == "max-total-steps"
        [notice] = await daemon.events(run["run_id"], "progress.stalled")
        assert (notice["step"], notice["visit"], notice["since"]) == ("review", 2, 1)
        assert (notice["outcome"], len(notice["tree"]["head"])) == ("bad", 40)
        [line] = fields_of(daemon.logged, "No progress")
        assert (line["step"], line["visit"], line["recipe_id"]) == ("review", 2, "loop")


async def test_outside_git_nothing_is_said(machine: Machine) -> None:
    async with running(machine) as daemon:
        run = await rounds(daemon, machine.project, [None, None])
        assert await daemon.events(run["run_id"], "progress.stalled") == []


async def test_a_repository_that_git_cannot_read_costs_the_run_nothing(
    machine: Machine, repository: Path
) -> None:
    (repository / ".git" / "index").write_bytes(b"no index")
    async with running(machine) as daemon:
        run = await rounds(daemon, repository, [None, None])
        assert run["exit"]["reason"] == "max-total-steps"
        assert await daemon.events(run["run_id"], "progress.stalled") == []


async def test_a_git_that_never_answers_holds_a_turn_up_for_seconds_alone(
    machine: Machine, repository: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = trio.Event()

    async def stuck(_path: str) -> str:
        asked.set()
        await trio.sleep_forever()
        raise AssertionError

    async with virtual(machine) as daemon:
        run_id = await daemon.start(machine.recipe(LOOP, "loop"), working_directory=str(repository))
        work = await daemon.turn()
        monkeypatch.setattr(git, "tree_mark", stuck)
        work.complete(detail="Built.")
        await asked.wait()
        assert (await daemon.events(run_id, "turn.ended")) == []
        mock_clock.jump(observe.MARK_SECONDS)
        monkeypatch.undo()
        (await daemon.turn()).complete("good")
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"
        assert (await daemon.events(run_id, "turn.ended"))[0]["tree"] is None


async def test_a_step_that_no_run_comes_back_to_is_not_looked_at(
    machine: Machine, repository: Path
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(machine.one_step(), working_directory=str(repository))
        (await daemon.turn()).complete()
        await daemon.ended(run_id)
        [ended] = await daemon.events(run_id, "turn.ended")
        assert ended["tree"] is None


async def test_a_restart_between_two_rounds_forgets_nothing(
    machine: Machine, repository: Path
) -> None:
    recipe = machine.recipe(LOOP, "loop")
    async with running(machine) as daemon:
        run_id = await daemon.start(recipe, working_directory=str(repository))
        (await daemon.turn()).complete(detail="Round 0.")
        (await daemon.turn()).complete("bad", detail="The price is wrong.")
        await daemon.turn()
        await daemon.until(run_id, lambda s: s.turn is not None and s.turn.started is not None)
    machine.agent.turns[-1].complete(detail="Round 1.")
    async with running(machine) as daemon:
        (await daemon.turn()).complete("bad", detail="The price is wrong.")
        await daemon.ended(run_id)
        [notice] = await daemon.events(run_id, "progress.stalled")
        assert (notice["step"], notice["visit"], notice["since"]) == ("review", 2, 1)
