"""What the turns of one run wrote is bounded together; what is removed is said."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import trio

from podiumd.runtime.run.spools import MEBIBYTE
from podiumd.tools.failpoints import VARIABLE
from tests.runtime.harness import Daemon, Machine, fields_of, running

KILLED = """
import sys, trio
from pathlib import Path
from tests.runtime.test_spools import three_turns
trio.run(three_turns, Path(sys.argv[1]))
"""

ROUND = """
format = 1
id = "round"
label = "Round"
description = "Goes round"
initial = "work"
[limits]
max_step_visits = 9
[steps.work]
prompt = "Do it."
[steps.work.on]
again = { to = "work" }
complete = { exit = "turn-complete" }
"""


async def wrote(daemon: Daemon, size: int, outcome: str = "again") -> Path:
    """The next turn, whose agent writes so many bytes; returns its spool."""
    turn = await daemon.turn()
    directory = daemon.context.turn_directory(turn.request.turn_id)
    spool = directory / "out.jsonl"
    spool.touch()
    with spool.open("r+b") as file:
        file.truncate(size)
    turn.complete(outcome)
    return spool


async def test_beyond_the_bound_the_oldest_output_goes_and_that_is_said(machine: Machine) -> None:
    machine.recipe(ROUND, "round")
    async with running(machine) as daemon:
        machine.run_spool_megabytes = 2
        run_id = await daemon.start("round")
        spools = [await wrote(daemon, MEBIBYTE) for _ in range(3)]
        turn = await daemon.turn()
        assert [spool.exists() for spool in spools] == [False, True, True]
        note = spools[0].with_name("removed.txt").read_text()
        assert "limits.run_spool_megabytes = 2 (MiB)" in note
        [said] = fields_of(daemon.logged, "Output of earlier turns removed")
        assert (said["run_id"], said["turns"]) == (run_id, 1)
        turn.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_the_newest_output_stays_however_long_it_is(machine: Machine) -> None:
    machine.recipe(ROUND, "round")
    async with running(machine) as daemon:
        machine.run_spool_megabytes = 1
        await daemon.start("round")
        spools = [await wrote(daemon, 5 * MEBIBYTE) for _ in range(2)]
        await daemon.turn()
        assert [spool.exists() for spool in spools] == [False, True]


async def test_the_next_daemon_counts_what_an_earlier_one_kept(machine: Machine) -> None:
    machine.recipe(ROUND, "round")
    async with running(machine) as daemon:
        await daemon.start("round")
        spools = [await wrote(daemon, MEBIBYTE) for _ in range(3)]
        turn = await daemon.turn()
    async with running(machine) as daemon:
        machine.run_spool_megabytes = 2
        turn.complete("again")
        await daemon.turn()
        assert [spool.exists() for spool in spools] == [False, True, True]


async def three_turns(root: Path) -> None:
    """Three turns with more output than may stay, in a process that a failpoint kills."""
    machine = Machine(root)
    machine.recipe(ROUND, "round")
    machine.run_spool_megabytes = 2
    async with running(machine) as daemon:
        await daemon.start("round")
        for _ in range(3):
            await wrote(daemon, MEBIBYTE)
        await daemon.turn()


async def test_a_removal_that_was_killed_is_made_up_for_and_the_run_goes_on(tmp_path: Path) -> None:
    path = os.pathsep.join(sys.path)
    result = await trio.run_process(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path, VARIABLE: "spools.after-note"},
        check=False,
    )
    assert result.returncode == -signal.SIGKILL
    machine = Machine(tmp_path)
    assert len(list(machine.state.glob("turns/*/out.jsonl"))) == 3
    machine.run_spool_megabytes = 2
    async with running(machine) as daemon:
        [run] = await daemon.service.list_runs(True, 10)
        await wrote(daemon, MEBIBYTE)
        turn = await daemon.turn()
        assert len(list(machine.state.glob("turns/*/out.jsonl"))) == 2
        turn.complete()
        assert (await daemon.ended(run.run_id))["step_count"] == 5
