"""After a restart on a damaged log: others go on, and nothing is repeated unasked."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from trio.testing import wait_all_tasks_blocked

from podiumd.drivers.base import Settled
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine, fields_of, running


def damage(machine: Machine, run_id: str, where: str) -> None:
    """Spoil one fact of a run."""
    with closing(sqlite3.connect(machine.state / "facts.db", isolation_level=None)) as connection:
        done = connection.execute(
            f"UPDATE facts SET data = CAST('x' AS BLOB) WHERE run_id = ? AND {where}", (run_id,)
        )
        assert done.rowcount == 1


async def test_a_damaged_fact_makes_its_run_ask_and_others_go_on(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        hurt, hurt_turn = await daemon.begun(one)
        well, well_turn = await daemon.begun(one, working_directory=machine.directory("other"))
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
        run_id, turn = await daemon.begun(one)
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
        run_id, turn = await daemon.begun(one)
    turn.complete()
    damage(machine, run_id, "type = 'run.started'")
    async with running(machine) as daemon:
        assert [line["run_id"] for line in fields_of(daemon.logged, "Run unreadable")] == [run_id]
        assert (await daemon.service.get_run(run_id))["run_id"] == run_id
        await daemon.prompt()
        await daemon.turn()


async def test_a_damaged_row_is_made_up_for_from_the_facts(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
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
        run_id, turn = await daemon.begun(one)
    turn.complete()
    damage(machine, run_id, "type = 'turn.intended'")
    async with running(machine) as daemon:
        question = await daemon.question(run_id)
        assert "fact 3" in question["detail"]
        assert "fact 4 does not follow" in question["detail"]
