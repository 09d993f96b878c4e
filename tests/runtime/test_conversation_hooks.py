"""Hooks of a phase: around every tool, at the end of a turn; their word counts, and nothing of
them is left behind."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.tools import failpoints
from podiumd.tools.agent.workspace import Workspace
from tests.long import sampled
from tests.plain import reason
from tests.runtime.conversations import at_work, designing, hook, talk
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine, fields_of, running
from tests.runtime.processes import living, marker_of

SH = ("/bin/sh", "-c")


async def test_a_hook_after_a_tool_cannot_undo_it_but_the_agent_is_told(machine: Machine) -> None:
    after = hook("after-tool", *SH, "cat > heard; echo too short >&2; exit 2", match="save")
    async with running(machine) as daemon:
        held, turn = await at_work(daemon, talk(machine, goal=after))
        success, told = await turn.calls("save", key="goal", value="A shop")
        assert success and told.endswith("objects to that: too short")
        assert held.ctx["goal"] == "A shop"
        assert json.loads((machine.project / "heard").read_text())["output"] in told
        (machine.project / "heard").unlink()
        assert not (await turn.calls("save", key="nothing", value=1))[0]
        assert not (machine.project / "heard").exists()  # what was refused was not done


async def test_hooks_stand_around_the_agents_own_tools(machine: Machine) -> None:
    hooks = hook("before-tool", *SH, "grep -q rm && echo never >&2 && exit 2", match="Bash") + hook(
        "after-tool", *SH, "grep -q 'its output' && echo look again >&2 && exit 2", match="Ed*"
    )
    async with running(machine) as daemon:
        _, turn = await at_work(daemon, talk(machine, goal=hooks))
        points = [(point.event, point.match) for point in turn.request.hooks]
        assert points == [("before-tool", None), ("before-tool", "Bash"), ("after-tool", "Ed*")]
        assert await turn.uses("Bash", command="rm -r .") == "never"
        assert await turn.uses("Bash", command="ls") is None
        assert await turn.uses("Read", file="rm") is None
        assert await turn.uses("Edit", "after-tool", file="a") == "look again"
        assert await turn.uses("mcp__podium__ask", "before-tool", question="rm?") is None


async def test_a_hook_that_fails_otherwise_lets_pass_and_stands_in_the_log(
    machine: Machine,
) -> None:
    hooks = hook("before-tool", *SH, "echo broken >&2; exit 1") + hook("before-tool", "no-such")
    async with running(machine) as daemon:
        _, turn = await at_work(daemon, talk(machine, goal=hooks))
        assert (await turn.calls("save", key="goal", value="A shop"))[0]
        failed = fields_of(daemon.logged, "Hook failed")
        assert [(one["exit_status"], one["step"]) for one in failed] == [
            (1, "goal"),
            (None, "goal"),
        ]
        assert failed[0]["reason"] == "broken" and "no-such" in failed[1]["reason"]


async def test_calls_are_dealt_with_one_after_another_in_their_order(machine: Machine) -> None:
    slow = hook("before-tool", *SH, "sleep 0.2", match="save")
    async with running(machine) as daemon:
        _, turn = await at_work(daemon, talk(machine, goal=slow))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: turn.calls("save", "c1", key="goal", value="A shop"))
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(lambda: turn.calls("transition", "c2", to="agreed", summary="s"))
        assert [turn.told[call][0] for call in ("c1", "c2")] == [True, True]


async def test_the_documents_are_written_when_all_is_saved(machine: Machine) -> None:
    write = hook("turn-end", "podium:write", "docs/plan.md", "docs/plan.json", step="design")
    async with running(machine) as daemon:
        held = await designing(daemon, talk(machine, design=write))
        turn = await held.answers("Go")
        turn.end(done())
        await held.waits()
        assert not (machine.project / "docs").exists()
        turn = await held.answers("Go on")
        await turn.calls("save", key="parts", value=["door"])
        turn.end(done())
        await held.waits()
        plan = json.loads((machine.project / "docs/plan.json").read_text())
        assert plan == {"phase": "design", "goal": "A shop", "parts": ["door"]}
        assert "- door" in (machine.project / "docs/plan.md").read_text()


async def test_documents_for_which_the_disk_has_no_room_are_written_when_it_has(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is no fault of the agent's: its turn is not sent back for it."""
    write = hook("turn-end", "podium:write", "plan.md", step="design")
    put, tried = Workspace._put, []

    def full(*args: Any) -> None:
        tried.append(args)
        if len(tried) < 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        put(*args)

    monkeypatch.setattr(Workspace, "_put", full)
    async with running(machine) as daemon:
        held = await designing(daemon, talk(machine, design=write))
        turn = await held.answers("Go")
        await turn.calls("save", key="parts", value=["door"])
        turn.end(done())
        await held.waits()
        assert "- door" in (machine.project / "plan.md").read_text()
        [ended] = await daemon.events(held.run_id, "hook.ended")
        assert (ended["exit_status"], ended["refused"]) == (0, False)
        assert len(fields_of(daemon.logged, "Disk full")) == 2


