"""What the daemon counts, and how little it costs."""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from podiumd.observe.loop_delay import REPORT_SECONDS, PassLength, measured, open_files, report
from podiumd.observe.metrics import BOUNDS_SECONDS, Histogram, Meters, quantile
from podiumd.store.records import StoredFact
from tests.work import at_most_lines


def fact(kind: str, data: Any, run_id: str = "r") -> StoredFact:
    return StoredFact(1, 1, run_id, kind, 1, "", None, msgspec.Raw(msgspec.json.encode(data)))


@given(st.lists(st.floats(min_value=0, max_value=4.9), min_size=1), st.floats(0.01, 1))
def test_a_quantile_is_never_below_the_time_it_stands_for(times: list[float], share: float) -> None:
    histogram = Histogram()
    for one in times:
        histogram.add(one)
    exact = sorted(times)[max(0, -(-int(share * len(times) * 1000) // 1000) - 1)]
    found = quantile(histogram.counts, share)
    assert exact <= found
    assert found == min(bound for bound in BOUNDS_SECONDS if bound >= found)
    assert histogram.longest == max(times) and histogram.count == len(times)


def test_of_nothing_a_quantile_is_nothing_and_above_the_bounds_it_is_endless() -> None:
    histogram = Histogram()
    assert quantile(histogram.counts, 0.99) == 0.0
    histogram.add(60)
    assert quantile(histogram.counts, 0.5) == float("inf")


def test_facts_are_counted_by_what_they_say() -> None:
    meters = Meters()
    meters.kind_of = {"r": "recipe", "p": "prompt"}.get
    meters.take(
        [
            fact("run.started", {"kind": "recipe", "run_id": "r"}),
            fact("run.started", {"kind": "prompt"}, "p"),
            fact("step.entered", {}),
            fact("turn.ended", {"report": {"kind": "done"}, "turn_id": "t"}),
            fact("turn.ended", {"report": {"kind": "done"}}),
            fact("run.ended", {"exit": {"class": "completed", "reason": "x"}}),
            fact("run.ended", {"exit": {"class": "error"}}, "p"),
            fact("run.ended", {"exit": {"class": "error"}}, "gone"),
        ]
    )
    text = meters.exposition().splitlines()
    assert [row for row in text if row.startswith(("podium_run", "podium_turn", "podium_pr"))] == [
        'podium_runs_started_total{kind="recipe"} 1',
        'podium_runs_started_total{kind="prompt"} 1',
        'podium_runs_total{kind="prompt",class="error"} 1',
        'podium_runs_total{kind="recipe",class="completed"} 1',
        'podium_runs_total{kind="unknown",class="error"} 1',
        "podium_prompts_total 1",
        'podium_turns_total{end="done"} 2',
    ]


def test_a_label_cannot_break_out_of_its_quotes() -> None:
    meters = Meters()
    meters.take([fact("turn.ended", {"report": {"kind": 'a"\\\n'}})])
    assert 'podium_turns_total{end="a\\"\\\\\\n"} 1' in meters.exposition().splitlines()


async def test_every_pass_of_the_loop_is_measured_and_only_while_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr("podiumd.observe.loop_delay.perf_counter", lambda: now)
    histogram = Histogram()
    with measured(histogram):
        await trio.lowlevel.checkpoint()
        now += 0.02
        await trio.testing.wait_all_tasks_blocked()
    seen = histogram.count
    assert seen and histogram.longest == 0.02
    assert quantile(histogram.counts, 1.0) == 0.025
    await trio.testing.wait_all_tasks_blocked()
    assert histogram.count == seen


def test_a_pass_costs_a_few_lines_to_measure() -> None:
    """An idle loop makes no pass and so pays nothing."""
    instrument = PassLength(Histogram())
    with at_most_lines(10):
        instrument.after_io_wait(0.0)
        instrument.before_io_wait(0.0)


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [one.__dict__["podium"] for one in caplog.records if one.message == "Metrics"]


async def test_a_line_is_written_while_something_goes_on_and_none_when_nothing_does(
    caplog: pytest.LogCaptureFixture, mock_clock: trio.testing.MockClock
) -> None:
    caplog.set_level(logging.INFO, "podium")
    meters = Meters()
    working = 0
    meters.gauge("agents_working", "Runs.", lambda: working)
    meters.gauge("share", "Part.", lambda: 0.12345)

    async def jump(seconds: float) -> None:
        mock_clock.jump(seconds)
        await trio.testing.wait_all_tasks_blocked()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(report, meters)
        await trio.testing.wait_all_tasks_blocked()
        assert trio.lowlevel.current_statistics().seconds_to_next_deadline == float("inf")
        await jump(10 * REPORT_SECONDS)
        assert lines(caplog) == []

        meters.rpc_requests.add()
        meters.loop.add(0.003)
        await trio.testing.wait_all_tasks_blocked()
        await jump(REPORT_SECONDS)
        (line,) = lines(caplog)
        assert line["rpc_requests"] == 1 and line["share"] == 0.123 and line["agents_working"] == 0
        assert line["loop_p99_ms"] == 5.0 and line["loop_longest_ms"] == 3.0
        assert line["loop_passes"] == 1 and meters.loop.longest == 0.0
        assert trio.lowlevel.current_statistics().seconds_to_next_deadline == float("inf")

        working = 1  # an agent that says nothing is at work all the same
        meters.received.add()
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(3):
            await jump(REPORT_SECONDS)
        assert len(lines(caplog)) == 4
        assert lines(caplog)[-1]["loop_passes"] == 0
        working = 0
        await jump(REPORT_SECONDS)
        await jump(10 * REPORT_SECONDS)
        assert len(lines(caplog)) == 5
        nursery.cancel_scope.cancel()


def test_open_descriptors_are_counted(tmp_path: Path) -> None:
    before = open_files()
    descriptor = os.open(tmp_path, os.O_RDONLY)
    assert open_files() == before + 1
    os.close(descriptor)
    assert open_files() == before


async def test_figures_that_cannot_be_taken_are_said_and_taken_again(
    caplog: pytest.LogCaptureFixture, mock_clock: trio.testing.MockClock
) -> None:
    caplog.set_level(logging.INFO, "podium")
    meters = Meters()
    left = 0

    def files() -> float:
        if not left:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return left

    meters.gauge("open_files", "Descriptors.", files)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(report, meters)
        meters.rpc_requests.add()
        await trio.testing.wait_all_tasks_blocked()
        mock_clock.jump(REPORT_SECONDS)
        await trio.testing.wait_all_tasks_blocked()
        assert [one.message for one in caplog.records] == ["Metrics not taken"]
        left = 5
        mock_clock.jump(REPORT_SECONDS)
        await trio.testing.wait_all_tasks_blocked()
        assert lines(caplog)[0]["open_files"] == 5
        nursery.cancel_scope.cancel()
