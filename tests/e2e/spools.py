"""Waiting for what an agent writes into its spool while no daemon looks."""

from __future__ import annotations

from pathlib import Path

import trio

from podiumd.drivers.spool import watch_spools
from tests.e2e.machine import Machine
from tests.patience import HANG_SECONDS

IDLE = '"state":"idle"'


def turn_directory(machine: Machine, turn_id: str) -> Path:
    """Where the files of a turn are."""
    return machine.podium_home / "state" / "turns" / turn_id


async def until_written(machine: Machine, turn_id: str, words: str = IDLE) -> None:
    """Wait until the agent of a turn has written some words; by default that it is idle."""
    directory = turn_directory(machine, turn_id)
    with trio.fail_after(HANG_SECONDS):
        async with watch_spools() as watch:
            with watch.follow(directory) as bell:
                while words not in (directory / "out.jsonl").read_text(errors="replace"):
                    await bell.wait()