@pytest.mark.parametrize("event", sampled(["before-tool", "turn-end"]))
async def test_a_hook_that_a_dead_daemon_left_is_ended_before_it_is_run_again(
    machine: Machine, event: str
) -> None:
    fifo = machine.project / "said"
    os.mkfifo(fifo)
    line = "echo $PODIUM_TURN > said; test -e again || exec setsid sleep 600"
    guard = hook(event, *SH, line, match="" if event == "turn-end" else "notify")
    async with running(machine) as daemon:
        run_id = await daemon.start(talk(machine, goal=guard))
        turn = await daemon.turn()
        async with trio.open_nursery() as nursery:
            if event == "turn-end":
                turn.end(done())
            else:
                nursery.start_soon(turn.calls, "notify", "c1")
            marker = await marker_of(fifo)
            nursery.cancel_scope.cancel()
    assert await living(marker) == []  # left orderly: nothing of it lives
    survivor = await trio.lowlevel.open_process(
        ["sleep", "600"], env={"PATH": os.environ["PATH"], "PODIUM_TURN": marker}
    )
    (machine.project / "again").touch()
    async with running(machine) as daemon:
        if event == "turn-end":
            assert await marker_of(fifo) == marker
            await daemon.until(run_id, lambda state: state.waits_for_words)
        else:
            await turn.taken_up()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(lambda: turn.calls("notify", "c1", message="Hello"))
                assert await marker_of(fifo) == marker
        await survivor.wait()
        assert await living(marker) == []


async def test_a_hook_after_a_tool_that_a_daemon_did_not_see_the_end_of_is_run_again(
    machine: Machine,
) -> None:
    """The call is done once; what there is against it is told all the same."""
    fifo = machine.project / "said"
    os.mkfifo(fifo)
    line = "test -e again || { echo $PODIUM_TURN > said; sleep 600; }; echo too short >&2; exit 2"
    after = hook("after-tool", *SH, line, match="save")
    async with running(machine) as daemon:
        held, turn = await at_work(daemon, talk(machine, goal=after))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: turn.calls("save", "c1", key="goal", value="A shop"))
            await marker_of(fifo)
            nursery.cancel_scope.cancel()
    (machine.project / "again").touch()
    async with running(machine) as daemon:
        await turn.taken_up()
        success, told = await turn.calls("save", "c1", key="goal", value="A shop")
        assert success and told.endswith("objects to that: too short")
        assert len(await daemon.events(held.run_id, "tool.used")) == 1


async def test_a_call_that_is_sent_again_is_told_what_a_hook_said_the_first_time(
    machine: Machine,
) -> None:
    after = hook("after-tool", *SH, "echo >> runs; echo too short >&2; exit 2", match="save")
    async with running(machine) as daemon:
        _, turn = await at_work(daemon, talk(machine, goal=after))
        first = await turn.calls("save", "c1", key="goal", value="A shop")
        assert await turn.calls("save", "c1", key="goal", value="A shop") == first
        assert first[1].endswith("too short")
        assert (machine.project / "runs").read_text() == "\n"


async def test_an_interrupt_ends_a_hook_at_the_end_of_a_turn_with_all_that_it_started(
    machine: Machine,
) -> None:
    fifo = machine.project / "said"
    os.mkfifo(fifo)
    line = "echo $PODIUM_TURN > said; test -e again || { setsid sleep 600 & exec sleep 600; }"
    async with running(machine) as daemon:
        run_id = await daemon.start(talk(machine, goal=hook("turn-end", *SH, line)))
        (await daemon.turn()).end(done())
        marker = await marker_of(fifo)
        run = await daemon.service.interrupt(run_id)
        assert (run.status, await living(marker)) == ("paused", [])
        (machine.project / "again").touch()
        await daemon.service.resume(run_id)
        await marker_of(fifo)
        await daemon.until(run_id, lambda state: state.waits_for_words)


async def test_a_cancelled_turn_ends_the_hook_of_its_tool(machine: Machine) -> None:
    fifo = machine.project / "said"
    os.mkfifo(fifo)
    line = "echo $PODIUM_TURN > said; setsid sleep 600 & exec sleep 600"
    async with running(machine) as daemon:
        held, turn = await at_work(daemon, talk(machine, goal=hook("before-tool", *SH, line)))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(turn.calls, "notify")
            marker = await marker_of(fifo)
            run = await daemon.service.cancel(held.run_id)
            nursery.cancel_scope.cancel()
        assert reason(run) == "user-requested"
        assert await living(marker) == []
        assert await daemon.events(held.run_id, "tool.used") == []


async def test_a_fault_in_a_hook_ends_the_run_and_its_agent(
    machine: Machine, tmp_path: Path
) -> None:
    async with running(machine) as daemon:
        held, turn = await at_work(
            daemon, talk(machine, goal=hook("before-tool", "podium:saved", "goal"))
        )
        failpoints.arm("hook.before-run:1:error")
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(turn.calls, "notify")
                run = await daemon.ended(held.run_id)
                nursery.cancel_scope.cancel()
        finally:
            failpoints.arm(None)
        assert run["exit"]["reason"] == "internal-error"
        assert turn.gone.is_set() and not turn.left
