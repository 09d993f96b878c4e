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

BUILD = """
format = 1
id = "build"
initial = "build"
[limits]
max_total_steps = 2
[steps.build]
shell = "echo no rule; exit 1"
[steps.build.on]
passed = { exit = "turn-complete" }
failed = { to = "build" }
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


@pytest.mark.long(
    "tests/core/test_progress.py::test_other_findings_another_tree_and_one_nobody_knows_are_progress"
)
async def test_a_change_of_the_tree_alone_is_progress(machine: Machine, repository: Path) -> None:
    async with running(machine) as daemon:
        run = await rounds(daemon, repository, ["price = 2\n", "price = 3\n"])
        assert await daemon.events(run["run_id"], "progress.stalled") == []


@pytest.mark.long(
    "tests/tools/test_git.py::test_the_digest_sees_every_kind_of_change_and_its_undoing"
)
async def test_a_new_file_is_a_change_too(machine: Machine, repository: Path) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(machine.recipe(LOOP, "loop"), working_directory=str(repository))
        for number in range(2):
            (await daemon.turn()).complete(detail=f"Round {number}.")
            (repository / f"new-{number}.py").touch()
            (await daemon.turn()).complete("bad", detail="The price is wrong.")
        await daemon.ended(run_id)
        assert await daemon.events(run_id, "progress.stalled") == []


@pytest.mark.long("tests/core/test_progress.py::test_a_command_that_fails_the_same_way_is_told")
async def test_a_command_that_fails_again_in_the_same_tree_is_told(
    machine: Machine, repository: Path
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(
            machine.recipe(BUILD, "build"), working_directory=str(repository)
        )
        await daemon.ended(run_id)
        [notice] = await daemon.events(run_id, "progress.stalled")
        assert (notice["step"], notice["visit"], notice["outcome"]) == ("build", 2, "failed")


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
