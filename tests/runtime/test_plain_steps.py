"""Steps without an agent on the real machine: commands with their processes, questions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from podiumd.core.run import commands as c
from podiumd.runtime.errors import Busy
from tests.long import sampled
from tests.plain import reason
from tests.runtime.harness import Machine, running
from tests.runtime.processes import left_behind, living, marker_of

PLAIN = """
format = 1
id = "plain"
initial = "build"
[params.word]
type = "string"
default = "hello"
[steps.build]
{build}
[steps.build.on]
passed = {{ to = "ask" }}
failed = {{ exit = "cannot-build", class = "error" }}
[steps.ask]
ask = "It is built. Now what? {{{{last.build.detail}}}}"
choices = ["ship", "stop"]
[steps.ask.on]
ship = {{ exit = "conversation-complete" }}
stop = {{ exit = "left-alone", class = "completed" }}
"""


def plain(machine: Machine, build: str) -> str:
    return machine.recipe(PLAIN.format(build=build), "plain")


async def test_a_run_of_commands_and_questions_needs_no_agent(machine: Machine) -> None:
    recipe = plain(machine, 'run = ["/bin/sh", "-c", "echo $0; pwd", "{{word}}"]')
    async with running(machine) as daemon:
        run_id = await daemon.start(recipe, params={"word": 'a "b" $(id)'})
        question = await daemon.question(run_id)
        assert question["text"].endswith(f'a "b" $(id)\n{machine.project}\n')
        await daemon.answer(run_id, "ship")
        run = await daemon.ended(run_id)
        assert run["exit"]["reason"] == "conversation-complete" and run["turns"] == 0
        assert [(v["step"], v["outcome"], v["source"]) for v in run["history"]] == [
            ("build", "passed", "command"),
            ("ask", "ship", "person"),
        ]
        [ended] = await daemon.events(run_id, "command.ended")
        assert Path(ended["log"]).read_text() == ended["tail"]
        assert machine.agent.turns == [] and await daemon.service.locks() == []


@pytest.fixture
def fifo(machine: Machine) -> Path:
    """Where a command says its marker once it has begun."""
    path = machine.project / "fifo"
    os.mkfifo(path)
    return path


BEGUN = 'shell = "echo $PODIUM_TURN > fifo; exec sleep 600"'


async def test_a_cancelled_command_leaves_nothing_behind(machine: Machine, fifo: Path) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(plain(machine, BEGUN))
        marker = await marker_of(fifo)
        assert await living(marker)
        assert reason(await daemon.service.cancel(run_id)) == "user-requested"
        assert not await living(marker)


async def test_a_command_that_a_restart_cut_off_is_run_again(machine: Machine, fifo: Path) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(plain(machine, BEGUN))
        await marker_of(fifo)
    async with running(machine) as daemon:
        marker = await marker_of(fifo)
        assert len(await daemon.events(run_id, "command.intended")) == 1
        await daemon.service.cancel(run_id)
        assert not await living(marker)


@pytest.mark.parametrize(
    ("answer", "reason"), sampled([("continue", None), ("stop", "user-requested")])
)
async def test_one_that_must_not_be_repeated_is_asked_about_instead(
    machine: Machine, fifo: Path, answer: str, reason: str | None
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(plain(machine, f"{BEGUN}\nirreversible = true"))
        marker = await marker_of(fifo)
    with left_behind(marker) as left:
        async with running(machine) as daemon:
            question = await daemon.question(run_id)
            assert (question["kind"], "sleep 600" in question["detail"]) == ("recover", True)
            assert left.poll() is not None  # who answers does not answer while it works
    async with running(machine) as daemon:  # asked once, whatever restarts come
        assert (await daemon.question(run_id))["question_id"] == question["question_id"]
        await daemon.answer(run_id, answer)
        if reason is None:
            await daemon.until(run_id, lambda state: state.step == "ask")
            await daemon.answer(run_id, "stop")
        run = await daemon.ended(run_id)
        assert run["exit"]["reason"] == (reason or "left-alone")


async def test_a_command_that_outlives_its_daemon_holds_the_tree(
    machine: Machine, fifo: Path
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(plain(machine, BEGUN))
        await marker_of(fifo)
        lease = daemon.session_locks.tree(run_id)
        assert lease is not None
        lease.forget_fd()  # as if killed: what this process held is gone
        found = daemon.context.leases.peek_tree(machine.project)
        assert found is not None and found.id == run_id
        await daemon.service.cancel(run_id)
        assert daemon.context.leases.peek_tree(machine.project) is None


async def test_an_interrupt_ends_a_command_with_all_its_processes_and_resume_runs_it_again(
    machine: Machine, fifo: Path
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(plain(machine, BEGUN))
        marker = await marker_of(fifo)
        run = await daemon.service.interrupt(run_id)
        assert (run.status, await living(marker)) == ("paused", [])
        await daemon.service.resume(run_id)
        marker = await marker_of(fifo)
        assert len(await daemon.events(run_id, "command.intended")) == 1
        await daemon.service.cancel(run_id)
        assert not await living(marker)


async def test_a_pause_lets_a_command_end_and_no_aside_goes_beside_it(
    machine: Machine, fifo: Path
) -> None:
    recipe = plain(machine, 'shell = "echo $PODIUM_TURN > fifo; read word < fifo"')
    async with running(machine) as daemon:
        run_id = await daemon.start(recipe)
        await marker_of(fifo)
        assert (await daemon.service.pause(run_id)).status == "running"
        session = daemon.actor(run_id).state.session_id
        with pytest.raises(Busy):
            await daemon.prompt("By the way", session_id=session)
        await trio.to_thread.run_sync(fifo.write_text, "go on\n", abandon_on_cancel=True)
        state = await daemon.status(run_id, "paused")
        assert state.outcome == "passed"
        assert (await daemon.prompt("By the way", session_id=session))["delivery"] == "sent"


@pytest.mark.parametrize("wish", sampled(["interrupt", "pause"]))
async def test_a_stop_that_a_crash_cut_off_holds_after_the_restart(
    machine: Machine, fifo: Path, wish: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(plain(machine, BEGUN))
        await marker_of(fifo)
        actor = daemon.actor(run_id)
        actor.leaving = True  # the daemon is gone before it can stop anything
        kind = c.Interrupt if wish == "interrupt" else c.Pause
        await actor.submit(kind(**actor.stamp()))
    async with running(machine) as daemon:
        await daemon.status(run_id, "paused")
        assert await daemon.events(run_id, "command.ended") == []


async def test_stopping_all_turns_ends_commands_too_and_pauses_their_runs(
    machine: Machine, fifo: Path
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(plain(machine, BEGUN))
        marker = await marker_of(fifo)
        await daemon.service.stop_turns()
        assert await living(marker) == []
    async with running(machine) as daemon:
        assert daemon.actor(run_id).state.status == "paused"
