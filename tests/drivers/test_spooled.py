"""How a spooled turn ends when its agent does not do as it should."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from podiumd.agents.claude.dialect import ClaudeDialect
from podiumd.agents.claude.driver import ClaudeDriver
from podiumd.core.prompts.tools import ToolSpec
from podiumd.drivers import agent_process, spooled
from podiumd.drivers.base import (
    ApprovalRequested,
    Decision,
    HookRaised,
    Output,
    PromptState,
    Started,
    ToolCalled,
    Turn,
    TurnEvent,
)
from podiumd.drivers.dialect import Group
from podiumd.drivers.fifo import Fifo, LineTooLong
from podiumd.drivers.spool import SpoolWatch
from podiumd.tools import failpoints
from podiumd.tools.files.private_file import write_private
from podiumd.tools.process import cgroup
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


async def pass_steps(clock: MockClock, *steps: float) -> None:
    """Let the time of these steps of an ending pass, each when all wait for the agent."""
    for seconds in steps:
        await trio.testing.wait_all_tasks_blocked()
        clock.jump(seconds)


async def test_one_that_ignores_the_end_of_session_is_terminated(
    claude: ClaudeDriver, bench: Callable[..., Rig], mock_clock: MockClock
) -> None:
    async with (
        trio.open_nursery() as nursery,
        claude.turn(bench("idle", "stays").request()) as turn,
    ):
        await follow(turn)
        nursery.start_soon(pass_steps, mock_clock, spooled.CLOSING_SECONDS)
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
                nursery.start_soon(pass_steps, mock_clock, *[spooled.STEP_SECONDS] * 3)
    assert (turn.report.kind, turn.report.exit_status) == ("interrupted", -signal.SIGKILL)
    assert carriers(request.turn_id) == []


async def test_a_prompt_that_is_never_closed_is_broken_once_the_agent_idles(
    claude: ClaudeDriver, bench: Callable[..., Rig]
) -> None:
    async with claude.turn(bench("idle", "open").request()) as turn:
        await follow(turn)
    assert turn.report.kind == "broken" and "never reported the fate" in turn.report.detail


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


async def test_an_agent_that_only_tries_again_is_as_good_as_silent(
    claude: ClaudeDriver, bench: Callable[..., Rig], mock_clock: MockClock
) -> None:
    rig = bench("retries")
    gate = rig.work / "gate"
    os.mkfifo(gate)
    request = rig.request()
    async with claude.turn(request) as turn:
        while not states([await anext(turn)], request.prompt_uuid):
            pass
        mock_clock.jump(0.9 * request.idle_timeout_seconds)
        await trio.to_thread.run_sync(lambda: gate.open("wb").close())
        tried = await anext(turn)
        assert isinstance(tried, Output) and tried.kind == "status"
        mock_clock.jump(0.2 * request.idle_timeout_seconds)
        assert await follow(turn) == []
    assert turn.report.kind == "timeout"


async def test_an_agent_that_has_no_word_for_its_end_is_terminated_at_once(
    claude: ClaudeDriver,
    bench: Callable[..., Rig],
    monkeypatch: pytest.MonkeyPatch,
    mock_clock: MockClock,
) -> None:
    """By a clock that stands still: no step of the ending is waited for."""
    monkeypatch.setattr(ClaudeDialect, "end", lambda self: ())
    async with claude.turn(bench("idle").request()) as turn:
        await follow(turn)
    assert (turn.report.kind, turn.report.exit_status) == ("done", -signal.SIGTERM)


async def test_what_is_due_together_is_written_together(
    claude: ClaudeDriver, bench: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    due, send, sent = ClaudeDialect.replies, Fifo.send, list[tuple[bytes, ...]]()

    def twice(dialect: ClaudeDialect) -> list[Group]:
        return [group * 2 for group in due(dialect)]

    async def noting(fifo: Fifo, *lines: bytes) -> None:
        sent.append(lines)
        await send(fifo, *lines)

    monkeypatch.setattr(ClaudeDialect, "replies", twice)
    monkeypatch.setattr(Fifo, "send", noting)
    async with claude.turn(bench("greets").request(served=(SAVE,))) as turn:
        await follow(turn)
    assert turn.report.kind == "done"
    prompt, greeting, _end = sent
    assert len(prompt) == 1 and len(greeting) == 2 and greeting[0] == greeting[1]


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
    assert turn.report.detail.startswith("the tools cannot be sent to the agent: 1")


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


# -- what is said into a running turn, and when it is handed over ----------------------------


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


# -- A disk that is full, or another fault, between the steps of starting an agent -----------


STUB = Path(__file__).with_name("stub_agent.py")


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path, command=(sys.executable, "-S", str(STUB), "idle", "--"))


@pytest.fixture
def armed() -> Iterator[Callable[[str], None]]:
    yield failpoints.arm
    failpoints.arm(None)


def no_room(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def test_a_turn_without_room_is_not_a_failed_one_and_starts_nothing(
    claude: ClaudeDriver, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = rig.request()
    monkeypatch.setattr(agent_process, "create_fifo", no_room)
    with pytest.raises(OSError, match="No space left"):
        async with claude.turn(request):
            raise AssertionError
    assert carriers(request.turn_id) == []


async def test_an_agent_whose_group_cannot_be_noted_is_looked_after_without_one(
    claude: ClaudeDriver, rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = tmp_path / "group"
    group.mkdir()
    usual = write_private

    def write(path: Path, text: str) -> None:
        if path.name == agent_process.GROUP:
            path.touch()
            no_room()
        usual(path, text)

    monkeypatch.setattr(cgroup, "create", lambda turn_id: group)
    monkeypatch.setattr("podiumd.drivers.agent_process.write_private", write)
    request = rig.request()
    async with claude.turn(request) as turn:
        await follow(turn)
    assert turn.report.kind == "done"
    assert not group.exists() and not (Path(request.directory) / agent_process.GROUP).exists()


async def test_an_agent_that_nobody_can_look_after_is_ended_at_once(
    claude: ClaudeDriver, rig: Rig, armed: Callable[[str], None]
) -> None:
    armed("turn.after-spawn:1:error")
    request = rig.request()
    async with claude.turn(request) as turn:
        await follow(turn)
        assert carriers(request.turn_id) == []
    assert turn.report.kind == "failed"


async def test_the_agent_keeps_the_leases_that_it_inherited(
    claude: ClaudeDriver, rig: Rig, tmp_path: Path
) -> None:
    paths = [tmp_path / "session.lock", tmp_path / "tree.lock"]
    ours = [locked(path) for path in paths]
    assert None not in ours
    free: list[bool] = []

    async def look(_turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, Started):  # it lives: what we hold is gone, as after a kill
            for fd in ours:
                os.close(fd or 0)
            free.extend(locked(path) is not None for path in paths)

    request = rig.request(lease_fd=ours[0], tree_fd=ours[1])
    async with claude.turn(request) as turn:
        await follow(turn, look)
    assert free == [False, False]
    for path in paths:
        fd = locked(path)
        assert fd is not None
        os.close(fd)


def locked(path: Path) -> int | None:
    """A descriptor with the lock of a file, if it is free."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd
