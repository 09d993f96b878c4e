"""What people do to a run: pause, resume, interrupt, cancel, steer."""

from __future__ import annotations

import pytest
import trio

from podiumd.core.prompts.prompts import GO_ON
from podiumd.core.reply.report import TurnReport
from podiumd.runtime.errors import AlreadyEnded, NotFound
from podiumd.runtime.run import turn_task
from tests.plain import plain, reason
from tests.runtime.fake_agent import LINE, done
from tests.runtime.harness import Machine, running

TWO_STEPS = """
format = 1
id = "two"
label = "Two steps"
description = "Work, then look"
initial = "work"
[steps.work]
prompt = "Do the work."
[steps.work.on]
complete = { to = "look" }
[steps.look]
prompt = "Look at it: {{last.work.detail}}"
[steps.look.on]
fine = { exit = "turn-complete" }
"""


@pytest.fixture
def two(machine: Machine) -> str:
    return machine.recipe(TWO_STEPS, "two")


async def test_a_pause_takes_hold_at_the_end_of_the_turn_and_resume_goes_on(
    machine: Machine, two: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(two)
        turn = await daemon.turn()
        assert (await daemon.service.pause(run_id)).status == "running"
        turn.complete(detail="all of it")
        state = await daemon.status(run_id, "paused")
        assert state.turn is None
        assert not turn.interrupted.is_set()
        assert (await daemon.service.resume(run_id)).status == "running"
        second = await daemon.turn()
        assert second.prompt.startswith("Look at it: all of it")
        second.complete("fine")
        run = await daemon.ended(run_id)
        assert run["exit"]["reason"] == "turn-complete"
        assert run["step_count"] == 2


async def test_an_interrupt_stops_the_turn_and_resume_sends_a_prompt_to_go_on(
    machine: Machine, two: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(two)
        turn = await daemon.turn()
        run = await daemon.service.interrupt(run_id)
        assert turn.interrupted.is_set()
        assert turn.gone.is_set()
        assert run.status == "paused"
        await daemon.service.resume(run_id)
        second = await daemon.turn()
        assert second.prompt.startswith(GO_ON)
        assert second.request.prompt_uuid != turn.request.prompt_uuid
        second.complete()
        (await daemon.turn()).complete("fine")
        assert (await daemon.ended(run_id))["visits"] == {"work": 1, "look": 1}


async def test_a_cancel_returns_when_the_agent_is_gone_and_its_session_free(
    machine: Machine, two: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(two)
        turn = await daemon.turn()
        run = await daemon.service.cancel(run_id)
        assert turn.gone.is_set()
        assert (run.status, reason(run)) == ("ended", "user-requested")
        assert run.exit is not None and run.exit.class_ == "cancelled"
        assert await daemon.service.locks() == []
        with pytest.raises(AlreadyEnded) as raised:
            await daemon.service.cancel(run_id)
        assert plain(raised.value.data) == {"id": run_id, "by": "user-requested"}


async def test_an_agent_that_does_not_stop_by_itself_is_ended(
    machine: Machine, two: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_task, "STOP_SECONDS", 0.05)
    async with running(machine) as daemon:
        run_id = await daemon.start(two)
        turn = await daemon.turn()
        turn.obeys = False
        await daemon.service.cancel(run_id)
        assert turn.report.detail == "torn down"


async def test_a_run_that_waits_or_is_paused_is_cancelled_at_once(machine: Machine) -> None:
    gated = machine.one_step("gated", step='gate = "Go on?"')
    async with running(machine) as daemon:
        run_id = await daemon.start(gated)
        question = await daemon.question(run_id)
        run = await daemon.service.cancel(run_id)
        assert run.questions == ()
        [closed] = await daemon.events(run_id, "question.closed")
        assert (closed["question_id"], closed["closed"]) == (question["question_id"], "expired")
        assert machine.agent.turns == []


async def test_a_steer_that_the_agent_takes_up_is_delivered(machine: Machine, two: str) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(two)
        turn = await daemon.turn()
        assert plain(await daemon.service.steer(run_id, "Mind the tests.")) == {"state": "queued"}
        uuid = await turn.steered()
        assert turn.steers[uuid] == "Mind the tests."
        turn.begins_with(uuid)
        await daemon.until(run_id, lambda state: not state.steers)
        effects = await daemon.events(run_id, "effect.ended")
        assert [(e["effect"], e["state"]) for e in effects] == [
            (f"steer:{uuid}", "queued"),
            (f"steer:{uuid}", "delivered"),
        ]
        turn.complete()
        assert "Mind the tests." not in (await daemon.turn()).prompt


async def test_a_run_is_found_by_a_unique_beginning_of_its_id(machine: Machine, two: str) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(two)
        assert (await daemon.service.get_run(run_id[:12])).run_id == run_id
        assert (await daemon.service.pause(run_id[:12])).run_id == run_id
        with pytest.raises(NotFound, match="no run"):
            await daemon.service.get_run("zzz")
        with pytest.raises(NotFound):
            await daemon.service.get_run("")


async def test_a_beginning_that_two_runs_share_is_refused(machine: Machine, two: str) -> None:
    async with running(machine) as daemon:
        first: set[str] = set()
        shared = ""
        while not shared:  # of 16 hexadecimal digits one comes twice in 17 at the latest
            where = machine.directory(f"d{len(first)}")
            digit = (await daemon.start(two, working_directory=where))[0]
            shared = digit if digit in first else ""
            first.add(digit)
        with pytest.raises(NotFound, match="More than one"):
            await daemon.service.get_run(shared)


async def test_a_plain_prompt_goes_out_as_it_is_and_ends_with_its_turn(machine: Machine) -> None:
    text = "Say hi.  \n\nTwice, please.\n"
    async with running(machine) as daemon:
        went = await daemon.prompt(text)
        turn = await daemon.turn()
        assert turn.prompt == text
        assert turn.request.turn_id == went["turn_id"]
        assert turn.request.session_id == went["session_id"]
        assert turn.request.schema is None
        turn.end(done(text='hi {"outcome": "other"}'))
        run = await daemon.ended(went["run_id"])
        assert (run["exit"]["reason"], run["history"]) == ("turn-complete", [])
        assert await daemon.service.list_runs(None, 10) == []


async def test_a_prompt_that_is_waited_for_returns_the_turn(machine: Machine) -> None:
    async with running(machine) as daemon:
        turns = []

        async def play() -> None:
            turn = await daemon.turn()
            turns.append(turn)
            turn.end(done(text="hi"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(play)
            answer = await daemon.prompt(wait=True)
        assert (answer["status"], answer["text"]) == ("ended", "hi")
        assert answer["turn_id"] == turns[0].request.turn_id


async def test_an_agent_that_fails_ends_the_run_with_the_cause(machine: Machine) -> None:
    one = machine.one_step()
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        (await daemon.turn()).end(TurnReport(kind="failed", detail="it has no licence"))
        run = await daemon.ended(run_id)
        assert (run["exit"]["reason"], run["exit"]["detail"]) == ("error", "it has no licence")


async def test_a_steer_that_does_not_fit_into_one_line_goes_into_the_next_prompt(
    machine: Machine, two: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(two)
        turn = await daemon.turn()
        assert plain(await daemon.service.steer(run_id, "x" * (LINE + 1))) == {"state": "too_late"}
        turn.complete()
        assert "x" * (LINE + 1) in (await daemon.turn()).prompt
