"""What is over is kept as long as the settings say, and what is in use longer."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
import trio
import trio.testing
from msgspec.structs import replace

from podiumd.config.settings import RetentionSettings
from podiumd.core.times import wire_time
from podiumd.runtime.context import Context
from podiumd.runtime.maintenance import housekeeping
from podiumd.runtime.maintenance.housekeeping import DAY_SECONDS, daily, tidy
from podiumd.store.facts import Store, open_store
from tests.long import sampled
from tests.patience import HANG_SECONDS
from tests.runtime.harness import Machine, fields_of, running
from tests.store.support import a_fact, a_run


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


def left_over_in(place: Path, names: Sequence[str]) -> Path:
    place.mkdir()
    for name in names:
        (place / name).mkdir()
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


async def test_it_is_done_at_once_and_again_each_day(
    mock_clock: trio.testing.MockClock,
) -> None:
    done: list[float] = []
    began = trio.current_time()

    async def tidied() -> None:
        done.append(trio.current_time() - began)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(daily, tidied)
        for _ in range(2):
            await trio.testing.wait_all_tasks_blocked()
            mock_clock.jump(DAY_SECONDS)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert done == [0, DAY_SECONDS, 2 * DAY_SECONDS]


LONG_AGO = "2020-01-01T00:00:00.000Z"


async def last_years(store: Store, count: int) -> list[str]:
    """Runs that ended long ago, each with a turn and its token; the newest run is another."""
    names = [f"old-{number:03}" for number in range(count)]
    for name in names:
        run = a_run(name, status="ended", ended_at=LONG_AGO, session_id=name)
        turn = a_fact(type="turn.intended", data=msgspec.json.encode({"turn_id": f"turn-{name}"}))
        await store.append(run, [turn, a_fact()], token=("runs.start", name, "digest"))
    await store.append(a_run("new"), [a_fact()])
    return names


async def test_nothing_is_forgotten_before_the_daemon_answers(machine: Machine) -> None:
    """What a start waits for is ``restore``: its work does not grow with the runs that are due."""
    async with open_store(machine.state) as store:
        old = await last_years(store, 3)
    async with running(machine) as daemon:
        assert [await daemon.store.run(name) is not None for name in old] == [True] * 3
        await tidy(keeping(daemon.context, runs_days=365), nothing_in_use)
        assert [await daemon.store.run(name) for name in old] == [None] * 3


async def test_runs_are_forgotten_some_at_once_with_a_rest_after_each(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert housekeeping.RUNS_AT_ONCE <= 50, "who waits behind one transaction waits for so many"
    rests: list[float] = []

    async def rest(seconds: float) -> None:
        rests.append(seconds)

    monkeypatch.setattr(housekeeping, "_rest", rest)
    async with running(machine) as daemon:
        old = await last_years(daemon.store, 2 * housekeeping.RUNS_AT_ONCE + 1)
        seconds = iter(range(100))  # a batch takes a second by this clock
        context = keeping(daemon.context, runs_days=365)
        slow = replace(context, clock=replace(context.clock, mono=lambda: float(next(seconds))))
        await tidy(slow, nothing_in_use)
        assert rests == [housekeeping.REST] * 3
        assert [await daemon.store.run(name) for name in old] == [None] * len(old)


async def test_forgetting_that_is_cancelled_says_how_far_it_came_and_goes_on_later(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        old = await last_years(daemon.store, housekeeping.RUNS_AT_ONCE + 1)
        context = keeping(daemon.context, runs_days=365)
        with trio.CancelScope() as scope:
            ticks = iter((0.0, HANG_SECONDS))  # it rests for long after the first batch

            def mono() -> float:
                tick = next(ticks)
                if tick:
                    scope.cancel()
                return tick

            await tidy(replace(context, clock=replace(context.clock, mono=mono)), nothing_in_use)
        left = [name for name in old if await daemon.store.run(name)]
        assert left == old[-1:]
        [line] = fields_of(daemon.logged, "Old runs forgotten")
        assert line["count"] == housekeeping.RUNS_AT_ONCE
        await tidy(context, nothing_in_use)
        assert await daemon.store.run(old[-1]) is None


TIDIES = """
import sys, trio
from pathlib import Path
from tests.runtime import test_housekeeping as h
trio.run(h.tidied_until_killed, Path(sys.argv[1]))
"""


async def tidied_until_killed(root: Path) -> None:
    """Tidy, in a process that a failpoint kills."""
    async with running(Machine(root), restore=False) as daemon:
        await tidy(keeping(daemon.context, runs_days=365), nothing_in_use)


@pytest.mark.parametrize("point", sampled(["forget.after-batch", "forget.after-files"]))
async def test_forgetting_that_was_killed_lost_nothing_but_what_was_due(
    tmp_path: Path, point: str
) -> None:
    machine = Machine(tmp_path)
    async with open_store(machine.state) as store:
        old = await last_years(store, housekeeping.RUNS_AT_ONCE + 1)
    spools = left_over_in(machine.state / "turns", [f"turn-{name}" for name in old])
    result = await trio.run_process(
        [sys.executable, "-c", TIDIES, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PODIUM_FAILPOINT": point},
        check=False,
    )
    assert result.returncode == -signal.SIGKILL
    async with running(machine) as daemon:
        kept = [name for name in old if await daemon.store.run(name)]
        assert kept == (old if point == "forget.after-files" else old[-1:])
        assert all([len(await daemon.store.events(name)) == 2 for name in kept])
        await tidy(keeping(daemon.context, runs_days=365), nothing_in_use)
        assert [await daemon.store.run(name) for name in old] == [None] * len(old)
        assert len(await daemon.store.events("new")) == 1
        assert names_in(spools) == set()


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
