"""What goes wrong inside stays inside its run; a full disk is waited out."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from podiumd.core.reply.report import TurnReport
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.state import ActiveTurn, RunState
from podiumd.drivers.base import TurnRequest
from podiumd.runtime.context import Agent
from podiumd.runtime.errors import AlreadyEnded, NotFound
from podiumd.runtime.run import actor as acting
from podiumd.runtime.run import turn_task
from podiumd.runtime.run.actor import RunActor
from podiumd.runtime.run.effects import Effects
from podiumd.runtime.run.turn_request import turn_request
from podiumd.store.errors import StoreError
from podiumd.tools import failpoints
from tests.plain import reason
from tests.runtime.harness import Daemon, Machine, fields_of, running
from tests.store.test_writer import files_no_larger_than


@pytest.fixture
def failing() -> Iterator[None]:
    yield
    failpoints.arm(None)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a full disk refused is tried again at once."""
    monkeypatch.setattr(acting, "RETRY_SECONDS", 0.001)


async def ends_internally(daemon: Daemon, run_id: str) -> None:
    run = await daemon.ended(run_id)
    assert (run["exit"]["reason"], run["exit"]["category"]) == ("internal-error", "error")
    [line] = fields_of(daemon.logged, "Run fault")
    assert run["exit"]["detail"] == f"log entry {line['log_id']}"


