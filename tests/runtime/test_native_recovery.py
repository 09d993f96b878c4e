"""The native agent and the next daemon: what a turn was doing, and what becomes of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from podiumd.core.run.loop_facts import FileChange
from tests.runtime.harness import Daemon, running
from tests.runtime.native_bench import MENDED, PATCH, NativeMachine, act

COMMAND = {"action": "run_command", "command": "echo x >> log; echo > begun; sleep 300"}

IRREVERSIBLE = """
format = 1
id = "publish"
label = "Publish"
description = "A step that must not be repeated unseen"
initial = "publish"

[steps.publish]
prompt = "Publish it."
agent = "native"
irreversible = true

[steps.publish.on]
complete = { exit = "turn-complete" }
"""


@pytest.fixture
def machine(tmp_path: Path, databases: list[Path]) -> NativeMachine:
    return NativeMachine(tmp_path, databases)


@pytest.fixture
def begun(machine: NativeMachine) -> Path:
    """A pipe that tells when the command runs."""
    path = machine.project / "begun"
    os.mkfifo(path)
    return path


async def runs(begun: Path) -> None:
    """Wait until the command runs."""
    await trio.to_thread.run_sync(begun.read_bytes, abandon_on_cancel=True)


async def prompted(daemon: Daemon, text: str = "Go.") -> str:
    sent = await daemon.prompt(text, agent="native")
    return str(sent["run_id"])


async def test_a_command_of_a_step_that_must_not_be_repeated_is_asked_about(
    machine: NativeMachine, begun: Path
) -> None:
    machine.replies(act(COMMAND))
    async with running(machine) as daemon:
        run_id = await daemon.start(machine.recipe(IRREVERSIBLE, "publish"))
        await runs(begun)
    machine.replies('Done.\n{"outcome": "complete"}')
    async with running(machine) as daemon:
        question = await daemon.question(run_id)
        assert question["kind"] == "recover"
        assert "must not be repeated unseen" in question["text"]
        await daemon.answer(run_id, "continue")
        ended = await daemon.ended(run_id)
    assert ended["exit"]["reason"] == "turn-complete"
    assert (machine.project / "log").read_text() == "x\n"


async def test_what_the_turn_had_changed_before_is_in_its_commit(
    machine: NativeMachine, begun: Path
) -> None:
    (machine.project / ".gitignore").write_text("begun\nlog\n")
    machine.replies(act(PATCH, COMMAND))
    async with running(machine) as daemon:
        run_id = await prompted(daemon)
        await runs(begun)
    machine.replies("Done.")
    async with running(machine) as daemon:
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"
    assert machine.read() == MENDED
    assert machine.subjects == ["AI: modified calc.py", "Begin"]


async def test_a_turn_that_was_to_be_stopped_is_not_gone_on_with(
    machine: NativeMachine, begun: Path
) -> None:
    machine.replies(act(PATCH, COMMAND))
    async with running(machine) as daemon:
        run_id = await prompted(daemon)
        await runs(begun)
        actor = daemon.actor(run_id)
        actor.leaving = True
        async with trio.open_nursery() as nursery:
            nursery.start_soon(daemon.service.cancel, run_id)
            await daemon.until(run_id, lambda state: state.stopping)
            nursery.cancel_scope.cancel()
    async with running(machine) as daemon:
        ended = await daemon.ended(run_id)
        (turn,) = await daemon.events(run_id, "turn.ended")
    assert ended["exit"]["reason"] == "user-requested"
    assert (turn["report"]["kind"], turn["report"]["files"]) == (
        "interrupted",
        [["calc.py", "modified"]],
    )
    assert machine.subjects == ["Begin"]


async def test_the_settings_of_a_turn_are_those_that_it_began_with(
    machine: NativeMachine, begun: Path
) -> None:
    machine.replies(act(COMMAND))
    async with running(machine) as daemon:
        run_id = await prompted(daemon)
        await runs(begun)
    machine.configure(max_iterations=1, commit=False)
    machine.replies(act(PATCH), "Done.")
    async with running(machine) as daemon:
        ended = await daemon.ended(run_id)
        (change,) = [
            FileChange(**each)
            for one in await daemon.events(run_id, "action.ended")
            for each in one["changes"]
        ]
    assert (ended["exit"]["reason"], change.path) == ("turn-complete", "calc.py")
    assert "modified calc.py" in machine.subjects[0]
