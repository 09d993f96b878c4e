"""After a restart on a damaged log: others go on, and nothing is repeated unasked."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from trio.testing import wait_all_tasks_blocked

from podiumd.core.decide.workflow import decide
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.fold import evolve
from podiumd.drivers.base import TurnStatus
from podiumd.runtime.fact_reader import SHOWN_FAULTS, load
from podiumd.store.facts import open_store
from podiumd.store.records import NewFact, RunRow
from podiumd.tools.process.processes import MARKER
from tests.long import sampled
from tests.plain import plain
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine, fields_of, running

LOGS = Path(__file__).parents[1] / "core"
NOW = "2026-01-02T03:04:05.678Z"


def damage(machine: Machine, run_id: str, where: str) -> None:
    """Spoil one fact of a run."""
    spoil(machine.state / "facts.db", run_id, where)


def spoil(path: Path, run_id: str, where: str, count: int = 1) -> None:
    """Spoil so many facts of a run."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        done = connection.execute(
            f"UPDATE facts SET data = CAST('x' AS BLOB) WHERE run_id = ? AND {where}", (run_id,)
        )
        assert done.rowcount == count


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
        assert (await daemon.ended(well))["exit"]["reason"] == "turn-complete"
        hurt_turn.end(done(text="no JSON"))
        await daemon.until(hurt, lambda state: state.turn is None)
        await wait_all_tasks_blocked()
        assert len(machine.agent.turns) == 2
    async with running(machine) as daemon:  # asked once for each damage
        assert [q.question_id for q in await daemon.service.questions()] == [
            question["question_id"]
        ]
        await daemon.answer(hurt, "continue")
        (await daemon.turn()).complete()
        assert (await daemon.ended(hurt))["exit"]["reason"] == "turn-complete"


async def test_a_turn_of_a_damaged_run_is_not_sent_again_unasked(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    turn.complete()
    machine.agent.settled[turn.request.turn_id] = TurnStatus(state="absent")
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
        assert (await daemon.service.get_run(run_id)).run_id == run_id
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
        assert plain(await daemon.service.whole_run(run_id)) == before
        assert [visit["outcome"] for visit in before.pop("history")] == ["complete"]
        assert len(before.pop("sessions")) == 1  # what grows is told of one run alone
        [ended] = await daemon.events(run_id, "run.ended")
        assert ended["run"] == before
        assert before.pop("ctx") == {}  # lists do without it
        assert plain(await daemon.service.list_runs(None, 10)) == [before]


async def test_a_session_goes_on_whose_run_s_row_is_damaged(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        turn.complete()
        session = (await daemon.ended(run_id))["session_id"]
    with closing(sqlite3.connect(machine.state / "facts.db", isolation_level=None)) as connection:
        connection.execute("UPDATE runs SET summary = CAST('x' AS BLOB)")
    async with running(machine) as daemon:
        await daemon.prompt(session_id=session)
        (await daemon.turn()).end(done())


async def test_a_run_goes_on_without_the_facts_that_do_not_follow(
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
        await daemon.answer(run_id, "retry")
        again = await daemon.turn()
        # What the lost fact has named is not known: an agent drops a prompt whose uuid it has seen.
        assert again.request.turn_id != turn.request.turn_id
        assert again.request.prompt_uuid != turn.request.prompt_uuid
        await daemon.until(run_id, lambda s: s.turn is not None and s.turn.started is not None)
    async with running(machine) as daemon:  # what was stored since then is not lost with it
        await again.taken_up()
        assert await daemon.service.questions() == []
        again.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"
        assert len(machine.agent.turns) == 2


@pytest.mark.parametrize("lost", sampled(["turn.intended", "run.started"]))
async def test_an_agent_whose_turn_is_lost_is_ended_and_nobody_elses(
    machine: Machine, one: str, lost: str
) -> None:
    """Whether the turn alone cannot be read any more, or nothing of its run."""
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        _, well = await daemon.begun(one, working_directory=machine.directory("other"))
    damage(machine, run_id, f"type = '{lost}'")
    elsewhere = str(uuid.uuid4())
    with (
        marked(turn.request.turn_id) as agent,
        marked(well.request.turn_id) as followed,
        marked(elsewhere) as others,
    ):
        async with running(machine) as daemon:
            assert agent.poll() == -signal.SIGTERM
            assert followed.poll() is None and others.poll() is None
            [line] = fields_of(daemon.logged, "Agent of no turn ended")
            assert line == {"turn_id": turn.request.turn_id, "processes": 1}


@contextmanager
def marked(turn_id: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that carries the mark of a turn."""
    with subprocess.Popen(["sleep", "600"], env={MARKER: turn_id}) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("name", sampled(["facts_v1", "facts_native", "facts_conversation"]))
async def test_whatever_fact_is_lost_a_log_folds_again_to_what_was_decided_without_it(
    tmp_path: Path, name: str
) -> None:
    played: dict[str, list[Any]] = {}
    for line in (LOGS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        played.setdefault(row["run"], []).append(row)
    async with open_store(tmp_path) as store:
        for run, facts in played.items():
            for lost in range(2, len(facts) + 1):
                run_id = f"{run}-{lost}"
                await store.append(row_of(run_id), [stored(each) for each in facts])
                spoil(tmp_path / "facts.db", run_id, f"seq = {lost}")
                loaded = await load(store, run_id)
                assert loaded is not None
                assert loaded.damaged.startswith(f"fact {lost} does not match its checksum")
                if loaded.state.exit is not None:
                    continue
                ask = c.AskRecovery(at=NOW, mono=1.0, about="damage", text="How?", detail="")
                live, asked = loaded.state, decide(loaded.state, ask)
                for fact in asked:
                    live = evolve(live, fact, NOW)
                added = [NewFact(f.type_of(each), 1, NOW, None, f.encode(each)) for each in asked]
                await store.append(row_of(run_id), added)
                again = await load(store, run_id)
                assert again is not None and (again.state, again.damaged) == (live, loaded.damaged)


async def test_of_many_faults_some_are_named(tmp_path: Path) -> None:
    text = (LOGS / "facts_native.jsonl").read_text(encoding="utf-8")
    facts = [json.loads(line) for line in text.splitlines()]
    run = [each for each in facts if each["run"] == facts[0]["run"]]
    async with open_store(tmp_path) as store:
        await store.append(row_of("a"), [stored(each) for each in run])
        spoil(tmp_path / "facts.db", "a", f"seq > 1 AND seq < {len(run)}", count=len(run) - 2)
        loaded = await load(store, "a")
    assert loaded is not None
    assert loaded.damaged.startswith("fact 2 does not match its checksum; fact 3 does not match")
    assert f"and so {len(run) - 2 - SHOWN_FAULTS} more" in loaded.damaged


def row_of(run_id: str) -> RunRow:
    return RunRow(run_id, "recipe", "running", None, "/work", NOW, None, b"null")


def stored(row: Any) -> NewFact:
    return NewFact(row["fact"]["type"], 1, row["at"], None, json.dumps(row["fact"]).encode())
