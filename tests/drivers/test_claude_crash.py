"""The daemon is killed at each of the driver's boundaries; the turn's work is done exactly once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import trio
from msgspec.structs import replace

import podiumd
from podiumd.agents.claude.driver import ClaudeDriver
from podiumd.core.reply.report import TurnReport
from podiumd.drivers.base import Decision, TurnEvent
from tests.drivers.rig import STEER, Rig, answering, bash, follow, in_thread, started, states
from tests.drivers.serving import EVERY_TOOL, SAVE, Podium, save
from tests.fakes.model_server import ModelServer
from tests.long import sampled
from tests.patience import HANG_SECONDS

pytestmark = [pytest.mark.claude, pytest.mark.slow]

ABSENT = ["turn.fifo-written"]
RUNNING = [
    "turn.after-spawn",
    "turn.first-output",
    "turn.tool-begun",
    "steer.before-write",
    "steer.after-write",
    "answer.before-write",
    "answer.after-write",
    "turn.idle-seen",
]
FINISHED = ["turn.ended-process", "turn.swept"]
IN_TURN = [*RUNNING, *FINISHED, *ABSENT]
SERVED = [
    "turn.after-spawn",
    *(f"handshake.{when}-write:{hit}" for hit in (1, 2, 3) for when in ("before", "after")),
    "tool.before-reply",
    "tool.after-reply",
    *(f"hook.{when}-settle:{hit}" for hit in (1, 2) for when in ("before", "after")),
]


def crash(rig: Rig, request: object, failpoint: str) -> None:
    """Run the turn in a daemon that dies at the failpoint."""
    file = rig.root / "request.json"
    file.write_bytes(msgspec.json.encode(request))
    daemon, checkout = Path(podiumd.__file__).parents[1], Path(__file__).parents[2]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{daemon}{os.pathsep}{checkout}",
        "PODIUM_FAILPOINT": failpoint,
    }
    command = [sys.executable, str(Path(__file__).with_name("one_turn.py")), str(file)]
    done = subprocess.run(
        command, env=environment, capture_output=True, timeout=HANG_SECONDS, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.mark.parametrize("failpoint", sampled(IN_TURN))
async def test_a_daemon_killed_at_this_point_loses_and_doubles_nothing(
    claude: ClaudeDriver, rig: Rig, server: ModelServer, failpoint: str
) -> None:
    command = "echo x >> effects"
    tool = {"name": "Bash", "input": {"command": command, "description": "effect"}}
    server.load({"turns": [{"text": "first", "tools": [tool]}, {"text": "last"}]})
    request = rig.request()
    await trio.to_thread.run_sync(crash, rig, request, failpoint)

    sent = (request.prompt_uuid, STEER)
    steered = failpoint not in ("steer.before-write", *ABSENT, *RUNNING[:3])
    pending = rig.pending(request, None, sent_uuids=sent if steered else sent[:1])
    settled = await claude.inspect(pending)
    expected = {**dict.fromkeys(ABSENT, "absent"), **dict.fromkeys(FINISHED, "finished")}
    assert settled.state == expected.get(failpoint, "running"), settled.detail

    report: TurnReport | None = settled.report
    events: list[TurnEvent] = []
    with trio.fail_after(HANG_SECONDS):
        if settled.state == "running":
            async with claude.reattach(pending) as turn:
                events = await follow(turn, answering(Decision("allow")))
            report = turn.report
        elif settled.state == "absent":
            again = rig.request(prompt_uuid=request.prompt_uuid)
            async with claude.turn(again) as fresh:
                events = await follow(fresh, answering(Decision("allow")))
            report = fresh.report
    assert report is not None and report.kind == "done", report
    assert report.texts == ("first", "last")
    assert (rig.work / "effects").read_text() == "x\n"
    assert len(server.requests) == 2
    if steered and settled.state == "running":
        assert states(events, STEER)[-1] == "completed"


@pytest.mark.long("test_a_daemon_killed_at_this_point_loses_and_doubles_nothing")
async def test_the_agent_of_a_turn_begun_once_more_is_found_though_only_the_first_is_recorded(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    """The first agent died before it had answered; the daemon after the second was spawned."""
    server.load(
        {
            "turns": [
                {"text": "half", "hold": "half"},
                bash("echo x >> effects", "first"),
                {"text": "last"},
            ]
        }
    )
    request = rig.request()
    async with claude.turn(request) as turn:
        first = started([await anext(turn)])
        await in_thread(server.wait_holding, "half")
        os.kill(first.pid, signal.SIGKILL)
        await follow(turn)
    pending = rig.pending(request, first)
    absent = await claude.inspect(pending)
    assert absent.state == "absent"
    again = replace(request, session_mode="resume" if absent.session_exists else "new")
    await trio.to_thread.run_sync(crash, rig, again, "turn.after-spawn")

    settled = await claude.inspect(pending)
    assert settled.state == "running" and settled.pid not in (None, first.pid)
    with trio.fail_after(HANG_SECONDS):
        async with claude.reattach(pending) as taken_up:
            events = await follow(taken_up, answering(Decision("allow")))
    assert started(events).pid == settled.pid
    assert (taken_up.report.kind, taken_up.report.texts) == ("done", ("first", "last"))
    assert (rig.work / "effects").read_text() == "x\n"
    assert len(server.requests) == 3


@pytest.mark.parametrize("failpoint", sampled(SERVED))
async def test_a_daemon_killed_while_it_serves_is_followed_by_one_that_goes_on(
    claude: ClaudeDriver, rig: Rig, server: ModelServer, failpoint: str
) -> None:
    """Each call is done once and answered, each tool used once, whatever was said twice."""
    server.load({"turns": [save("x", "one"), bash("echo x >> effects", "two"), {"text": "three"}]})
    request = rig.request(served=(SAVE,), hooks=EVERY_TOOL, allow=("Bash",))
    await trio.to_thread.run_sync(crash, rig, request, failpoint)

    pending = rig.pending(request, None, served=(SAVE,))
    assert (await claude.inspect(pending)).state == "running"
    podium = Podium(rig.root / "calls.jsonl")
    with trio.fail_after(HANG_SECONDS):
        async with claude.reattach(pending) as turn:
            await follow(turn, podium)
    assert (turn.report.kind, turn.report.texts) == ("done", ("one", "two", "three"))
    assert [done["args"]["value"] for done in podium.done] == ["x"]
    assert (rig.work / "effects").read_text() == "x\n"
    told = [asked.result for asked in server.requests]
    assert told == ["", "Saved x.", "(Bash completed with no output)"]
