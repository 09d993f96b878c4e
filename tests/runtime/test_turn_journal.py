"""The journal of a native turn: what its driver records is stored, and outlives the daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import pytest

from podiumd.core.reply.actions import NAMES
from podiumd.core.reply.report import TurnReport
from podiumd.core.run import native_loop_commands as lc
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run import native_loop_state as ls
from podiumd.drivers.base import JournalClosed, TurnJournal, TurnStatus
from tests.plain import plain
from tests.runtime.fake_agent import FakeDriver, FakeTurn, done
from tests.runtime.harness import Daemon, Json, Machine, running

BEGIN = lc.Begin(settings=lf.LoopSettings(max_iterations=5, tools=NAMES))
READ_AND_WRITE = (
    '```json\n[{"action": "read_file", "path": "a.py"},'
    ' {"action": "write_file", "path": "a.py", "content": "x"}]\n```'
)
READ = lf.Result(action="read_file", success=True, message="1 line")
WRITTEN = lf.Result(action="write_file", success=True, message="created")
CHANGE = lf.FileChange("a.py", None, "b" * 64)


def journal_of(turn: FakeTurn) -> TurnJournal:
    assert turn.request.journal is not None
    return turn.request.journal


async def half_done(turn: FakeTurn) -> TurnJournal:
    """The turn has read, and is about to write."""
    journal = journal_of(turn)
    await journal.record(BEGIN)
    await journal.record(lc.ReportReply(text=READ_AND_WRITE, cost_usd=0.5))
    await journal.record(lc.ReportActionEnd(index=0, result=READ))
    await journal.record(lc.PlanAction(index=1, changes=(CHANGE,)))
    return journal


@pytest.fixture
def mortal(machine: Machine) -> Machine:
    """A machine whose agent lives inside the daemon and ends with it."""
    machine.agent = FakeDriver(survives=False)
    machine.drivers["claude"] = machine.agent
    return machine


@asynccontextmanager
async def cut_off(
    machine: Machine, recipe: str, state: Literal["absent", "broken"] = "absent"
) -> AsyncIterator[tuple[Daemon, str, FakeTurn]]:
    """A daemon, a run and its turn that is half done and ends with that daemon."""
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(recipe)
        await half_done(turn)
        yield daemon, run_id, turn
    turn.end(TurnReport(kind="interrupted"))
    machine.agent.settled[turn.request.turn_id] = TurnStatus(state=state)


async def completed(daemon: Daemon, run_id: str, turn: FakeTurn) -> Json:
    """The run, once its last turn is over."""
    turn.complete()
    return await daemon.ended(run_id)


async def test_what_is_recorded_is_stored_and_answers_with_what_is_next(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        journal = journal_of(turn)
        fresh = journal.loop
        assert fresh.next == ls.Begin()
        assert (await journal.record(BEGIN)).next == ls.Ask()
        assert (await journal.record(lc.ReportReply(text=READ_AND_WRITE))).next == ls.Act(0)
        assert journal.loop.next == ls.Act(0)
        assert (await journal.record(lc.ReportActionEnd(index=1, result=READ))).next == ls.Act(0)

        assert (await daemon.types(run_id))[-2:] == ["loop.started", "reply.received"]
        await completed(daemon, run_id, turn)


async def test_a_ledger_closes_with_its_turn_and_still_tells_how_far_that_came(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        journal = await half_done(turn)
        turn.end(done(text="no JSON"))
        retry = await daemon.turn()

        with pytest.raises(JournalClosed):
            await journal.record(lc.ReportActionEnd(index=1, result=READ))
        assert journal.loop.next == ls.Act(1)
        assert journal.words == ()
        assert journal_of(retry).loop == ls.LoopState()
        await completed(daemon, run_id, retry)
        with pytest.raises(JournalClosed):
            await journal_of(retry).record(BEGIN)


async def test_the_next_daemon_enters_the_same_turn_again_where_it_was(
    mortal: Machine, one: str
) -> None:
    async with cut_off(mortal, one) as (_, run_id, turn):
        pass
    async with running(mortal) as daemon:
        again = await daemon.turn()
        assert again.request.turn_id == turn.request.turn_id
        (pending,) = mortal.agent.looked_at
        loop = journal_of(again).loop
        assert pending.loop == loop
        assert loop.next == ls.Act(1)
        assert [a.result for a in loop.rounds[0].actions] == [READ, None]
        assert loop.rounds[0].actions[1].intended is not None

        await journal_of(again).record(
            lc.ReportActionEnd(index=1, result=WRITTEN, changes=(CHANGE,))
        )
        run = await completed(daemon, run_id, again)
        assert (run["exit"]["reason"], run["turns"]) == ("turn-complete", 1)
        assert run["cost_usd"] == 0.5


async def test_a_question_that_was_open_stands_and_its_answer_reaches_the_turn(
    mortal: Machine, one: str
) -> None:
    """Whoever holds its id, a script or a phone's notification, can answer it."""
    async with cut_off(mortal, one) as (daemon, run_id, turn):
        turn.asks("r1", "write_file", input={"path": "a.py"})
        first = await daemon.question(run_id)
    async with running(mortal) as daemon:
        again = await daemon.turn()
        assert (await daemon.question(run_id))["question_id"] == first["question_id"]
        again.asks("r1", "write_file", input={"path": "a.py"})

        await daemon.service.answer(first["question_id"], "allow", None, "ann")

        assert (await again.answered("r1")).behavior == "allow"
        await completed(daemon, run_id, again)
        assert len(await daemon.events(run_id, "question.opened")) == 1


