"""Cases of the kit: how a turn is stopped, and what it must not leave."""

from __future__ import annotations

import signal

import pytest
import trio

from podiumd.drivers import spooled
from podiumd.drivers.base import ApprovalRequested, Output, Started, TurnEvent
from podiumd.tools.process.processes import carriers
from tests.drivers.kit.bench import Bench, allow, command, only
from tests.drivers.kit.registry import case
from tests.drivers.rig import approvals, follow

SLEEP = "sleep 991"


async def _interrupted(bench: Bench, kind: type[TurnEvent]) -> None:
    """Interrupt a turn at its first event of a kind; it ends as such and leaves nothing."""
    asked = bench.request()
    async with bench.turn(asked) as turn:
        async for event in turn:
            if isinstance(event, kind):
                await turn.interrupt()
    assert turn.report.kind == "interrupted", turn.report
    assert carriers(asked.turn_id) == []


@case("34")
async def it_is_interrupted_while_it_speaks(bench: Bench) -> None:
    bench.script({"text": "half an answer", "then": "hold"}, {"text": "must not come"})
    await _interrupted(bench, Output)
    assert len(bench.asked) == 1


@case("34b")
async def words_that_were_in_line_are_withdrawn_with_it(bench: Bench) -> None:
    bench.script({"text": "half an answer", "then": "hold"}, {"text": "must not come"})
    steer = "00000000-0000-4000-8000-0000000000aa"
    async with bench.turn() as turn:
        async for event in turn:
            if isinstance(event, Output):
                assert await turn.steer("more", steer)
                await turn.interrupt()
    assert turn.report.kind == "interrupted" and turn.report.undelivered == (steer,)
    assert bench.prompts == ["go"]


@case("35")
async def it_is_interrupted_in_a_tool(bench: Bench) -> None:
    bench.script({"tools": [command(f"echo x > begun; {SLEEP}", ask=False)]}, {"text": "no more"})
    asked = bench.request()
    async with bench.turn(asked) as turn, trio.open_nursery() as nursery:

        async def stop() -> None:
            await bench.until(bench.rig.work, (bench.rig.work / "begun").exists)
            await turn.interrupt()

        nursery.start_soon(stop)
        await follow(turn)
    assert turn.report.kind == "interrupted" and carriers(asked.turn_id) == []
    assert len(bench.asked) == 1


@case("36")
async def it_is_interrupted_while_a_person_is_asked(bench: Bench) -> None:
    bench.script({"tools": [command("touch made")]}, {"text": "no more"})
    await _interrupted(bench, ApprovalRequested)
    assert bench.ran == [] and len(bench.asked) == 1


@case("37")
async def it_is_interrupted_before_it_has_begun(bench: Bench) -> None:
    bench.script({"text": "must not come"}, silent=True)
    await _interrupted(bench, Started)
    assert bench.asked == []


@case("38")
async def one_that_hears_no_interrupt_is_ended(bench: Bench) -> None:
    bench.script({"text": "half", "then": "hold"}, deaf=True)
    await _interrupted(bench, Output)


@case("39")
async def what_a_tool_has_left_running_is_ended_and_told(bench: Bench) -> None:
    bench.script({"tools": [command("true", ask=False)]}, {"text": "Done."}, leaves=SLEEP)
    asked = bench.request()
    report, _ = await bench.play(asked)
    assert report.kind == "done" and carriers(asked.turn_id) == []
    assert any(SLEEP in line for line in report.background_stopped)


@case("40")
async def one_that_ignores_every_word_and_sigterm_is_killed(bench: Bench) -> None:
    bench.script({"text": "Hello."}, stays=True, immortal=True)
    asked = bench.request()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spooled, "CLOSING_SECONDS", 0.3)
        report, _ = await bench.play(asked)
    assert (report.kind, report.exit_status) == ("done", -signal.SIGKILL)
    assert carriers(asked.turn_id) == []


@case("40b")
async def a_silent_turn_is_over_its_time(bench: Bench) -> None:
    bench.script({"text": "Never said."}, silent=True)
    report, _ = await bench.play(bench.request(idle_timeout_seconds=0.2))
    assert report.kind == "timeout" and bench.asked == []


@case("41", still=True)
async def silence_is_no_trouble_while_a_person_is_asked(bench: Bench) -> None:
    bench.script({"tools": [command("true")]}, {"text": "Done."})
    asked = bench.request()
    async with bench.turn(asked) as turn:
        events: list[TurnEvent] = []
        while not approvals(events):
            events.append(await anext(turn))
        bench.pass_time(3 * asked.idle_timeout_seconds)
        await bench.nothing_more(turn)
        for one in only(events, ApprovalRequested):
            await allow(turn, one)
        await follow(turn)
    assert turn.report.kind == "done" and bench.ran == ["true"]


@case("41b", still=True)
async def one_that_only_tries_again_is_as_good_as_silent(bench: Bench) -> None:
    bench.script({"then": "retries"})
    asked = bench.request()
    async with bench.turn(asked) as turn:
        events: list[TurnEvent] = []
        gate = bench.rig.home / "again"
        while not any(one.kind == "status" for one in only(events, Output)):
            events.append(await anext(turn))
        bench.pass_time(0.9 * asked.idle_timeout_seconds)
        await trio.to_thread.run_sync(lambda: gate.open("wb").close())
        while sum(one.kind == "status" for one in only(events, Output)) < 2:
            events.append(await anext(turn))
        bench.pass_time(0.2 * asked.idle_timeout_seconds)
        await follow(turn)
    assert turn.report.kind == "timeout"
    assert turn.report.seconds < 1.5 * asked.idle_timeout_seconds, "by the clock that stands still"
