"""A second daemon on what the first one left: nothing is lost, nothing is done twice."""

from __future__ import annotations

import shutil
import signal
import subprocess
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from podiumd.agents.scripted.driver import ScriptedDriver
from podiumd.agents.scripted.script import Script, parse_script
from podiumd.core.prompts.prompts import INTERRUPTED
from podiumd.core.reply.report import TurnReport
from podiumd.core.run import commands as c
from podiumd.core.run.state import RunState
from podiumd.drivers.base import PendingTurn, Started, TurnStatus
from podiumd.runtime.errors import Busy, NotFound
from podiumd.tools.process.processes import MARKER
from tests.long import sampled
from tests.plain import plain, reason
from tests.runtime import fake_agent
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine, fields_of, running


async def test_a_running_turn_is_let_go_and_taken_up_with_its_session_held_meanwhile(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    assert turn.left
    assert not turn.interrupted.is_set()
    async with running(machine) as daemon:
        await daemon.until(run_id, lambda _state: turn.attached == 1)
        assert (await daemon.service.status()).taken_up == 1
        with pytest.raises(Busy) as raised:
            await daemon.prompt(session_id=turn.request.session_id)
        assert plain(raised.value.data)["holder"]["id"] == run_id
        turn.complete()
        run = await daemon.ended(run_id)
        assert (run["exit"]["reason"], run["turns"]) == ("turn-complete", 1)
        assert await daemon.service.locks() == []
    assert len(machine.agent.turns) == 1


async def test_a_taken_up_turn_gives_its_session_back_for_the_next_one(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    async with running(machine) as daemon:
        turn.end(done(text="no JSON"))
        retry = await daemon.turn()
        assert retry.request.lease_fd is not None
        retry.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_a_turn_is_let_go_also_when_the_daemon_is_torn_down(
    machine: Machine, one: str
) -> None:
    """Not asked to leave: cancelled, as when another part of the daemon fails."""

    class Crash(Exception):
        pass

    with pytest.RaisesGroup(Crash, flatten_subgroups=True):
        async with running(machine) as daemon:
            run_id, turn = await daemon.begun(one)
            daemon.runs.leave = leave_nothing  # type: ignore[method-assign]
            daemon.session_locks.forget()
            raise Crash
    assert turn.left
    assert not turn.interrupted.is_set()
    async with running(machine) as daemon:
        turn.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def leave_nothing() -> None:
    """In the place of an orderly end."""


async def test_a_turn_that_ended_while_no_daemon_looked_is_adopted(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    turn.complete()
    async with running(machine) as daemon:
        run = await daemon.ended(run_id)
        assert (run["exit"]["reason"], run["turns"]) == ("turn-complete", 1)
        assert (await daemon.service.status()).taken_up == 0


async def test_a_turn_that_never_reached_its_agent_is_sent_again_under_the_same_uuid(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    turn.complete()  # releases the lease, as a process that was never there
    machine.agent.settled[turn.request.turn_id] = TurnStatus(state="absent")
    async with running(machine) as daemon:
        second = await daemon.turn()
        assert second.request.prompt_uuid == turn.request.prompt_uuid
        assert second.request.turn_id == turn.request.turn_id
        assert second.prompt == turn.prompt
        second.complete()
        assert (await daemon.ended(run_id))["turns"] == 1


async def test_a_turn_that_was_to_be_stopped_and_never_began_is_not_begun(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        turn.obeys = False
        await daemon.actor(run_id).submit(c.Cancel(**daemon.actor(run_id).stamp()))
    turn.complete()
    machine.agent.settled[turn.request.turn_id] = TurnStatus(state="absent")
    async with running(machine) as daemon:
        assert (await daemon.ended(run_id))["exit"]["reason"] == "user-requested"
    assert len(machine.agent.turns) == 1


async def test_a_turn_that_was_cut_off_is_told_so_twice_and_then_a_person_is_asked(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    turn.breaks(recorded=False)
    async with running(machine) as daemon:
        second = await daemon.turn()
        assert second.prompt.startswith(INTERRUPTED)
        assert "Do the work." in second.prompt
        assert second.request.prompt_uuid != turn.request.prompt_uuid
        second.breaks()
        third = await daemon.turn()
        assert third.prompt.startswith(INTERRUPTED)
        assert "Do the work." not in third.prompt
        third.breaks()
        question = await daemon.question(run_id)
        assert question["kind"] == "recover"
        await daemon.answer(run_id, "retry")
        fourth = await daemon.turn()
        assert fourth.prompt.startswith("Do the work.")
        fourth.complete()
        assert (await daemon.ended(run_id))["visits"] == {"work": 1}


async def test_a_broken_turn_without_a_report_counts_as_cut_off(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    turn.complete()
    machine.agent.settled[turn.request.turn_id] = TurnStatus(
        state="broken", prompt_recorded=True, detail="half an answer"
    )
    async with running(machine) as daemon:
        assert (await daemon.turn()).prompt.startswith(INTERRUPTED)
        [ended] = await daemon.events(run_id, "turn.ended")
        assert (ended["report"]["kind"], ended["report"]["detail"]) == ("broken", "half an answer")


async def test_an_open_gate_is_announced_again_under_the_same_id(
    machine: Machine, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(gated)
        before = await daemon.question(run_id)
    async with running(machine) as daemon:
        assert plain(await daemon.service.questions()) == [before]
        await daemon.service.answer(before["question_id"], "yes", None, "ann")
        (await daemon.turn()).complete()
        await daemon.ended(run_id)


async def test_a_driver_that_cannot_look_ends_that_run_and_no_other(
    machine: Machine, one: str, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        waiting = await daemon.start(gated, working_directory=machine.directory("other"))
        await daemon.question(waiting)
    turn.complete()
    machine.agent.settle_fault = RuntimeError("cannot look")
    async with running(machine) as daemon:
        run = await daemon.ended(run_id)
        assert run["exit"]["reason"] == "internal-error"
        [line] = fields_of(daemon.logged, "Run fault")
        assert line["log_id"] in run["exit"]["detail"]
        await daemon.answer(waiting, "yes")
        (await daemon.turn()).complete()
        await daemon.ended(waiting)


async def test_an_agent_that_is_not_configured_any_more_ends_the_run_with_the_reason(
    machine: Machine, one: str
) -> None:
    machine.drivers["scripted"] = ScriptedDriver(Script(()))
    machine.drivers["other"] = machine.agent
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one, agent="other")
    turn.complete()
    del machine.drivers["other"]
    async with running(machine) as daemon:
        run = await daemon.ended(run_id)
        assert run["exit"]["reason"] == "error"
        assert "not configured" in run["exit"]["detail"]


async def test_a_scripted_turn_ends_with_its_daemon_and_is_told_that_it_was_cut_off(
    machine: Machine, one: str
) -> None:
    script = {
        "turns": [
            {"when": "You were interrupted", "outcome": {"outcome": "complete"}},
            {"ask": {"tool": "Bash"}},
        ]
    }
    machine.drivers["scripted"] = ScriptedDriver(parse_script(script, "test"))
    async with running(machine) as daemon:
        run_id = await daemon.start(one, agent="scripted")
        await daemon.question(run_id)
    async with running(machine) as daemon:
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"
        closed = await daemon.events(run_id, "question.closed")
        assert [question["closed"] for question in closed] == ["superseded"]


async def test_steers_on_their_way_arrive_after_the_restart(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        actor = daemon.actor(run_id)
        actor.closing = True  # the daemon goes before it can hand anything over
        await actor.submit(c.Steer(**actor.stamp(), uuid="s-1", text="Mind the tests."))
    assert turn.steers == {}
    async with running(machine) as daemon:
        assert await turn.steered() == "s-1"
        turn.begins_with("s-1")
        await daemon.until(run_id, lambda state: not state.steers)


async def test_an_unknown_run_has_no_events(machine: Machine) -> None:
    async with running(machine) as daemon:
        with pytest.raises(NotFound):
            await daemon.service.run_events("no-such-run", 0, 10)


async def test_old_spools_are_thinned_out_but_not_that_of_a_turn_at_work(
    machine: Machine, one: str
) -> None:
    turns = machine.state / "turns"
    for number in range(40):
        (turns / f"old-{number}").mkdir(parents=True)
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        await daemon.service.storage.tidy()
        assert len(list(turns.iterdir())) == 33
        turn.end(TurnReport(kind="failed", detail="no"))
        await daemon.ended(run_id)
        await daemon.forgotten(run_id)
        assert Path(turn.request.directory).is_dir()  # for whoever looks into the error


@pytest.mark.parametrize(
    ("found", "prompt"),
    sampled(
        [
            (TurnStatus(state="absent"), "Do the work."),
            (TurnStatus(state="broken", prompt_recorded=True), INTERRUPTED),
        ]
    ),
)
async def test_an_agent_that_ends_just_before_it_is_taken_up_is_looked_at_again(
    machine: Machine, one: str, found: TurnStatus, prompt: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    turn.vanishes = True

    class Looks(list[PendingTurn]):
        def append(self, item: PendingTurn) -> None:
            super().append(item)
            if len(self) == 2:  # the second look is after it could not be taken up
                machine.agent.settled[turn.request.turn_id] = found
                turn.complete()

    machine.agent.looked_at = Looks()
    async with running(machine) as daemon:
        second = await daemon.turn()
        assert second.prompt.startswith(prompt)
        second.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_a_run_of_an_agent_not_configured_any_more_ends_when_it_goes_on(
    machine: Machine, gated: str
) -> None:
    machine.drivers["other"] = machine.agent
    async with running(machine) as daemon:
        run_id = await daemon.start(gated, agent="other")
        await daemon.question(run_id)
    del machine.drivers["other"]
    async with running(machine) as daemon:
        await daemon.answer(run_id, "yes")
        run = await daemon.ended(run_id)
        assert (run["exit"]["reason"], run["exit"]["detail"]) == (
            "error",
            "its agent is not configured any more",
        )


async def test_a_project_that_has_gone_meanwhile_keeps_nobody_from_starting(
    machine: Machine, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(gated)
        await daemon.question(run_id)
    shutil.rmtree(machine.project)
    async with running(machine) as daemon:
        assert reason(await daemon.service.cancel(run_id)) == "user-requested"


async def test_an_agent_that_cannot_be_taken_up_does_not_work_on_for_nobody(
    machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)

    def reattach(pending: PendingTurn) -> None:
        raise FileNotFoundError(pending.directory)

    monkeypatch.setattr(machine.agent, "reattach", reattach)
    with subprocess.Popen(["sleep", "600"], env={MARKER: turn.request.turn_id}) as agent:
        async with running(machine) as daemon:
            assert (await daemon.ended(run_id))["exit"]["reason"] == "internal-error"
            assert agent.poll() == -signal.SIGTERM


# -- a turn that never began is begun once more, by another process than the one that is stored


async def test_a_turn_that_is_begun_once_more_is_known_by_its_new_process(
    machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    turn.complete()
    machine.agent.settled[turn.request.turn_id] = TurnStatus(state="absent")
    second = Started(pid=4_000_001, proc_start=2, group=4_000_001)
    monkeypatch.setattr(fake_agent, "LIVES", second)
    async with running(machine) as daemon:
        again = await daemon.turn()
        assert again.request.turn_id == turn.request.turn_id
        await daemon.until(run_id, lambda s: s.turn is not None and _pid(s) == second.pid)
    del machine.agent.settled[turn.request.turn_id]
    async with running(machine) as daemon:
        await again.taken_up()
        assert machine.agent.looked_at[-1].pid == second.pid
        assert (await daemon.types(run_id)).count("turn.started") == 2
        again.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_the_process_that_was_found_is_taken_up_not_the_dead_one_that_is_recorded(
    machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn was begun once more, and its daemon died before it had stored the new process."""
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    second = Started(pid=4_000_001, proc_start=2, group=4_000_001)
    found = TurnStatus(state="running", pid=second.pid, proc_start=second.proc_start)
    machine.agent.settled[turn.request.turn_id] = found
    taken_up: list[PendingTurn] = []
    attach = machine.agent.reattach

    def reattach(pending: PendingTurn) -> AbstractAsyncContextManager[fake_agent.FakeTurn]:
        taken_up.append(pending)
        return attach(pending)

    monkeypatch.setattr(machine.agent, "reattach", reattach)
    async with running(machine) as daemon:
        await turn.taken_up()
        assert [(each.pid, each.proc_start) for each in taken_up] == [
            (second.pid, second.proc_start)
        ]
        turn.says(second)
        await daemon.until(run_id, lambda s: s.turn is not None and _pid(s) == second.pid)
        assert daemon.runs.taken_up == 1 and len(machine.agent.turns) == 1
        turn.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


def _pid(state: RunState) -> int | None:
    started = state.turn.started if state.turn is not None else None
    return started.pid if started is not None else None
