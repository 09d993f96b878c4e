"""A step that a turn begins is entered, and its turn intended, in one transaction: where the run is
still to go on once all is looked at."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from podiumd.core.run import commands as c
from podiumd.core.run.state import RunState
from podiumd.runtime.run import effects, observe
from podiumd.runtime.run.actor import NextStep, RunActor
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine, running


async def test_a_run_that_is_paused_meanwhile_enters_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, go_on, look = trio.Event(), trio.Event(), observe.turn_after

    async def slow(actor: RunActor, seen: c.Proceed) -> NextStep | None:
        found = await look(actor, seen)
        assert found is not None
        looked.set()
        await go_on.wait()
        return found

    monkeypatch.setattr(effects, "turn_after", slow)
    async with running(machine) as daemon:
        run_id = await daemon.start(machine.one_step())
        await looked.wait()
        await daemon.service.pause(run_id)
        go_on.set()
        await trio.testing.wait_all_tasks_blocked()
        assert await daemon.types(run_id) == ["run.started", "run.paused"]
        await daemon.service.resume(run_id)
        (await daemon.turn()).end(done({"outcome": "complete"}))
        await daemon.ended(run_id)
        told = ["run.resumed", "step.entered", "turn.intended"]
        assert (await daemon.types(run_id))[2:5] == told


async def test_what_ends_the_run_is_decided_by_itself(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a look at what it leaves: the step is entered all the same."""
    look = observe.turn_after

    async def ends(actor: RunActor, seen: c.Proceed) -> NextStep | None:
        found = await look(actor, seen)
        if found is None:  # the turn is by itself now
            return None
        gone = c.Proceed(at=seen.at, mono=seen.mono, problem="its agent is gone")
        return NextStep(found.session_id, gone)

    monkeypatch.setattr(effects, "turn_after", ends)
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(machine.one_step())
        turn.end(done({"outcome": "complete"}))
        run = await daemon.ended(run_id)
        assert run["exit"]["reason"] == "turn-complete"


async def test_of_a_session_that_somebody_else_uses_nothing_is_foreseen(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, look = list[NextStep | None](), observe.turn_after

    async def noted(actor: RunActor, seen: c.Proceed) -> NextStep | None:
        with monkeypatch.context() as others:
            others.setattr(actor.session_locks, "user", lambda _session: "another")
            found.append(await look(actor, seen))
        return found[-1]

    monkeypatch.setattr(effects, "turn_after", noted)
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(machine.one_step())
        turn.end(done({"outcome": "complete"}))
        await daemon.ended(run_id)
        assert found == [None, None]
        assert (await daemon.types(run_id))[1:3] == ["step.entered", "turn.intended"]


def reports_after(go_on: trio.Event, monkeypatch: pytest.MonkeyPatch) -> trio.Event:
    """Return what is set once a look is reported after ``go_on``, and its facts are stored."""
    reported, report = trio.Event(), RunActor.report

    async def noted(self: RunActor, command: c.AnyCommand, **how: Any) -> RunState:
        state = await report(self, command, **how)
        if go_on.is_set() and isinstance(command, c.Proceed):
            reported.set()
        return state

    monkeypatch.setattr(RunActor, "report", noted)
    return reported


@pytest.mark.parametrize("where", ["preconditions", "turn_after"])
async def test_an_aside_that_began_during_a_look_has_the_session_for_itself(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """The run was paused for it and resumed: what was seen before counts no more."""
    looked, go_on, look = trio.Event(), trio.Event(), getattr(observe, where)
    reported = reports_after(go_on, monkeypatch)

    async def slow(actor: RunActor, *seen: c.Proceed) -> object:
        found = await look(actor, *seen)
        if not looked.is_set():
            looked.set()
            await go_on.wait()
        return found

    monkeypatch.setattr(effects, where, slow)
    async with running(machine) as daemon:
        run_id = await daemon.start(machine.one_step())
        await looked.wait()
        session = (await daemon.service.get_run(run_id)).session_id
        await daemon.service.pause(run_id)
        await daemon.prompt("By the way", session_id=session)
        aside = await daemon.turn()
        await daemon.service.resume(run_id)
        go_on.set()
        await reported.wait()
        assert "turn.intended" not in await daemon.types(run_id)
        assert [turn.request.run_id for turn in machine.agent.turns] == [aside.request.run_id]
        aside.end(done())
        (await daemon.turn()).end(done({"outcome": "complete"}))
        await daemon.ended(run_id)


async def test_a_look_at_a_turn_that_is_tried_again_is_of_the_run_as_it_stands(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, go_on, look = trio.Event(), trio.Event(), observe.preconditions
    reported = reports_after(go_on, monkeypatch)

    async def slow(actor: RunActor) -> c.Proceed | None:
        found = await look(actor)
        again = actor.state.next is not None and actor.state.next.kind == "turn"
        if again and actor.state.turns and not looked.is_set():
            looked.set()
            await go_on.wait()
        return found

    monkeypatch.setattr(effects, "preconditions", slow)
    async with running(machine) as daemon:
        run_id, first = await daemon.begun(machine.one_step())
        first.end(done())
        await looked.wait()
        await daemon.service.pause(run_id)
        await daemon.prompt("By the way", session_id=first.request.session_id)
        aside = await daemon.turn()
        await daemon.service.resume(run_id)
        go_on.set()
        await reported.wait()
        intended = [one for one in await daemon.types(run_id) if one == "turn.intended"]
        assert len(intended) == 1
        aside.end(done())
        (await daemon.turn()).end(done({"outcome": "complete"}))
        await daemon.ended(run_id)
