"""A second daemon on what the first one left: nothing is lost, nothing is done twice."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from trio.testing import wait_all_tasks_blocked

from podiumd.core import commands as c
from podiumd.core.prompts import INTERRUPTED
from podiumd.core.report import TurnReport
from podiumd.drivers.base import PendingTurn, Settled
from podiumd.drivers.script import Script, parse_script
from podiumd.drivers.scripted import ScriptedDriver
from podiumd.runtime import recovery
from podiumd.runtime.errors import Busy, NotFound
from podiumd.runtime.leases import Lease
from tests.runtime.fake_agent import FakeTurn, done
from tests.runtime.harness import Daemon, Machine, fields_of, running
from tests.tools.git_repository import commit, make_repository


@pytest.fixture
def one(machine: Machine) -> str:
    return machine.one_step()


@pytest.fixture
def gated(machine: Machine) -> str:
    return machine.one_step("gated", step='gate = "Go on?"')


async def begun(daemon: Daemon, recipe: str, **fields: object) -> tuple[str, FakeTurn]:
    """A run whose first turn is known to have started."""
    run_id = await daemon.start(recipe, **fields)
    turn = await daemon.turn()
    await daemon.until(run_id, lambda s: s.turn is not None and s.turn.started is not None)
    return run_id, turn


def damage(machine: Machine, run_id: str, where: str) -> None:
    """Spoil one fact of a run."""
    with closing(sqlite3.connect(machine.state / "facts.db", isolation_level=None)) as connection:
        done = connection.execute(
            f"UPDATE facts SET data = CAST('x' AS BLOB) WHERE run_id = ? AND {where}", (run_id,)
        )
        assert done.rowcount == 1


async def test_a_running_turn_is_let_go_and_taken_up_with_its_session_held_meanwhile(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
    assert turn.left
    assert not turn.interrupted.is_set()
    async with running(machine) as daemon:
        await daemon.until(run_id, lambda _state: turn.attached == 1)
        assert daemon.service.status()["taken_up"] == 1
        with pytest.raises(Busy) as raised:
            await daemon.prompt(session_id=turn.request.session_id)
        assert raised.value.data["holder"]["id"] == run_id
        turn.complete()
        run = await daemon.ended(run_id)
        assert (run["exit"]["reason"], run["turns"]) == ("task-committed", 1)
        assert await daemon.service.locks() == []
    assert len(machine.agent.turns) == 1


async def test_a_taken_up_turn_gives_its_session_back_for_the_next_one(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
    async with running(machine) as daemon:
        turn.end(done(text="no JSON"))
        retry = await daemon.turn()
        assert retry.request.lease_fd is not None
        retry.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "task-committed"


async def test_a_turn_is_let_go_also_when_the_daemon_is_torn_down(
    machine: Machine, one: str
) -> None:
    """Not asked to leave: cancelled, as when another part of the daemon fails."""

    class Crash(Exception):
        pass

    with pytest.RaisesGroup(Crash, flatten_subgroups=True):
        async with running(machine) as daemon:
            run_id, turn = await begun(daemon, one)
            daemon.runs.leave = leave_nothing  # type: ignore[method-assign]
            daemon.desk.forget()
            raise Crash
    assert turn.left
    assert not turn.interrupted.is_set()
    async with running(machine) as daemon:
        turn.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "task-committed"


async def leave_nothing() -> None:
    """In the place of an orderly end."""


async def test_a_turn_that_ended_while_no_daemon_looked_is_adopted(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
    turn.complete()
    async with running(machine) as daemon:
        run = await daemon.ended(run_id)
        assert (run["exit"]["reason"], run["turns"]) == ("task-committed", 1)
        assert daemon.service.status()["taken_up"] == 0


async def test_a_turn_that_never_reached_its_agent_is_sent_again_under_the_same_uuid(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
    turn.complete()  # releases the lease, as a process that was never there
    machine.agent.settled[turn.request.turn_id] = Settled(state="absent")
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
        run_id, turn = await begun(daemon, one)
        turn.obeys = False
        at, mono = daemon.actor(run_id).stamp()
        await daemon.actor(run_id).submit(c.Cancel(at=at, mono=mono))
    turn.complete()
    machine.agent.settled[turn.request.turn_id] = Settled(state="absent")
    async with running(machine) as daemon:
        assert (await daemon.ended(run_id))["exit"]["reason"] == "user-requested"
    assert len(machine.agent.turns) == 1


async def test_a_turn_that_was_cut_off_is_told_so_twice_and_then_a_person_is_asked(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
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
        run_id, turn = await begun(daemon, one)
    turn.complete()
    machine.agent.settled[turn.request.turn_id] = Settled(
        state="broken", prompt_recorded=True, detail="half an answer"
    )
    async with running(machine) as daemon:
        assert (await daemon.turn()).prompt.startswith(INTERRUPTED)
        [ended] = await daemon.events(run_id, "turn.ended")
        assert (ended["report"]["kind"], ended["report"]["detail"]) == ("broken", "half an answer")


async def test_an_irreversible_step_that_was_cut_off_asks_and_shows_the_tree(
    machine: Machine,
) -> None:
    repository = make_repository(machine.project / "repo")
    head = commit(repository, "first")
    once = machine.one_step("once", step="irreversible = true")
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, once, working_directory=str(repository))
    turn.breaks()
    async with running(machine) as daemon:
        question = await daemon.question(run_id)
        assert question["kind"] == "recover"
        assert head in question["detail"]
        assert len(machine.agent.turns) == 1
        await daemon.answer(run_id, "stop")
        assert (await daemon.ended(run_id))["exit"]["reason"] == "user-requested"


async def test_an_open_gate_is_announced_again_under_the_same_id(
    machine: Machine, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(gated)
        before = await daemon.question(run_id)
    async with running(machine) as daemon:
        assert await daemon.service.questions() == [before]
        await daemon.service.answer(before["question_id"], "yes", None, "ann")
        (await daemon.turn()).complete()
        await daemon.ended(run_id)


async def test_a_damaged_fact_makes_its_run_ask_and_others_go_on(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        hurt, hurt_turn = await begun(daemon, one)
        well, well_turn = await begun(daemon, one, working_directory=machine.directory("other"))
    damage(machine, hurt, "type = 'turn.started'")
    async with running(machine) as daemon:
        question = await daemon.question(hurt)
        assert question["kind"] == "recover"
        assert question["detail"] == "fact 4 does not match its checksum"
        well_turn.complete()
        assert (await daemon.ended(well))["exit"]["reason"] == "task-committed"
        hurt_turn.end(done(text="no JSON"))
        await daemon.until(hurt, lambda state: state.turn is None)
        await wait_all_tasks_blocked()
        assert len(machine.agent.turns) == 2
    async with running(machine) as daemon:  # asked once for each damage
        assert [q["question_id"] for q in await daemon.service.questions()] == [
            question["question_id"]
        ]
        await daemon.answer(hurt, "continue")
        (await daemon.turn()).complete()
        assert (await daemon.ended(hurt))["exit"]["reason"] == "task-committed"


async def test_a_turn_of_a_damaged_run_is_not_sent_again_unasked(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
    turn.complete()
    machine.agent.settled[turn.request.turn_id] = Settled(state="absent")
    damage(machine, run_id, "type = 'turn.started'")
    async with running(machine) as daemon:
        await daemon.question(run_id)
        await daemon.until(run_id, lambda state: state.turn is None)
        assert len(machine.agent.turns) == 1
        await daemon.answer(run_id, "retry")
        assert (await daemon.turn()).prompt.startswith("Do the work.")


async def test_a_run_whose_beginning_is_lost_is_left_alone(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
    turn.complete()
    damage(machine, run_id, "type = 'run.started'")
    async with running(machine) as daemon:
        assert [line["run_id"] for line in fields_of(daemon.logged, "Run unreadable")] == [run_id]
        assert (await daemon.service.get_run(run_id))["run_id"] == run_id
        await daemon.prompt()
        await daemon.turn()


async def test_a_damaged_row_is_made_up_for_from_the_facts(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
        turn.complete()
        before = await daemon.ended(run_id)
    with closing(sqlite3.connect(machine.state / "facts.db", isolation_level=None)) as connection:
        connection.execute("UPDATE runs SET summary = CAST('x' AS BLOB)")
    async with running(machine) as daemon:
        assert await daemon.service.get_run(run_id) == before
        assert await daemon.service.list_runs(None, 10) == [before]
        [ended] = await daemon.events(run_id, "run.ended")
        assert ended["run"] == before


async def test_a_fact_that_does_not_follow_ends_what_can_be_read(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
    turn.complete()
    damage(machine, run_id, "type = 'turn.intended'")
    async with running(machine) as daemon:
        question = await daemon.question(run_id)
        assert "fact 3" in question["detail"]
        assert "fact 4 does not follow" in question["detail"]


async def test_a_queued_prompt_is_still_behind_its_run_after_a_restart(
    machine: Machine, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(gated)
        await daemon.answer(run_id, "yes")
        turn = await daemon.turn()
        session = turn.request.session_id
        for number in range(3):
            await daemon.prompt(f"number {number}", session_id=session, if_busy="queue")
    async with running(machine) as daemon:
        await wait_all_tasks_blocked()
        assert len(machine.agent.turns) == 1
        turn.complete()
        for number in range(3):
            following = await daemon.turn()
            assert following.prompt == f"number {number}"
            following.end(done())


async def test_queued_runs_begin_in_their_order_after_a_restart(machine: Machine, one: str) -> None:
    machine.max_agents = 1
    async with running(machine) as daemon:
        first, turn = await begun(daemon, one)
        others = [
            await daemon.start(one, working_directory=machine.directory(f"d{number}"))
            for number in range(3)
        ]
    async with running(machine) as daemon:
        turn.complete()
        await daemon.ended(first)
        for run_id in others:
            following = await daemon.turn()
            assert following.request.run_id == run_id
            following.complete()


@pytest.mark.parametrize("lives", [True, False])
async def test_an_aside_has_its_run_s_session_again_after_a_restart(
    machine: Machine, gated: str, lives: bool
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(gated)
        await daemon.question(run_id)
        session = daemon.actor(run_id).state.session_id
        aside = await daemon.prompt("By the way", session_id=session)
        turn = await daemon.turn()
        await daemon.until(aside["run_id"], lambda s: s.turn is not None and bool(s.turn.started))
    if not lives:
        turn.end(done())
    async with running(machine) as daemon:
        await daemon.answer(run_id, "yes")
        await wait_all_tasks_blocked()
        turn.end(done())
        await daemon.ended(aside["run_id"])
        second = await daemon.turn()
        assert (second.request.run_id, second.request.session_id) == (run_id, session)
        second.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "task-committed"


async def test_a_session_that_somebody_took_meanwhile_ends_the_run(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
    turn.breaks()
    async with running(machine, restore=False) as daemon:
        other = daemon.desk.holder("another", "prompt")
        lease = daemon.context.leases.try_session(
            turn.request.session_id, replace(other, state_directory="/another")
        )
        assert isinstance(lease, Lease)
        with lease:
            await daemon.service.restore()
            run = await daemon.ended(run_id)
        assert run["exit"]["reason"] == "session-locked"
        assert "another" in run["exit"]["detail"]


async def test_a_tree_that_another_daemon_took_meanwhile_ends_the_run(
    machine: Machine, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(gated)
        await daemon.question(run_id)
    async with running(machine, restore=False) as daemon:
        other = daemon.desk.holder("another", "recipe")
        lease = daemon.context.leases.try_tree(machine.project, other)
        assert isinstance(lease, Lease)
        with lease:
            await daemon.service.restore()
            await daemon.answer(run_id, "yes")
            assert (await daemon.ended(run_id))["exit"]["reason"] == "session-locked"
        assert machine.agent.turns == []


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recovery looks again at once."""
    monkeypatch.setattr(recovery, "LOOK_AGAIN_SECONDS", 0.0)


