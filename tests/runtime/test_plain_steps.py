"""Steps without an agent on the real machine: commands with their processes, questions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from podiumd.tools.process import carriers
from tests.runtime.harness import Machine, running

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
ship = {{ exit = "changes-committed" }}
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
        assert run["exit"]["reason"] == "changes-committed" and run["turns"] == 0
        assert [(v["step"], v["outcome"], v["source"]) for v in run["history"]] == [
            ("build", "passed", "command"),
            ("ask", "ship", "person"),
        ]
        [ended] = await daemon.events(run_id, "command.ended")
        assert Path(ended["log"]).read_text() == ended["tail"]
        assert machine.agent.turns == [] and await daemon.service.locks() == []


async def test_a_command_that_fails_takes_its_own_edge(machine: Machine) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(plain(machine, 'shell = "echo no | tee said; exit 4"'))
        run = await daemon.ended(run_id)
        assert (run["exit"]["reason"], run["exit"]["class"]) == ("cannot-build", "error")
        assert (machine.project / "said").read_text() == "no\n"
        [ended] = await daemon.events(run_id, "command.ended")
        assert (ended["exit_status"], ended["tail"]) == (4, "no\n")


@pytest.fixture
def fifo(machine: Machine) -> Path:
    """Where a command says its marker once it has begun."""
    path = machine.project / "fifo"
    os.mkfifo(path)
    return path


BEGUN = 'shell = "echo $PODIUM_TURN > fifo; exec sleep 600"'


async def marker_of(fifo: Path) -> str:
    return (await trio.to_thread.run_sync(fifo.read_text, abandon_on_cancel=True)).strip()


async def test_a_cancelled_command_leaves_nothing_behind(machine: Machine, fifo: Path) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(plain(machine, BEGUN))
        marker = await marker_of(fifo)
        assert carriers(marker)
        assert (await daemon.service.cancel(run_id))["exit"]["reason"] == "user-requested"
        assert not carriers(marker)


async def test_a_command_that_a_restart_cut_off_is_run_again(machine: Machine, fifo: Path) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(plain(machine, BEGUN))
        await marker_of(fifo)
    async with running(machine) as daemon:
        marker = await marker_of(fifo)
        assert len(await daemon.events(run_id, "command.intended")) == 1
        await daemon.service.cancel(run_id)
        assert not carriers(marker)


@pytest.mark.parametrize(("answer", "reason"), [("continue", None), ("stop", "user-requested")])
async def test_one_that_must_not_be_repeated_is_asked_about_instead(
    machine: Machine, fifo: Path, answer: str, reason: str | None
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(plain(machine, f"{BEGUN}\nirreversible = true"))
        await marker_of(fifo)
    async with running(machine) as daemon:
        question = await daemon.question(run_id)
        assert (question["kind"], "sleep 600" in question["detail"]) == ("recover", True)
    async with running(machine) as daemon:  # asked once, whatever restarts come
        assert (await daemon.question(run_id))["question_id"] == question["question_id"]
        await daemon.answer(run_id, answer)
        if reason is None:
            await daemon.until(run_id, lambda state: state.step == "ask")
            await daemon.answer(run_id, "stop")
        run = await daemon.ended(run_id)
        assert run["exit"]["reason"] == (reason or "left-alone")
