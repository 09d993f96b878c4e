"""A full disk under the locks: what it keeps from beginning is said, what had begun waits."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from podiumd.core.analysis.check_agents import Described
from podiumd.drivers.base import AgentDescribed, TurnStatus
from podiumd.runtime.errors import Overloaded
from podiumd.runtime.locks import lockfile
from podiumd.runtime.locks.holder import Holder
from podiumd.runtime.locks.lockfile import LeaseError, prepare_directory
from podiumd.store.errors import StoreFull
from tests.plain import plain, reason
from tests.runtime.harness import Machine, fields_of, running


@contextmanager
def full_disk() -> Iterator[None]:
    """No record of a lock can be written."""

    def full(fd: int, holder: Holder) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lockfile, "write_record", full)
        yield


async def test_a_start_and_a_prompt_are_refused_in_a_sentence_and_hold_nothing(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        with full_disk():
            for begin in (daemon.start(one), daemon.prompt()):
                with pytest.raises(Overloaded, match="The disk is full") as raised:
                    await begin
                assert plain(raised.value.data) == {"retry_after_ms": 5000}
        assert await daemon.service.locks() == []
        run_id = await daemon.start(one)
        (await daemon.turn()).complete()
        await daemon.ended(run_id)


async def test_a_run_that_cannot_note_its_lease_waits_for_room(
    machine: Machine, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(gated)
        await daemon.question(run_id)
    with full_disk():
        async with running(machine) as daemon:  # it starts all the same
            await daemon.hears("Disk full")
    async with running(machine) as daemon:
        with full_disk():
            await daemon.answer(run_id, "yes")
            await daemon.hears("Disk full")
        daemon.actor(run_id).poke()
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"
        assert fields_of(daemon.logged, "Run fault") == []


async def test_a_turn_is_taken_up_once_its_run_has_its_leases_again(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    for path in machine.locks.iterdir():
        path.unlink()
    async with running(machine, restore=False) as daemon:
        with full_disk():
            await daemon.service.restore()
            await daemon.hears("Disk full")
            assert turn.attached == 0
        daemon.actor(run_id).poke()
        await daemon.until(run_id, lambda _state: turn.attached == 1)
        turn.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


def test_a_full_disk_is_not_taken_for_a_fault_of_the_lock_files(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(number: int) -> None:
        def refused(*arguments: object, **options: object) -> int:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(lockfile, "make_private", refused)
        monkeypatch.setattr(os, "open", refused)

    for number, kind in ((errno.ENOSPC, OSError), (errno.EIO, LeaseError)):
        with monkeypatch.context():
            refuse(number)
            with pytest.raises(kind):
                prepare_directory(machine.locks)
            with pytest.raises(kind):
                lockfile.try_lock(machine.locks / "x.lock")
            monkeypatch.undo()


async def test_a_take_over_that_cannot_be_stored_is_refused_and_the_run_goes_on(
    machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
        session = turn.request.session_id

        async def full(*args: object, **fields: object) -> None:
            raise StoreFull(daemon.store.path, "no space left")

        with monkeypatch.context() as patch:
            patch.setattr(daemon.store, "append", full)
            with pytest.raises(StoreFull):
                await daemon.prompt(session_id=session, take_over=True)
        assert not turn.interrupted.is_set()
        turn.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_a_turn_goes_on_where_what_its_agent_says_of_itself_is_not_kept(
    machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)

        async def full(key: str, value: bytes) -> None:
            raise StoreFull(daemon.store.path, "no space left")

        with monkeypatch.context() as patch:
            patch.setattr(daemon.store, "set_setting", full)
            turn.says(AgentDescribed(Described("2.1.0")))
            await daemon.hears("Agent's description not kept")
        turn.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


@pytest.mark.parametrize("begun", [False, True])
async def test_a_run_that_waits_for_room_for_its_lease_can_be_cancelled(
    machine: Machine, gated: str, one: str, begun: bool
) -> None:
    async with running(machine) as daemon:
        if begun:
            run_id, turn = await daemon.begun(one)
            turn.complete()
            machine.agent.settled[turn.request.turn_id] = TurnStatus(state="absent")
        else:
            run_id, _ = await daemon.waiting(gated)
    with full_disk():
        async with running(machine) as daemon:
            await daemon.hears("Disk full")
            assert reason(await daemon.service.cancel(run_id)) == "user-requested"