async def test_a_question_that_was_open_gives_way_to_one_about_something_else(
    mortal: Machine, one: str
) -> None:
    async with cut_off(mortal, one) as (daemon, run_id, turn):
        turn.asks("r1", "write_file", input={"path": "a.py"})
        first = await daemon.question(run_id)
    async with running(mortal) as daemon:
        again = await daemon.turn()
        again.asks("r2", "write_file", input={"path": "b.py"})
        await daemon.until(run_id, lambda state: len(state.questions) == 2)
        second = await daemon.question(run_id)
        assert second["question_id"] != first["question_id"]

        await daemon.answer(run_id, "allow")
        assert (await again.answered("r2")).behavior == "allow"
        await completed(daemon, run_id, again)


async def test_an_answer_that_the_turn_did_not_get_any_more_serves_when_it_asks_again(
    mortal: Machine, one: str
) -> None:
    async with cut_off(mortal, one) as (daemon, run_id, turn):
        turn.asks("r1", "write_file", input={"path": "a.py"})
        await daemon.question(run_id)
        turn.waits_no_more()
        await daemon.answer(run_id, "deny", note="not now")
    async with running(mortal) as daemon:
        again = await daemon.turn()
        again.asks("r2", "write_file", input={"path": "a.py"})

        decision = await again.answered("r2")
        assert (decision.behavior, decision.message) == ("deny", "not now")
        await completed(daemon, run_id, again)


async def test_words_that_the_turn_took_and_did_not_begin_with_wait_in_the_ledger(
    mortal: Machine, one: str
) -> None:
    async with cut_off(mortal, one) as (daemon, run_id, turn):
        assert plain(await daemon.service.steer(run_id, "And b.py.")) == {"state": "queued"}
        assert [words.text for words in journal_of(turn).words] == ["And b.py."]
    async with running(mortal) as daemon:
        again = await daemon.turn()
        journal = journal_of(again)
        assert [words.text for words in journal.words] == ["And b.py."]
        loop = await journal.record(lc.AddWords(words=journal.words))
        assert [(words.after, words.text) for words in loop.words] == [(1, "And b.py.")]
        again.begins_with(journal.words[0].uuid)
        await daemon.until(run_id, lambda state: not state.steers)
        assert journal.words == ()
        await completed(daemon, run_id, again)


async def test_a_turn_that_somebody_has_the_session_of_tells_what_it_had_done(
    mortal: Machine, one: str
) -> None:
    """The next daemon cannot go on with it: whatever it reports, the facts know more."""
    async with cut_off(mortal, one, "broken") as (_, run_id, turn):
        await journal_of(turn).record(
            lc.ReportActionEnd(index=1, result=WRITTEN, changes=(CHANGE,))
        )
    async with running(mortal) as daemon:
        turn = await daemon.turn()
        ended, *_ = await daemon.events(run_id, "turn.ended")
        await completed(daemon, run_id, turn)

    assert (ended["report"]["files"], ended["cost_usd"]) == ([["a.py", "created"]], 0.5)
