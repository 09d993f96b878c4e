"""How a spooled turn ends when its agent does not do as it should."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from podiumd.agents.claude.driver import ClaudeDriver
from podiumd.core.prompts.tools import ToolSpec
from podiumd.drivers import spooled
from podiumd.drivers.base import (
    ApprovalRequested,
    Decision,
    HookRaised,
    Output,
    PromptState,
    ToolCalled,
    Turn,
    TurnEvent,
)
from podiumd.drivers.fifo import Fifo
from podiumd.drivers.spool import SpoolWatch, watch_spools
from podiumd.tools.process.processes import Identity, alive, carriers
from tests.drivers.rig import Rig, answering, approvals, follow, started, states, until
from tests.drivers.serving import SAVE
from tests.waits import waits_on


async def test_an_agent_that_obeys_ends_with_its_session(
    claude: ClaudeDriver, bench: Callable[..., Rig], mock_clock: MockClock
) -> None:
    async with claude.turn(bench("idle").request()) as turn:
        await follow(turn)
    assert (turn.report.kind, turn.report.exit_status) == ("done", 0)


async def test_what_a_turn_leaves_behind_is_for_its_user_alone(
    claude: ClaudeDriver, bench: Callable[..., Rig]
) -> None:
    rig, seen = bench("idle"), list[TurnEvent]()
    request = rig.request()
    before = os.umask(0)
    try:
        async with claude.turn(request) as turn:
            async for event in turn:
                seen.append(event)
                if states([event], request.prompt_uuid):
                    await turn.leave()
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in rig.turns.rglob("*")}
    async with claude.reattach(rig.pending(request, started(seen))) as again:
        await follow(again)
    assert {"in", "out.jsonl", "told"} <= modes.keys()
    assert all(mode & 0o077 == 0 for mode in modes.values()), modes


async def pass_steps(clock: MockClock, count: int) -> None:
    """Let the time of so many steps of an ending pass, each when all wait for the agent."""
    for _ in range(count):
        await trio.testing.wait_all_tasks_blocked()
        clock.jump(spooled.STEP_SECONDS)


async def test_one_that_ignores_the_end_of_session_is_terminated(
    claude: ClaudeDriver, bench: Callable[..., Rig], mock_clock: MockClock
) -> None:
    async with (
        trio.open_nursery() as nursery,
        claude.turn(bench("idle", "stays").request()) as turn,
    ):
        await follow(turn)
        nursery.start_soon(pass_steps, mock_clock, 1)
    assert (turn.report.kind, turn.report.exit_status) == ("done", -signal.SIGTERM)


async def test_one_that_ignores_that_too_is_killed(
    claude: ClaudeDriver, bench: Callable[..., Rig], mock_clock: MockClock
) -> None:
    rig = bench("stays", "deaf", "unstoppable")
    request = rig.request()
    async with trio.open_nursery() as nursery, claude.turn(request) as turn:
        async for event in turn:
            if states([event], request.prompt_uuid):
                await turn.interrupt()
                nursery.start_soon(pass_steps, mock_clock, 3)
    assert (turn.report.kind, turn.report.exit_status) == ("interrupted", -signal.SIGKILL)
    assert carriers(request.turn_id) == []


async def test_a_prompt_that_is_never_closed_is_broken_once_the_agent_idles(
    claude: ClaudeDriver, bench: Callable[..., Rig]
) -> None:
    async with claude.turn(bench("idle", "open").request()) as turn:
        await follow(turn)
    assert turn.report.kind == "broken" and "never said what became" in turn.report.detail


@pytest.mark.parametrize("word", ["torn", "garbage"])
async def test_a_hole_in_the_output_is_counted_and_the_turn_broken(
    claude: ClaudeDriver, bench: Callable[..., Rig], word: str
) -> None:
    async with claude.turn(bench("idle", word).request()) as turn:
        await follow(turn)
    assert (turn.report.kind, turn.report.bad_lines) == ("broken", 1)


async def test_one_that_exits_in_mid_turn_is_broken_with_its_status(
    claude: ClaudeDriver, bench: Callable[..., Rig]
) -> None:
    async with claude.turn(bench("exits").request()) as turn:
        await follow(turn)
    assert (turn.report.kind, turn.report.exit_status) == ("broken", 7)


async def test_silence_ends_the_turn(claude: ClaudeDriver, bench: Callable[..., Rig]) -> None:
    async with claude.turn(bench("silent").request(idle_timeout_seconds=0.3)) as turn:
        await follow(turn)
    assert turn.report.kind == "timeout"


@pytest.mark.parametrize("word", ["asks", "calls", "hooked"])
async def test_silence_is_no_trouble_while_the_agent_waits_for_us(
    claude: ClaudeDriver, bench: Callable[..., Rig], word: str, mock_clock: MockClock
) -> None:
    request = bench(word).request(served=(SAVE,))
    async with claude.turn(request) as turn:
        asked = await anext(turn)
        while not isinstance(asked, (ApprovalRequested, ToolCalled, HookRaised)):
            asked = await anext(turn)
        mock_clock.jump(2 * request.idle_timeout_seconds)
        await waits_on(anext, turn)  # for the answer
        match asked:
            case ApprovalRequested():
                assert await turn.answer(asked.request_id, Decision("allow"))
            case ToolCalled():
                assert await turn.reply_tool(asked.call_id, "Saved.", success=True)
            case HookRaised():
                assert await turn.settle_hook(asked.hook_id, None)
        await follow(turn)
    assert turn.report.kind == "done"


async def test_a_greeting_that_was_cancelled_is_sent_after_all(
    claude: ClaudeDriver, bench: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, stuck = Fifo.send, trio.Event()

    async def stick(fifo: Fifo, *lines: bytes) -> None:
        monkeypatch.setattr(Fifo, "send", sent)
        stuck.set()
        await trio.sleep_forever()

    async with claude.turn(bench("greets").request(served=(SAVE,))) as turn:
        await anext(turn)
        monkeypatch.setattr(Fifo, "send", stick)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow, turn)
            await stuck.wait()
            nursery.cancel_scope.cancel()
        await follow(turn)
    assert turn.report.kind == "done"


async def test_an_agent_that_takes_no_greeting_is_silent(
    claude: ClaudeDriver, bench: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stick(fifo: Fifo, *lines: bytes) -> None:
        await trio.sleep_forever()

    request = bench("greets").request(served=(SAVE,), idle_timeout_seconds=0.3)
    async with claude.turn(request) as turn:
        await anext(turn)
        monkeypatch.setattr(Fifo, "send", stick)
        await follow(turn)
        monkeypatch.undo()
    assert turn.report.kind == "timeout"


async def test_tools_too_long_to_be_told_fail_the_turn(
    claude: ClaudeDriver, bench: Callable[..., Rig]
) -> None:
    long = ToolSpec("save", "x" * (1 << 20), {"type": "object"})
    async with claude.turn(bench("greets").request(served=(long,))) as turn:
        await follow(turn)
    assert turn.report.kind == "failed"
    assert turn.report.detail.startswith("the agent cannot be told its tools: 1")


async def test_nothing_is_said_by_a_turn_that_was_left(
    claude: ClaudeDriver, bench: Callable[..., Rig]
) -> None:
    rig = bench("calls")
    request = rig.request(served=(SAVE,))
    async with claude.turn(request) as turn:
        seen = [await anext(turn)]
        while not isinstance(seen[-1], ToolCalled):
            seen.append(await anext(turn))
        await turn.leave()
        assert not await turn.reply_tool(seen[-1].call_id, "Saved.", success=True)
        assert not await turn.settle_hook(seen[-1].call_id, None)
    async with claude.reattach(rig.pending(request, started(seen), served=(SAVE,))) as again:
        events = [await anext(again), await anext(again)]
        assert events[1] == PromptState(request.prompt_uuid, "started")
        said, call = await anext(again), await anext(again)
        assert isinstance(said, Output) and (said.delta, said.again) == ("I ask.", True)
        assert call == seen[-1] and isinstance(call, ToolCalled)
        assert await again.reply_tool(call.call_id, "Saved.", success=True)
        await follow(again)
    assert again.report.kind == "done"


async def test_an_answer_is_sent_again_but_never_changed(
    claude: ClaudeDriver, bench: Callable[..., Rig]
) -> None:
    async def twice(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ApprovalRequested):
            assert await turn.answer(event.request_id, Decision("allow"))
            assert await turn.answer(event.request_id, Decision("deny"))

    async with claude.turn(bench("asks").request()) as turn:
        events = await follow(turn, twice)
    assert approvals(events) == ["Write"] and turn.report.kind == "done"


async def test_a_cut_line_ends_the_turn_as_broken_and_nothing_more_is_sent(
    claude: ClaudeDriver, bench: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = bench().request()
    real = os.write
    async with claude.turn(request) as turn:
        async for event in turn:
            if states([event], request.prompt_uuid):
                monkeypatch.setattr(
                    "podiumd.drivers.fifo.os.write", lambda fd, data: real(fd, data[:9])
                )
                assert not await turn.steer("more", "steer-1")
                monkeypatch.undo()
    assert turn.report.kind == "broken" and turn.report.exit_status == -signal.SIGTERM
    assert turn.report.undelivered == ()


async def test_an_agent_that_writes_without_end_is_stopped(
    bench: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spooled, "MEBIBYTE", 10)
    async with watch_spools() as watch:
        claude = ClaudeDriver(watch, lambda: 1)
        async with claude.turn(bench("asks").request()) as turn:
            await follow(turn)
    assert turn.report.kind == "failed"
    assert turn.report.detail == (
        "the agent wrote more than 1 MiB of output (limits.spool_megabytes)"
    )


async def test_an_error_around_a_turn_comes_out_as_it_was_and_the_agent_is_ended(
    claude: ClaudeDriver, bench: Callable[..., Rig]
) -> None:
    request = bench().request()

    async def failing() -> None:
        async with claude.turn(request) as turn:
            await anext(turn)
            raise KeyError("mine")

    with pytest.raises(KeyError):
        await failing()
    assert carriers(request.turn_id) == []


async def test_leaving_holds_also_in_a_cancelled_task(
    claude: ClaudeDriver, bench: Callable[..., Rig], watch: SpoolWatch
) -> None:
    rig = bench("asks", "idle")
    request = rig.request()
    with trio.CancelScope() as scope:
        async with claude.turn(request) as turn:
            first = started([await anext(turn)])
            scope.cancel()
            await turn.leave()
    assert alive(Identity(first.pid, first.proc_start))
    with pytest.raises(RuntimeError, match="no report"):
        turn.report  # noqa: B018
    spool = Path(request.directory, "out.jsonl")
    await until(watch, spool.parent, lambda: b"can_use_tool" in spool.read_bytes())
    async with claude.reattach(rig.pending(request, first)) as again:
        events = await follow(again, answering(Decision("allow")))
    assert started(events) == first and approvals(events) == ["Write"]
    assert again.report.kind == "done" and again.report.exit_status is None


async def test_what_was_said_is_not_told_again_but_the_fate_of_messages_and_open_approvals_are(
    claude: ClaudeDriver, bench: Callable[..., Rig], watch: SpoolWatch
) -> None:
    rig = bench("asks")
    request = rig.request()
    async with claude.turn(request) as turn:
        first: list[TurnEvent] = []
        while not approvals(first):
            first += [await anext(turn)]
        await turn.leave()
    async with claude.reattach(rig.pending(request, started(first))) as again:
        events = await follow(again, answering(Decision("allow")))
    said = [event for event in first if isinstance(event, Output)]
    assert said and not [event for event in events if event in said]
    assert states(first, request.prompt_uuid) == ["started"]
    assert states(events, request.prompt_uuid) == ["started", "completed"]
    assert approvals(events) == ["Write"]


async def test_a_turn_whose_agent_is_gone_cannot_be_taken_up(
    claude: ClaudeDriver, bench: Callable[..., Rig]
) -> None:
    rig = bench("idle")
    request = rig.request()
    async with claude.turn(request) as turn:
        events = await follow(turn)
    with pytest.raises(LookupError, match="no living agent"):
        async with claude.reattach(rig.pending(request, started(events))):
            pytest.fail("must not be entered")
    assert (await claude.inspect(rig.pending(request, None))).state == "finished"


async def test_a_turn_that_was_never_born_takes_nothing(
    claude: ClaudeDriver, bench: Callable[..., Rig]
) -> None:
    async with claude.turn(bench().request(command=("no-such-agent",))) as turn:
        assert await follow(turn) == []
        assert not await turn.steer("more", "steer-1")
        assert not await turn.answer("r1", Decision("allow"))
        assert not await turn.reply_tool("r1", "Saved.", success=True)
        assert not await turn.settle_hook("r1", None)
        await turn.interrupt()
        await turn.leave()
    assert turn.report.kind == "failed" and "no-such-agent" in turn.report.detail
