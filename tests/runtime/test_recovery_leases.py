"""After a restart: who has which session and tree again, and in which order."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
import trio
from msgspec.structs import replace
from trio.testing import wait_all_tasks_blocked

from podiumd.core.prompts.prompts import INTERRUPTED
from podiumd.drivers.base import TurnStatus
from podiumd.runtime.locks.leases import Lease
from podiumd.runtime.run import recovery
from podiumd.tools.git import honest_index
from podiumd.tools.git import queries as git
from tests.long import sampled
from tests.runtime.fake_agent import done
from tests.runtime.harness import Daemon, Machine, fields_of, running
from tests.runtime.processes import marker_of
from tests.tools.forged_index import forge
from tests.tools.git_repository import commit, make_repository


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


@pytest.mark.parametrize("lives", sampled([True, False]))
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
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_a_session_that_somebody_took_meanwhile_is_asked_about_and_nothing_is_lost(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    turn.breaks()
    async with running(machine, restore=False) as daemon:
        other = daemon.session_locks.holder("another", "prompt")
        lease = daemon.context.leases.try_session(
            turn.request.session_id, replace(other, state_directory="/another")
        )
        assert isinstance(lease, Lease)
        with lease:
            await daemon.service.restore()
            question = await daemon.question(run_id)
            assert "another" in question["detail"]
        await daemon.answer(run_id, "retry")
        second = await daemon.turn()
        assert second.prompt.startswith(INTERRUPTED)
        second.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


def another_takes_the_tree(daemon: Daemon) -> Lease:
    """A run of another daemon of the same user."""
    other = replace(daemon.session_locks.holder("another", "recipe"), state_directory="/another")
    lease = daemon.context.leases.try_tree(daemon.machine.project, other)
    assert isinstance(lease, Lease)
    return lease


async def test_a_run_whose_tree_another_daemon_took_meanwhile_sends_nothing_before_it_has_it(
    machine: Machine, gated: str
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(gated)
        await daemon.question(run_id)
    async with running(machine, restore=False) as daemon:
        with another_takes_the_tree(daemon):
            await daemon.service.restore()
            await daemon.answer(run_id, "yes")
            assert "another" in (await daemon.question(run_id))["detail"]
            await daemon.answer(run_id, "retry")
            assert "another" in (await daemon.question(run_id))["detail"]
        assert machine.agent.turns == []
        await daemon.answer(run_id, "retry")
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_a_turn_that_never_began_does_not_begin_in_a_tree_that_another_daemon_took(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    turn.complete()  # releases the leases, as a process that was never there
    machine.agent.settled[turn.request.turn_id] = TurnStatus(state="absent")
    async with running(machine, restore=False) as daemon:
        with another_takes_the_tree(daemon):
            await daemon.service.restore()
            assert "another" in (await daemon.question(run_id))["detail"]
            assert len(machine.agent.turns) == 1
        await daemon.answer(run_id, "retry")
        second = await daemon.turn()
        assert "Do the work." in second.prompt
        second.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


@pytest.mark.parametrize("what", sampled(["check", "command"]))
async def test_neither_check_nor_command_runs_in_a_tree_that_another_daemon_took(
    machine: Machine, what: str
) -> None:
    said = machine.project / "said"
    os.mkfifo(said)
    script = "echo $PODIUM_TURN > said; test -e again || exec sleep 600"
    step = f'run = ["/bin/sh", "-c", "{script}"]'
    if what == "check":
        recipe = machine.one_step("one", step=f"checks = [{{ {step} }}]")
    else:
        recipe = machine.recipe(COMMAND.format(step), "build")
    async with running(machine) as daemon:
        run_id = await daemon.start(recipe)
        if what == "check":
            (await daemon.turn()).complete()
        await marker_of(said)
    (machine.project / "again").touch()
    async with running(machine, restore=False) as daemon:
        with another_takes_the_tree(daemon):
            await daemon.service.restore()
            assert "another" in (await daemon.question(run_id))["detail"]
        await daemon.answer(run_id, "retry")
        await marker_of(said)
        assert (await daemon.ended(run_id))["exit"]["class"] == "completed"


COMMAND = """
format = 1
id = "build"
initial = "build"
[steps.build]
{}
[steps.build.on]
passed = {{ exit = "built", class = "completed" }}
failed = {{ exit = "not-built", class = "error" }}
"""


async def test_an_agent_keeps_the_tree_while_no_daemon_lives_and_the_run_has_it_again(
    machine: Machine, one: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    async with running(machine, restore=False) as daemon:
        found = daemon.context.leases.peek_tree(machine.project)
        assert found is not None and found.id == run_id
        await daemon.service.restore()
        turn.end(done(text="no JSON"))
        retry = await daemon.turn()
        assert retry.request.tree_fd is not None
        retry.complete()
        await daemon.ended(run_id)
        assert await daemon.service.locks() == []


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
    machine.agent.settled[turn.request.turn_id] = TurnStatus(state="absent")
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


async def test_a_lease_that_never_falls_free_keeps_the_run_waiting(
    machine: Machine, one: str, impatient: None
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(one)
    machine.agent.settled[turn.request.turn_id] = TurnStatus(state="absent")
    async with running(machine) as daemon:
        assert (await daemon.question(run_id))["kind"] == "recover"
        assert len(machine.agent.turns) == 1
        turn.complete()
        await daemon.answer(run_id, "retry")
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_a_lock_file_that_cannot_be_used_is_the_trouble_of_its_own_run(
    machine: Machine, gated: str, one: str
) -> None:
    async with running(machine) as daemon:
        hurt, session = await daemon.waiting(gated)
        well, turn = await daemon.begun(one, working_directory=machine.directory("other"))
    lock = machine.locks / f"session-{session}.lock"
    lock.unlink()
    lock.mkdir()
    async with running(machine) as daemon:  # it starts all the same
        assert [line["run_id"] for line in fields_of(daemon.logged, "Lease not taken back")] == [
            hurt
        ]
        turn.complete()
        assert (await daemon.ended(well))["exit"]["reason"] == "turn-complete"
        await daemon.answer(hurt, "yes")
        question = await daemon.question(hurt)
        assert str(lock) in question["detail"]
        lock.rmdir()
        await daemon.answer(hurt, "retry")
        (await daemon.turn()).complete()
        assert (await daemon.ended(hurt))["exit"]["reason"] == "turn-complete"


async def test_a_directory_that_cannot_be_looked_at_is_the_trouble_of_its_own_run(
    machine: Machine, gated: str, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = machine.directory("gone")
    async with running(machine) as daemon:
        hurt = await daemon.start(gated, working_directory=where)
        await daemon.question(hurt)
        well, turn = await daemon.begun(one)
    look = trio.Path.is_dir

    async def is_dir(path: trio.Path) -> bool:
        if str(path) == where:
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN), where)
        return await look(path)

    with monkeypatch.context() as patch:
        patch.setattr(trio.Path, "is_dir", is_dir)
        async with running(machine) as daemon:  # it starts all the same
            turn.complete()
            assert (await daemon.ended(well))["exit"]["reason"] == "turn-complete"
            await daemon.answer(hurt, "yes")
            question = await daemon.question(hurt)
            assert where in question["detail"]
            patch.undo()
            await daemon.answer(hurt, "retry")
            (await daemon.turn()).complete()
            assert (await daemon.ended(hurt))["exit"]["reason"] == "turn-complete"


async def test_what_an_agent_hid_while_no_daemon_lived_is_told(
    machine: Machine, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By times and sizes in the index, written by hand: a daemon believes those of before its first
    look, and the daemon that looked first is gone."""
    repository = make_repository(machine.project / "repository")
    (repository / "a.txt").write_text("as committed\n")
    commit(repository, "first")
    async with running(machine) as daemon:
        _, turn = await daemon.begun(one, working_directory=str(repository))
    (repository / "a.txt").write_text("hidden\n")
    os.utime(repository / "a.txt", (10**9, 10**9))
    forge(repository, "a.txt")
    monkeypatch.setattr(honest_index, "_TREES", honest_index._Trees())
    monkeypatch.setattr(honest_index, "_LISTED", {})
    monkeypatch.setattr(honest_index, "_SETTLED_NS", -(3600 * 10**9))  # all that is there is old

    async with running(machine) as daemon:
        assert await git.dirty(repository) == ["a.txt"]
        turn.complete()


