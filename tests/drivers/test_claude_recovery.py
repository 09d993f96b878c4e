"""The real ``claude`` outlives its daemon, or dies before it: nothing is lost or doubled."""

from __future__ import annotations

import fcntl
import os
import signal

import pytest
import trio

from podiumd.agents.claude.driver import ClaudeDriver
from podiumd.drivers.base import Output, TurnEvent
from podiumd.drivers.spool import SpoolWatch
from tests.drivers.rig import (
    ALLOW,
    Rig,
    answering,
    approvals,
    bash,
    follow,
    in_thread,
    play,
    started,
    until,
    write,
)
from tests.fakes.model_server import ModelServer
from tests.patience import HANG_SECONDS

pytestmark = [pytest.mark.claude, pytest.mark.slow]


async def test_a_turn_that_was_let_go_runs_on_with_its_lease_and_is_taken_up(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    target = rig.work / "a.txt"
    server.load({"turns": [{"text": "first", **write(target, "a")}, {"text": "last"}]})
    mine = os.open(rig.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
    request = rig.request(lease_fd=mine)
    seen: list[TurnEvent] = []
    async with claude.turn(request) as turn:
        async for event in turn:
            seen.append(event)
            if approvals([event]):
                await turn.leave()
    os.close(mine)
    other = os.open(rig.root / "lock", os.O_RDWR | os.O_CLOEXEC)
    with pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    pending = rig.pending(request, started(seen))
    settled = await claude.inspect(pending)
    assert (settled.state, settled.pid) == ("running", started(seen).pid)
    with trio.fail_after(HANG_SECONDS):
        async with claude.reattach(pending) as again:
            events = await follow(again, answering(ALLOW))
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)
    assert approvals(events) == ["Write"] and target.read_text() == "a"
    assert again.report.kind == "done" and again.report.texts == ("first", "last")
    assert len(server.requests) == 2
    said = [e for e in [*seen, *events] if isinstance(e, Output) and e.kind == "text"]
    assert "".join(e.delta for e in said if not e.again) == "firstlast"
    assert [e.delta for e in said if e.again] == ["first"]


async def test_an_agent_killed_while_the_model_answers_is_absent_and_its_prompt_runs_once_more(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    server.load({"turns": [{"text": "half an answer", "hold": "half"}, {"text": "whole"}]})
    request = rig.request()
    async with claude.turn(request) as turn:
        first = started([await anext(turn)])
        await in_thread(server.wait_holding, "half")
        os.kill(first.pid, signal.SIGKILL)
        await follow(turn)
    assert turn.report.kind == "broken"
    settled = await claude.inspect(rig.pending(request, first))
    assert settled.state == "absent" and not settled.tool_begun
    mode = "resume" if settled.session_exists else "new"
    again, _ = await play(claude, rig.request(prompt_uuid=request.prompt_uuid, session_mode=mode))
    assert again.report.kind == "done" and again.report.texts == ("whole",)


async def test_an_agent_killed_in_a_tool_leaves_no_child_and_is_broken(
    claude: ClaudeDriver, rig: Rig, server: ModelServer, watch: SpoolWatch
) -> None:
    server.load({"turns": [bash("echo x > begun; sleep 1000"), {"text": "done"}]})
    request = rig.request(allow=("Bash",))
    events: list[TurnEvent] = []
    with trio.fail_after(HANG_SECONDS):
        async with claude.turn(request) as turn, trio.open_nursery() as nursery:

            async def kill() -> None:
                await until(watch, rig.work, (rig.work / "begun").exists)
                os.kill(started(events).pid, signal.SIGKILL)

            nursery.start_soon(kill)
            async for event in turn:
                events += [event]
    assert turn.report.kind == "broken" and turn.report.tool_begun
    assert any("sleep 1000" in line for line in turn.report.background_stopped)
