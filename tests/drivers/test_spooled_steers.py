"""What is said into a running turn, and when it is handed over."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
import trio
import trio.testing

from podiumd.agents.claude.driver import ClaudeDriver
from podiumd.drivers.base import ApprovalRequested, Decision, Output, Turn, TurnEvent
from podiumd.drivers.fifo import LineTooLong
from podiumd.tools.process.processes import carriers
from tests.drivers.rig import Rig, follow, states


async def test_a_steer_waits_until_the_prompt_is_taken_up(
    claude: ClaudeDriver, bench: Callable[..., Rig]
) -> None:
    """Claude Code joins what it finds together; so nothing is written before."""
    rig = bench("waits")
    gate = rig.work / "gate"
    os.mkfifo(gate)
    request = rig.request()
    seen: list[str] = []

    async def say(turn: Turn) -> None:
        assert await turn.steer("more", "steer-1")
        seen.append("written")

    async with claude.turn(request) as turn, trio.open_nursery() as nursery:
        nursery.start_soon(say, turn)
        async for event in turn:
            if isinstance(event, Output) and event.delta == "I wait.":
                await trio.testing.wait_all_tasks_blocked()
                assert seen == []
                gate.open("wb").close()
            seen += states([event], request.prompt_uuid)
    assert seen[:2] == ["started", "written"]
    assert turn.report.undelivered == ()


async def test_a_steer_that_waited_for_a_prompt_nobody_took_up_is_too_late(
    claude: ClaudeDriver, bench: Callable[..., Rig]
) -> None:
    taken: list[bool] = []

    async def say(turn: Turn) -> None:
        taken.append(await turn.steer("more", "steer-1"))

    async with claude.turn(bench("silent").request()) as turn, trio.open_nursery() as nursery:
        nursery.start_soon(say, turn)
        await trio.testing.wait_all_tasks_blocked()
        await turn.interrupt()
        await follow(turn)
    assert (taken, turn.report.undelivered) == ([False], ())


async def test_a_steer_that_waits_is_let_go_with_the_turn(
    claude: ClaudeDriver, bench: Callable[..., Rig]
) -> None:
    taken: list[bool] = []

    async def say(turn: Turn) -> None:
        taken.append(await turn.steer("more", "steer-1"))

    request = bench("silent").request()
    async with claude.turn(request) as turn, trio.open_nursery() as nursery:
        nursery.start_soon(say, turn)
        await trio.testing.wait_all_tasks_blocked()
        await turn.leave()
        await follow(turn)
    assert taken == [False]
    for agent in carriers(request.turn_id):
        os.kill(agent.pid, signal.SIGKILL)


async def test_a_steer_too_long_is_refused_and_the_turn_goes_on(
    claude: ClaudeDriver, bench: Callable[..., Rig]
) -> None:
    async def long(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ApprovalRequested):
            with pytest.raises(LineTooLong, match="attach it as a file"):
                await turn.steer("x" * (1 << 20), "steer-1")
            assert await turn.answer(event.request_id, Decision("allow"))

    async with claude.turn(bench("asks").request()) as turn:
        await follow(turn, long)
    assert turn.report.kind == "done" and turn.report.undelivered == ()
