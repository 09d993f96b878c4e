"""Cases of the kit: the daemon dies, or its agent does. Nothing is lost, and nothing done twice."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import trio

from podiumd.drivers.base import ApprovalRequested, Output, SessionNamed, Started, Turn, TurnEvent
from podiumd.tools.process.processes import carriers
from tests.drivers.kit.bench import (
    ALLOWING,
    Bench,
    allow,
    command,
    on_approval,
    only,
    own_name,
    said,
)
from tests.drivers.kit.registry import case
from tests.drivers.rig import STEER, approvals, follow, states
from tests.patience import HANG_SECONDS

ENDS: Final = re.compile(rb'turn/completed|stopReason|"state": ?"idle"')
"""What an agent has written when its turn is over."""

ABSENT: Final = ("turn.fifo-written",)
BEFORE_ASKING: Final = ("turn.after-spawn", "turn.first-output", "turn.tool-begun")
KILLS: Final = (
    *ABSENT,
    *BEFORE_ASKING,
    "steer.before-write",
    "steer.after-write",
    "answer.before-write",
    "answer.after-write",
    "turn.idle-seen",
    "turn.ended-process",
    "turn.swept",
    "handshake.before-write",
    "handshake.after-write",
    "handshake.before-write:3",
    "handshake.after-write:3",
)


NO_NAME: Final = str.maketrans(".-:", "___")


def at_work(bench: Bench, event: TurnEvent) -> bool:
    """Whether the agent has its prompt: one that names its sessions gets it by a daemon."""
    named = bench.driver.capabilities.names_sessions
    return isinstance(event, SessionNamed if named else Started)


async def killed(bench: Bench, failpoint: str) -> None:
    """Be killed at this point: the prompt reaches the model once, the tool runs once."""
    bench.script({"text": "first", "tools": [command("echo x >> made")]}, {"text": "last"})
    request = bench.request()
    await bench.killed_at(failpoint, request)
    takes_words = bench.driver.capabilities.steer
    before = failpoint in ("steer.before-write", *ABSENT, *BEFORE_ASKING)
    steered = takes_words and not before and not failpoint.startswith("handshake.")
    sent = (request.prompt_uuid, STEER) if steered else (request.prompt_uuid,)
    report, events = await bench.goes_on(bench.pending(request, None, sent_uuids=sent), ALLOWING)
    assert (report.kind, report.texts) == ("done", ("first", "last")), report
    assert (bench.rig.work / "made").read_text() == "x\n" and bench.ran == ["echo x >> made"]
    assert bench.prompts == (["go", "and look at b"] if steered else ["go"])
    assert len(bench.asked) == 2 and carriers(request.turn_id) == []
    if steered and events:
        assert states(events, STEER)[-1] == "completed"


for _number, _point in enumerate(KILLS):

    async def _killed(bench: Bench, point: str = _point) -> None:
        await killed(bench, point)

    _killed.__name__ = f"killed_at_{_point}".translate(NO_NAME)
    case(f"50.{_number:02}", long=_number % 3 != 0)(_killed)


@case("51")
async def a_question_is_asked_again_under_the_same_id(bench: Bench) -> None:
    bench.script({"tools": [command("echo x >> made")]}, {"text": "Done."})
    request = bench.request()
    first, before = await bench.left(request, lambda event: isinstance(event, ApprovalRequested))
    report, events = await bench.goes_on(bench.pending(request, first), ALLOWING)
    (asked,) = only(before, ApprovalRequested)
    assert only(events, ApprovalRequested) == [asked]
    assert report.kind == "done" and (bench.rig.work / "made").read_text() == "x\n"


@case("52")
async def an_answer_that_a_daemon_may_have_sent_is_sent_by_the_next(bench: Bench) -> None:
    """The first has decided, and dies before it has written."""
    bench.script({"tools": [command("echo x >> made")]}, {"text": "Done."})
    request = bench.request()
    first, before = await bench.left(request, lambda event: isinstance(event, ApprovalRequested))
    (asked,) = only(before, ApprovalRequested)
    with trio.fail_after(HANG_SECONDS):
        async with bench.driver.reattach(bench.pending(request, first)) as turn:
            await allow(turn, asked)  # it need not be asked again for that
            await follow(turn)
    assert turn.report.kind == "done" and (bench.rig.work / "made").read_text() == "x\n"


@case("53")
async def a_turn_that_ended_while_no_daemon_looked_is_read_off_its_spool(bench: Bench) -> None:
    gate = bench.gate("gate")
    bench.script({"text": "Hello."}, begins_late="gate", stays=True)
    request = bench.request()
    first, _ = await bench.left(request, partial(at_work, bench))
    await trio.to_thread.run_sync(lambda: gate.open("wb").close())
    spool = bench.rig.turns / request.turn_id / "out.jsonl"
    await bench.until(spool.parent, lambda: ENDS.search(spool.read_bytes()) is not None)
    await bench.kill(first)
    report, events = await bench.goes_on(bench.pending(request, first))
    assert (report.kind, report.texts, events) == ("done", ("Hello.",), [])
    assert bench.prompts == ["go"]


@case("54")
async def an_agent_that_is_killed_in_a_tool_is_broken_and_its_tool_is_ended(bench: Bench) -> None:
    bench.script({"tools": [command("echo x > begun; sleep 992", ask=False)]}, {"text": "no more"})
    request = bench.request()
    first, _ = await bench.left(request, partial(at_work, bench))
    await bench.until(bench.rig.work, (bench.rig.work / "begun").exists)
    await bench.kill(first)
    status = await bench.inspect(bench.pending(request, first))
    assert (status.state, status.tool_begun) == ("broken", True)
    assert carriers(request.turn_id) == [] and len(bench.asked) == 1


@case("55")
async def one_that_was_killed_before_it_read_its_prompt_gets_it_again(bench: Bench) -> None:
    bench.gate("gate")
    bench.script({"text": "Hello."}, silent=True)
    request = bench.request()
    first, _ = await bench.left(request, lambda event: isinstance(event, Started))
    await bench.kill(first)
    pending = bench.pending(request, first)
    assert (await bench.inspect(pending)).state == "absent"
    bench.script({"text": "Hello."})
    report, _ = await bench.goes_on(pending)
    assert report.kind == "done" and bench.prompts == ["go"]


@case("56")
async def one_whose_process_nobody_has_stored_is_found(bench: Bench) -> None:
    bench.script({"text": "Hello.", "then": "hold"})
    request = bench.request()
    first, _ = await bench.left(request, lambda event: isinstance(event, Output))
    status = await bench.inspect(bench.pending(request, None))
    assert (status.state, status.pid, status.proc_start) == ("running", first.pid, first.proc_start)
    async with bench.driver.reattach(bench.pending(request, None)) as turn:
        await turn.interrupt()
        await follow(turn)
    assert carriers(request.turn_id) == []


@case("57")
async def what_was_told_is_not_told_again_as_new(bench: Bench) -> None:
    bench.script({"text": "first", "tools": [command("true")]}, {"text": "last"})
    request = bench.request()
    first, before = await bench.left(request, lambda event: isinstance(event, ApprovalRequested))
    report, events = await bench.goes_on(bench.pending(request, first), ALLOWING)
    assert said(before) == said(events, again=True) == "first" and said(events) == "last"
    assert report.texts == ("first", "last") and len(approvals(events)) == 1


@case("58")
async def one_that_answers_no_marks_gets_nothing_twice(bench: Bench) -> None:
    bench.script({"text": "Hello."}, no_marks=True)
    report, _ = await bench.play()
    assert report.kind == "done" and bench.prompts == ["go"]


@case("59")
async def the_agent_holds_its_session_while_no_daemon_lives(bench: Bench) -> None:
    path = bench.rig.root / "lock"
    free = partial(os.open, path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    mine = free()
    fcntl.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
    bench.script({"text": "Hello.", "then": "hold"})
    request = bench.request(lease_fd=mine)
    first, _ = await bench.left(request, lambda event: isinstance(event, Output))
    os.close(mine)
    other = free()
    try:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held = True
    else:
        held = False
    async with bench.driver.reattach(bench.pending(request, first)) as turn:
        await turn.interrupt()
        await follow(turn)
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)
    assert held


@case("60")
async def words_on_the_way_reach_the_model_once(bench: Bench) -> None:
    bench.script({"tools": [command("true")]}, {"text": "Done."})

    async def steer(turn: Turn, asked: ApprovalRequested) -> None:
        for _ in range(2):  # as a daemon does that does not know whether it has written them
            assert await turn.steer("and look at b", STEER)
        await allow(turn, asked)

    report, events = await bench.play(None, on_approval(steer))
    assert report.kind == "done" and bench.prompts == ["go", "and look at b"]
    assert states(events, STEER)[-1] == "completed" and report.undelivered == ()


@asynccontextmanager
async def closing(bench: Bench, wishes: int = 1) -> AsyncIterator[None]:
    """Have the agent write down what was said only when its session is closed, and not at once.

    ``wishes``: how often it has to be asked for that.
    """
    bench.script({"text": "The word is plum."}, closes_late="gate")
    gate = os.open(bench.gate("gate"), os.O_RDWR)
    asked = bench.rig.home / "closing.jsonl"
    asked.touch()

    async def let() -> None:
        await bench.until(bench.rig.home, lambda: asked.read_bytes().count(b"\n") == wishes)
        os.write(gate, b".")

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(let)
            yield
            nursery.cancel_scope.cancel()
    finally:
        os.close(gate)


async def remembers(bench: Bench, name: str | None) -> None:
    """Prompt again in the session: all that was said stands in it."""
    bench.script({"text": "And on."})
    known = {"session_mode": "resume", "agent_session_id": name}
    report, _ = await bench.play(bench.request("go on", **known))
    assert report.kind == "done"
    assert bench.asked[-1]["history"] == ["go", "The word is plum."]


@case("73")
async def what_an_agent_writes_down_at_last_is_there_in_the_next_turn(bench: Bench) -> None:
    async with closing(bench):
        report, events = await bench.play()
    assert (report.kind, report.texts) == ("done", ("The word is plum.",))
    await remembers(bench, own_name(events))


async def _killed_at_the_end(bench: Bench, failpoint: str, *, wishes: int) -> None:
    request = bench.request()
    async with closing(bench, wishes):
        await bench.killed_at(failpoint, request)
        report, events = await bench.goes_on(bench.pending(request, None))
    assert (report.kind, report.texts) == ("done", ("The word is plum.",))
    await remembers(bench, own_name(events))


@case("73b")
async def that_is_so_where_a_daemon_dies_before_it_closes_the_session(bench: Bench) -> None:
    await _killed_at_the_end(bench, "turn.idle-seen", wishes=1)


@case("73c")
async def that_is_so_where_a_daemon_dies_while_the_session_is_closed(bench: Bench) -> None:
    await _killed_at_the_end(bench, "turn.end-sent", wishes=2)