async def test_a_lease_that_falls_free_late_is_waited_for(
    machine: Machine, one: str, impatient: None
) -> None:
    """A process between fork and exec holds the lease and cannot be found yet."""
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
    machine.agent.settled[turn.request.turn_id] = Settled(state="absent")
    looks: list[int] = []

    class Late(list):  # type: ignore[type-arg]
        def append(self, item: object) -> None:
            looks.append(1)
            if len(looks) == 5:
                turn.complete()

    machine.agent.looked_at = Late()
    async with running(machine) as daemon:
        second = await daemon.turn()
        assert len(looks) >= 5
        assert second.request.prompt_uuid == turn.request.prompt_uuid
        second.complete()
        assert (await daemon.ended(run_id))["turns"] == 1


async def test_a_lease_that_never_falls_free_ends_the_run(
    machine: Machine, one: str, impatient: None
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
    machine.agent.settled[turn.request.turn_id] = Settled(state="absent")
    async with running(machine) as daemon:
        assert (await daemon.ended(run_id))["exit"]["reason"] == "session-locked"
    assert len(machine.agent.turns) == 1
    turn.complete()


async def test_a_driver_that_cannot_look_ends_that_run_and_no_other(
    machine: Machine, one: str, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
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
        run_id, turn = await begun(daemon, one, agent="other")
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
        assert (await daemon.ended(run_id))["exit"]["reason"] == "task-committed"
        closed = await daemon.events(run_id, "question.closed")
        assert [question["closed"] for question in closed] == ["superseded"]


async def test_steers_on_their_way_arrive_after_the_restart(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
        actor = daemon.actor(run_id)
        actor.closing = True  # the daemon goes before it can hand anything over
        at, mono = actor.stamp()
        await actor.submit(c.Steer(at=at, mono=mono, uuid="s-1", text="Mind the tests."))
    assert turn.steers == {}
    async with running(machine) as daemon:
        assert await turn.steered() == "s-1"
        turn.begins_with("s-1")
        await daemon.until(run_id, lambda state: not state.steers)


async def test_stopping_all_turns_interrupts_them_and_begins_nothing_new(
    machine: Machine, one: str
) -> None:
    machine.max_agents = 2
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
        went = await daemon.prompt()
        prompt = await daemon.turn()
        queued = await daemon.start(one, working_directory=machine.directory("other"))
        await daemon.service.stop_turns()
        assert turn.gone.is_set()
        assert prompt.gone.is_set()
        assert (await daemon.service.get_run(run_id))["status"] == "paused"
        assert (await daemon.ended(went["run_id"]))["exit"]["reason"] == "user-requested"
        late = await daemon.start(one, working_directory=machine.directory("third"))
        assert len(machine.agent.turns) == 2
    async with running(machine) as daemon:
        assert {(await daemon.turn()).request.run_id for _ in range(2)} == {queued, late}
        assert (await daemon.service.get_run(run_id))["status"] == "paused"


async def test_an_unknown_run_has_no_events(machine: Machine) -> None:
    async with running(machine) as daemon:
        with pytest.raises(NotFound):
            await daemon.service.run_events("no-such-run", 0, 10)


async def test_old_spools_are_thinned_out_at_the_start(machine: Machine, one: str) -> None:
    turns = machine.state / "turns"
    for number in range(40):
        (turns / f"old-{number}").mkdir(parents=True)
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
        assert len(list(turns.iterdir())) == 33
        turn.end(TurnReport(kind="failed", detail="no"))
        await daemon.ended(run_id)
        await daemon.forgotten(run_id)
        assert Path(turn.request.directory).is_dir()  # for whoever looks into the error


@pytest.mark.parametrize(
    ("found", "prompt"),
    [
        (Settled(state="absent"), "Do the work."),
        (Settled(state="broken", prompt_recorded=True), INTERRUPTED),
    ],
)
async def test_an_agent_that_ends_just_before_it_is_taken_up_is_looked_at_again(
    machine: Machine, one: str, found: Settled, prompt: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await begun(daemon, one)
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
        assert (await daemon.ended(run_id))["exit"]["reason"] == "task-committed"


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
        assert (await daemon.service.cancel(run_id))["exit"]["reason"] == "user-requested"
