"""After a restart: who has which session and tree again, and in which order."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from trio.testing import wait_all_tasks_blocked

from podiumd.drivers.base import Settled
from podiumd.runtime import recovery
from podiumd.runtime.leases import Lease
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine, running


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
        first, turn = await daemon.begun(one)
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
        run_id, turn = await daemon.begun(one)
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
        run_id, turn = await daemon.begun(one)
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
        run_id, turn = await daemon.begun(one)
    machine.agent.settled[turn.request.turn_id] = Settled(state="absent")
    async with running(machine) as daemon:
        assert (await daemon.ended(run_id))["exit"]["reason"] == "session-locked"
    assert len(machine.agent.turns) == 1
    turn.complete()
