"""What is over is kept as long as the settings say, and what is in use longer."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import trio
import trio.testing
from msgspec.structs import replace

from podiumd.config import RetentionSettings
from podiumd.core.times import wire_time
from podiumd.runtime import housekeeping
from podiumd.runtime.context import Context
from podiumd.runtime.housekeeping import DAY_SECONDS, tidy, tidy_daily
from tests.runtime.harness import Machine, fields_of, running, virtual


def keeping(context: Context, **kept: int) -> Context:
    return replace(context, retention=lambda: RetentionSettings(**kept))


def nothing_in_use() -> tuple[list[str], list[str]]:
    return [], []


def left_over(context: Context, kind: str, *names: str) -> Path:
    """Directories of runs that ended badly, the first the oldest."""
    place = context.state / kind
    place.mkdir(exist_ok=True)
    for age, name in enumerate(names):
        (place / name).mkdir()
        (place / name / "file").write_text("x")
        os.utime(place / name, (age, age))
    return place


def names_in(place: Path) -> set[str]:
    return {path.name for path in place.iterdir()}


async def test_as_many_spools_and_logs_are_kept_as_the_settings_say(machine: Machine) -> None:
    async with running(machine) as daemon:
        context = keeping(daemon.context, failed_turns=2, failed_checks=1)
        turns = left_over(context, "turns", "a", "b", "c", "d")
        checks = left_over(context, "checks", "w", "x", "y")
        await tidy(context, lambda: (["a"], ["w"]))
        assert names_in(turns) == {"a", "c", "d"}
        assert names_in(checks) == {"w", "y"}


async def test_a_turn_that_begins_meanwhile_is_not_taken_for_an_old_one(machine: Machine) -> None:
    async with running(machine) as daemon:
        context = keeping(daemon.context, failed_turns=0)
        turns = left_over(context, "turns", "old")

        def begins() -> tuple[list[str], list[str]]:
            (turns / "new").mkdir(exist_ok=True)
            return [], []

        await tidy(context, begins)
        assert names_in(turns) == {"new"}


async def test_a_run_is_forgotten_with_all_that_is_stored_of_it_when_its_days_are_over(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        ended = []
        for text in ("one", "two", "three"):
            went = await daemon.prompt(text)
            (await daemon.turn()).complete()
            await daemon.service.ended_turn(went["run_id"])
            ended.append(went)
        context, store = daemon.context, daemon.store
        oldest = ended[0]
        place = left_over(context, "turns", oldest["turn_id"], "nobodys")
        at = context.clock.wall() + timedelta(days=30, seconds=1)
        later = replace(context, clock=replace(context.clock, wall=lambda: at))

        await tidy(keeping(later, runs_days=31), nothing_in_use)
        assert all([await store.run(one["run_id"]) for one in ended])
        await tidy(keeping(later, runs_days=0), nothing_in_use)
        assert all([await store.run(one["run_id"]) for one in ended])

        before = await store.last_pos()
        await tidy(keeping(later, runs_days=30, failed_turns=9), nothing_in_use)
        kept = [await store.run(one["run_id"]) is not None for one in ended]
        assert kept == [False, False, True], "the newest keeps the count of what comes after it"
        assert await store.events(oldest["run_id"]) == []
        assert await store.last_pos() == before
        assert names_in(place) == {"nobodys"}
        event, fields = daemon.logged[-1]
        assert (event, fields["count"]) == ("Old runs forgotten", 2)


async def test_a_run_that_goes_on_is_never_old(machine: Machine) -> None:
    async with running(machine) as daemon:
        went = await daemon.prompt("one")
        turn = await daemon.turn()
        other = await daemon.prompt("two")
        (await daemon.turn()).complete()
        await daemon.service.ended_turn(other["run_id"])
        far = wire_time(daemon.context.clock.wall() + timedelta(days=9999))
        assert went["run_id"] not in await daemon.store.runs_ended_before(far, 10)
        turn.complete()


async def test_it_is_done_again_each_day(
    machine: Machine, mock_clock: trio.testing.MockClock
) -> None:
    async with virtual(machine) as daemon, trio.open_nursery() as nursery:
        context = keeping(daemon.context, failed_turns=0)
        nursery.start_soon(tidy_daily, context, nothing_in_use)
        await trio.testing.wait_all_tasks_blocked()
        turns = left_over(context, "turns", "old")
        mock_clock.jump(DAY_SECONDS - 1)
        await trio.testing.wait_all_tasks_blocked()
        assert names_in(turns) == {"old"}
        mock_clock.jump(1)
        for _ in range(1_000_000):  # a thread is at it: the clock stands still meanwhile
            await trio.lowlevel.checkpoint()
            if not names_in(turns):
                break
        assert names_in(turns) == set()
        nursery.cancel_scope.cancel()


def test_runs_are_forgotten_in_small_transactions() -> None:
    assert housekeeping.RUNS_AT_ONCE <= 100


async def test_a_directory_that_cannot_be_looked_through_is_said_and_the_daemon_goes_on(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        (daemon.context.state / "turns").write_text("no directory")
        context = keeping(daemon.context, failed_checks=0)
        checks = left_over(context, "checks", "x")
        await tidy(context, nothing_in_use)
        [line] = fields_of(daemon.logged, "Not tidied")
        assert line["reason"] == "Not a directory"
        assert names_in(checks) == set()
