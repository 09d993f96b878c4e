"""A step that a turn begins is entered, and its turn intended, in one transaction: where the run is
still to go on once all is looked at."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from podiumd.core.run import commands as c
from podiumd.runtime.run import effects, observe
from podiumd.runtime.run.actor import Following, RunActor
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine, running


async def test_a_run_that_is_paused_meanwhile_enters_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, go_on, look = trio.Event(), trio.Event(), observe.turn_after

    async def slow(actor: RunActor, seen: c.Proceed) -> Following | None:
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

    async def ends(actor: RunActor, seen: c.Proceed) -> Following | None:
        found = await look(actor, seen)
        if found is None:  # the turn is by itself now
            return None
        gone = c.Proceed(at=seen.at, mono=seen.mono, problem="its agent is gone")
        return Following(found.session_id, gone)

    monkeypatch.setattr(effects, "turn_after", ends)
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(machine.one_step())
        turn.end(done({"outcome": "complete"}))
        run = await daemon.ended(run_id)
        assert run["exit"]["reason"] == "turn-complete"


async def test_of_a_session_that_somebody_else_uses_nothing_is_foreseen(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, look = list[Following | None](), observe.turn_after

    async def noted(actor: RunActor, seen: c.Proceed) -> Following | None:
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
