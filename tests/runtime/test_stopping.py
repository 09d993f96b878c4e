"""``podium down``: what is at work is stopped, what waits in the queue stays there."""

from __future__ import annotations

import trio

from podiumd.core.run import commands as c
from podiumd.drivers.base import PendingTurn, TurnStatus
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine, running


async def test_stopping_all_turns_interrupts_them_and_begins_nothing_new(
    machine: Machine, one: str
) -> None:
    machine.max_agents = 2
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        went = await daemon.prompt()
        prompt = await daemon.turn()
        queued = await daemon.start(one, working_directory=machine.directory("other"))
        await daemon.service.stop_turns()
        assert turn.gone.is_set()
        assert prompt.gone.is_set()
        assert (await daemon.service.get_run(run_id)).status == "paused"
        assert (await daemon.ended(went["run_id"]))["exit"]["reason"] == "user-requested"
        late = await daemon.start(one, working_directory=machine.directory("third"))
        assert len(machine.agent.turns) == 2
    async with running(machine) as daemon:
        assert {(await daemon.turn()).request.run_id for _ in range(2)} == {queued, late}
        assert (await daemon.service.get_run(run_id)).status == "paused"


async def test_stopping_all_turns_also_ends_one_that_recovery_still_looks_at(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    looked, go_on = trio.Event(), trio.Event()
    usual = machine.agent.inspect

    async def slow(pending: PendingTurn) -> TurnStatus:
        looked.set()
        await go_on.wait()
        return await usual(pending)

    machine.agent.inspect = slow  # type: ignore[method-assign]
    async with running(machine) as daemon:
        await looked.wait()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(daemon.service.stop_turns)
            await daemon.until(run_id, lambda state: state.stopping)
            go_on.set()
        assert turn.interrupted.is_set() and turn.gone.is_set()
        assert daemon.actor(run_id).state.status == "paused"


async def test_stopping_all_turns_does_not_wait_for_one_that_is_intended_and_not_begun(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        daemon.runs.close()
        run_id = await daemon.start(one)
        actor = daemon.actor(run_id)
        for _ in ("enter the step", "send its prompt"):
            await actor.submit(c.Proceed(**actor.stamp()))
        assert actor.state.turn is not None
        await daemon.service.stop_turns()
        assert actor.state.status == "paused"
        assert machine.agent.turns == []


async def test_stopping_all_turns_leaves_the_queue_as_it_is(machine: Machine, one: str) -> None:
    machine.max_agents = 1
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        waiting = await daemon.start(one, working_directory=machine.directory("other"))
        session = turn.request.session_id
        prompt = await daemon.prompt("Later", session_id=session, if_busy="queue")
        await daemon.service.stop_turns()
    async with running(machine) as daemon:
        assert daemon.actor(run_id).state.status == "paused"
        second = await daemon.turn()
        assert second.request.run_id == waiting
        second.complete()
        await daemon.service.cancel(run_id)  # its session falls free
        last = await daemon.turn()
        assert (last.prompt, last.request.run_id) == ("Later", prompt["run_id"])
        last.end(done())