async def test_a_fault_of_a_driver_ends_its_run_and_nothing_else(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        well = await daemon.start(one, working_directory=machine.directory("other"))
        well_turn = await daemon.turn()
        hurt = await daemon.start(one)
        turn = await daemon.turn()
        turn.fails_inside(RuntimeError("secret"))
        await ends_internally(daemon, hurt)
        assert "secret" not in str(await daemon.service.get_run(hurt))
        assert turn.gone.is_set()
        well_turn.complete()
        assert (await daemon.ended(well))["exit"]["reason"] == "turn-complete"
        assert await daemon.service.locks() == []
        await daemon.start(one)
        await daemon.turn()


async def test_a_fault_while_the_agent_works_ends_the_agent(machine: Machine, one: str) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        await daemon.actor(run_id).fault("test", "a trace")
        await ends_internally(daemon, run_id)
        assert turn.interrupted.is_set()
        assert turn.gone.is_set()


async def test_whoever_waits_for_the_turn_of_a_faulty_run_is_not_left_waiting(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        turn.takes_steers = turn.obeys = False
        actor = daemon.actor(run_id)
        seen: list[str] = []

        async def interrupt() -> None:
            seen.append((await daemon.service.interrupt(run_id)).status)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(interrupt)
            await turn.interrupted.wait()
            await actor.fault("test", "a trace")
            turn.end(TurnReport(kind="interrupted"))
        assert seen == ["ended"]


async def test_a_fault_of_the_run_itself_ends_it(
    machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Effects, nursery: trio.Nursery) -> None:
        raise ZeroDivisionError

    async with running(machine) as daemon:
        with monkeypatch.context() as patch:
            patch.setattr(Effects, "start_due", broken)
            run_id = await daemon.start(one)
            await ends_internally(daemon, run_id)
        await daemon.forgotten(run_id)
        await daemon.start(one)
        (await daemon.turn()).complete()


async def test_a_run_whose_end_cannot_even_be_decided_gives_back_what_it_holds(
    machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(state: RunState | None, command: c.AnyCommand) -> None:
        raise ZeroDivisionError

    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        with monkeypatch.context() as patch:
            patch.setattr(acting, "decide", broken)
            turn.complete()
            await daemon.hears("Run lost")
            await daemon.forgotten(run_id)
        assert await daemon.service.locks() == []
    async with running(machine) as daemon:  # it is still there for the next start
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_a_full_store_while_a_turn_ends_is_waited_out(
    machine: Machine, one: str, at_once: None
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        await daemon.until(run_id, lambda s: s.turn is not None and s.turn.started is not None)
        used = (machine.state / "facts.db-wal").stat().st_size
        with files_no_larger_than(used):
            turn.complete()
            await daemon.hears("Store failed", times=3)
            assert daemon.actor(run_id).state.status == "running"
            with pytest.raises(StoreError):
                await daemon.service.pause(run_id)
        run = await daemon.ended(run_id)
        assert run["exit"]["reason"] == "turn-complete"
        assert (await daemon.types(run_id)).count("turn.ended") == 1


@pytest.mark.usefixtures("failing")
async def test_a_command_that_cannot_be_stored_fails_and_changes_nothing(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        failpoints.arm("store.before-commit:1:error")
        with pytest.raises(StoreError):
            await daemon.start(one)
        assert await daemon.service.locks() == []
        failpoints.arm("store.before-commit:1:error")
        with pytest.raises(StoreError):
            await daemon.prompt()
        assert await daemon.service.locks() == []
        gated = machine.one_step("gated", step='gate = "Go on?"')
        run_id = await daemon.start(gated)
        question = await daemon.question(run_id)
        session = daemon.actor(run_id).state.session_id
        for times in (1, 2):  # the aside's note, and its start
            failpoints.arm(f"store.before-commit:{times}:error")
            with pytest.raises(StoreError):
                await daemon.prompt("By the way", session_id=session)
        assert daemon.session_locks.user(session) == run_id
        failpoints.arm("store.before-commit:1:error")
        with pytest.raises(StoreError):
            await daemon.service.answer(question["question_id"], "yes", None, "ann")
        await daemon.service.answer(question["question_id"], "yes", None, "ann")
        (await daemon.turn()).complete()
        await daemon.ended(run_id)


async def test_a_turn_begins_when_the_full_disk_has_room_for_its_files(
    machine: Machine, one: str, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    def full(actor: RunActor, agent: Agent, active: ActiveTurn) -> TurnRequest:
        tries.append(1)
        if len(tries) < 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return turn_request(actor, agent, active)

    monkeypatch.setattr(turn_task, "turn_request", full)
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"
        assert len(fields_of(daemon.logged, "Disk full")) == 3


async def test_a_run_that_waits_for_room_can_be_cancelled(
    machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(actor: RunActor, agent: Agent, active: ActiveTurn) -> TurnRequest:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(turn_task, "turn_request", full)
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        await daemon.hears("Disk full")
        assert reason(await daemon.service.cancel(run_id)) == "user-requested"


async def test_a_check_begins_when_the_full_disk_has_room_for_its_log(
    machine: Machine, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = machine.one_step("checked", step='checks = [{ run = ["true"] }]')
    usual = Path.touch
    tries: list[int] = []

    def full(self: Path, mode: int = 0o666, exist_ok: bool = True) -> None:
        tries.append(1)
        if len(tries) < 3:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
        usual(self, mode, exist_ok)

    monkeypatch.setattr(Path, "touch", full)
    async with running(machine) as daemon:
        run_id = await daemon.start(checked)
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"
        assert len(fields_of(daemon.logged, "Disk full")) == 2


async def test_any_other_error_of_the_system_is_a_fault(
    machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(actor: RunActor, agent: Agent, active: ActiveTurn) -> TurnRequest:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(turn_task, "turn_request", refused)
    async with running(machine) as daemon:
        await ends_internally(daemon, await daemon.start(one))


async def test_a_cancel_before_the_agent_exists_ends_the_run_without_one(
    machine: Machine, one: str
) -> None:
    """The driver is still about to start its process."""
    machine.agent.spawn = trio.Event()
    async with running(machine) as daemon, trio.open_nursery() as nursery:
        run_id = await daemon.start(one)
        await daemon.until(run_id, lambda state: state.turn is not None)
        nursery.start_soon(daemon.service.cancel, run_id)
        await daemon.until(run_id, lambda state: state.stopping)
        machine.agent.spawn.set()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "user-requested"
        assert machine.agent.turns[0].interrupted.is_set()


async def test_every_moment_of_a_run_can_be_cancelled(machine: Machine) -> None:
    """Whatever was last stored: no fault, nothing held, no agent left."""
    checked = machine.one_step("checked", step='gate = "Go?"\nchecks = [{ run = ["true"] }]')
    moments = [
        "run.started",
        "step.entered",
        "question.opened",
        "question.closed",
        "turn.intended",
        "turn.started",
        "turn.ended",
        "outcome.parsed",
        "check.ended",
    ]
    async with running(machine) as daemon:
        for moment in moments:
            await cancelled_at(daemon, checked, moment)
        assert fields_of(daemon.logged, "Run fault") == []
        assert all(turn.gone.is_set() for turn in machine.agent.turns)
        assert await daemon.service.locks() == []


async def cancelled_at(daemon: Daemon, recipe: str, moment: str) -> None:
    """Play a run, and cancel it as soon as a fact of this type is stored."""

    async def complete() -> None:
        while True:
            (await daemon.turn()).complete()

    async def answer() -> None:
        async with daemon.service.subscribe(frozenset({"question.opened"}), None) as feed:
            async for event in feed:
                await daemon.until(event.run_id, lambda state: bool(state.questions))
                assert isinstance(event.fact, f.QuestionOpened)
                with suppress(AlreadyEnded):
                    await daemon.service.answer(event.fact.question_id, "yes", None, "ann")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(complete)
        nursery.start_soon(answer)
        async with daemon.service.subscribe(frozenset({moment}), None) as feed:
            nursery.start_soon(daemon.start, recipe)
            run_id = (await anext(aiter(feed))).run_id
            with suppress(AlreadyEnded, NotFound):
                await daemon.service.cancel(run_id)
            await daemon.ended(run_id)
        nursery.cancel_scope.cancel()
