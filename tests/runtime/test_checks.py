"""Checks: their word counts more than the agent's, and nothing of them is left behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plain import reason
from tests.runtime.harness import Machine, fields_of, running
from tests.runtime.processes import living, marker_of


@pytest.fixture
def checked(machine: Machine) -> Callable[..., str]:
    """A recipe whose one step has one check."""

    def make(run: str, more: str = "", on: str = "") -> str:
        return machine.one_step(
            "checked", step=f'checks = [{{ run = ["/bin/sh", "-c", "{run}"] {more}}}]', on=on
        )

    return make


async def test_a_check_that_fails_ends_the_run_with_what_it_said(
    machine: Machine, checked: Callable[..., str]
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(checked("echo broken; exit 3"))
        (await daemon.turn()).complete()
        run = await daemon.ended(run_id)
        assert (run["exit"]["reason"], run["exit"]["class"]) == ("checks-failed", "checks-failed")
        assert run["history"][0]["source"] == "check"
        [ended] = await daemon.events(run_id, "check.ended")
        assert (ended["exit_status"], ended["tail"]) == (3, "broken\n")


async def test_a_check_is_ended_at_its_time_limit(
    machine: Machine, checked: Callable[..., str]
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(checked("exec sleep 600", ", timeout_seconds = 0.2"))
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "checks-failed"
        [ended] = await daemon.events(run_id, "check.ended")
        assert (ended["passed"], ended.get("exit_status")) == (False, None)
        assert "time limit of 0.2 s" in ended["tail"]


async def test_a_check_is_killed_when_its_run_is_cancelled_with_all_that_it_started(
    machine: Machine, checked: Callable[..., str]
) -> None:
    fifo = machine.project / "said"
    os.mkfifo(fifo)
    escape = "setsid sleep 600 & echo $PODIUM_TURN > said; exec sleep 600"
    async with running(machine) as daemon:
        run_id = await daemon.start(checked(escape))
        (await daemon.turn()).complete()
        marker = await marker_of(fifo)
        assert len(await living(marker)) == 2
        run = await daemon.service.cancel(run_id)
        assert reason(run) == "user-requested"
        assert await living(marker) == []
        assert fields_of(daemon.logged, "Run fault") == []


async def test_a_check_that_the_daemon_left_is_run_again_by_the_next(
    machine: Machine, checked: Callable[..., str]
) -> None:
    fifo = machine.project / "said"
    os.mkfifo(fifo)
    command = "echo $PODIUM_TURN > said; test -e again || exec sleep 600"
    async with running(machine) as daemon:
        run_id = await daemon.start(checked(command))
        (await daemon.turn()).complete()
        marker = await marker_of(fifo)
    assert await living(marker) == []
    (machine.project / "again").touch()
    async with running(machine) as daemon:
        assert await marker_of(fifo) == marker
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_an_interrupt_ends_a_check_with_all_its_processes_and_resume_runs_it_again(
    machine: Machine, checked: Callable[..., str]
) -> None:
    fifo = machine.project / "said"
    os.mkfifo(fifo)
    command = "echo $PODIUM_TURN > said; test -e again || exec sleep 600"
    async with running(machine) as daemon:
        run_id = await daemon.start(checked(command))
        (await daemon.turn()).complete()
        marker = await marker_of(fifo)
        run = await daemon.service.interrupt(run_id)
        assert (run.status, await living(marker)) == ("paused", [])
        (machine.project / "again").touch()
        await daemon.service.resume(run_id)
        await marker_of(fifo)
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"
        assert len(await daemon.events(run_id, "check.ended")) == 1


async def test_what_is_kept_of_turns_and_checks_is_for_its_user_alone(
    machine: Machine, checked: Callable[..., str]
) -> None:
    before = os.umask(0o022)
    try:
        async with running(machine) as daemon:
            run_id = await daemon.start(checked("exit 1"))
            (await daemon.turn()).complete()
            await daemon.ended(run_id)
            [ended] = await daemon.events(run_id, "check.ended")
    finally:
        os.umask(before)
    log = Path(ended["log"])
    made = [*(machine.state / "turns").rglob("*"), machine.state / "turns", *log.parents[:2], log]
    assert [f"{path}" for path in made if path.stat().st_mode & 0o077] == []
