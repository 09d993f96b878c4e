"""A turn that never began is begun once more, by another process than the one that is stored."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import pytest

from podiumd.core.run.state import RunState
from podiumd.drivers.base import PendingTurn, Started, TurnStatus
from tests.runtime import fake_agent
from tests.runtime.harness import Machine, running


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