async def test_a_tree_whose_git_leads_to_no_possible_name_holds_up_no_start(
    machine: Machine, gated: str
) -> None:
    where = Path(machine.directory("hostile"))
    async with running(machine) as daemon:
        run_id = await daemon.start(gated, working_directory=f"{where}")
        await daemon.question(run_id)
    (where / ".git").symlink_to("b" * 300)
    async with running(machine) as daemon:
        question = await daemon.question(run_id)
        assert question["run_id"] == run_id
        started = await daemon.start(gated, working_directory=machine.directory("hostile/below"))
        await daemon.question(started)


async def test_what_fails_at_one_run_as_it_is_taken_up_is_its_fault_alone(
    machine: Machine, gated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        hurt = await daemon.start(gated, working_directory=machine.directory("hurt"))
        well = await daemon.start(gated, working_directory=machine.directory("well"))
        for run_id in (hurt, well):
            await daemon.question(run_id)

    async def looked(path: str, at_ns: int) -> None:
        await trio.lowlevel.checkpoint()
        if path.endswith("/hurt"):
            raise OSError(errno.EIO, "the disk is worn")

    monkeypatch.setattr("podiumd.runtime.run.registry.looked_before", looked)
    async with running(machine) as daemon:
        ending = await daemon.ended(hurt)
        assert ending["exit"]["class"] == "error"
        await daemon.answer(well, "yes")
        (await daemon.turn()).complete()
        assert (await daemon.ended(well))["exit"]["class"] == "completed"
