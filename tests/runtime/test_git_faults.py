"""A git that fails: it costs no turn its end, and a person hears of it in git's own words."""

from __future__ import annotations

import math
import os
import threading
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from podiumd.drivers.base import TurnStatus
from podiumd.runtime.run import observe
from podiumd.runtime.run.registry import Runs
from podiumd.tools.git import honest_index
from podiumd.tools.git import queries as git
from tests.core.builders import Play, a_recipe
from tests.long import sampled
from tests.patience import HANG_SECONDS
from tests.plain import reason
from tests.runtime.harness import Machine, fields_of, running, virtual
from tests.runtime.processes import marker_of
from tests.tools.git_repository import commit, make_repository, run_git, set_for_person


@pytest.fixture
def repository(machine: Machine) -> Path:
    path = make_repository(machine.project / "repo")
    commit(path, "first")
    return path


@pytest.fixture
def once(machine: Machine) -> str:
    """A recipe that commits, and must not be repeated unseen."""
    return machine.one_step("once", step="irreversible = true\ncommits = true")


def damage(repository: Path) -> Path:
    index = repository / ".git" / "index"
    index.write_text("x")
    return index


async def test_an_interrupted_turn_has_its_end_although_git_fails(
    machine: Machine, repository: Path, once: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(once, working_directory=str(repository))
        index = damage(repository)
        assert (await daemon.service.interrupt(run_id)).status == "paused"
        assert turn.interrupted.is_set()
        [ended] = await daemon.events(run_id, "turn.ended")
        assert ended["report"]["kind"] == "interrupted"
        assert fields_of(daemon.logged, "Run fault") == []
        # The step must not be repeated unseen, and git cannot show what was before.
        await daemon.service.resume(run_id)
        question = await daemon.question(run_id)
        assert question["kind"] == "recover" and "index file" in question["detail"]
        index.unlink()
        run_git(repository, "reset", "--quiet")
        await daemon.answer(run_id, "retry")
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_a_turn_that_was_cut_off_is_asked_about_although_git_fails(
    machine: Machine, repository: Path, once: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(once, working_directory=str(repository))
    damage(repository)
    turn.breaks()
    async with running(machine) as daemon:
        question = await daemon.question(run_id)
        assert question["kind"] == "recover"
        assert "Git cannot report the changes" in question["detail"]
        assert [end["report"]["kind"] for end in await daemon.events(run_id, "turn.ended")]
        await daemon.answer(run_id, "stop")


async def test_a_git_that_takes_too_long_does_not_hold_the_end_of_a_turn_up(
    machine: Machine,
    repository: Path,
    once: str,
    mock_clock: MockClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = trio.Event()

    async def hang(path: str) -> str:
        looked.set()
        await trio.sleep_forever()
        raise AssertionError

    async with virtual(machine) as daemon:
        run_id, turn = await daemon.begun(once, working_directory=str(repository))
        monkeypatch.setattr(git, "tree_mark", hang)
        turn.breaks()
        await looked.wait()
        mock_clock.jump(observe.MARK_SECONDS)
        assert (await daemon.question(run_id))["kind"] == "recover"
        assert len(await daemon.events(run_id, "turn.ended")) == 1


async def test_a_run_that_cannot_look_at_its_tree_at_the_start_ends_with_git_s_words(
    machine: Machine, repository: Path, once: str
) -> None:
    damage(repository)
    async with running(machine) as daemon:
        run_id = await daemon.start(once, working_directory=str(repository))
        run = await daemon.ended(run_id)
        assert run["exit"]["reason"] == "error"
        assert "index file smaller than expected" in run["exit"]["detail"]
        assert machine.agent.turns == [] and fields_of(daemon.logged, "Run fault") == []


@pytest.mark.parametrize("begun", sampled([True, False]))
async def test_a_git_that_cannot_name_the_tree_after_a_restart_keeps_the_run_waiting(
    machine: Machine, one: str, gated: str, begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether its turn was about to begin, or it waited for a person."""
    async with running(machine) as daemon:
        if begun:
            run_id, turn = await daemon.begun(one)
            turn.complete()  # releases the leases, as a process that was never there
            machine.agent.settled[turn.request.turn_id] = TurnStatus(state="absent")
        else:
            run_id, _session = await daemon.waiting(gated)
    turns = len(machine.agent.turns)

    async def broken(path: str) -> str:
        raise git.GitError("git cannot be run")

    with monkeypatch.context() as patch:
        patch.setattr(git, "top_level", broken)
        async with running(machine) as daemon:
            if not begun:
                await daemon.answer(run_id, "yes")
            question = await daemon.question(run_id)
            assert question["detail"] == "git cannot be run"
            assert len(machine.agent.turns) == turns
    async with running(machine) as daemon:
        await daemon.answer(run_id, "retry")
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_a_run_is_cancelled_while_git_makes_its_worktree_and_does_not_come_to_an_end(
    machine: Machine, repository: Path, one: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo = machine.project / "reached"
    os.mkfifo(fifo)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (repository / ".gitattributes").write_text("* filter=slow\n")
    commit(repository, "filtered")
    set_for_person(tmp_path, "filter.slow.smudge", f"echo here > '{fifo}'; exec sleep 3600")
    async with running(machine) as daemon:
        run_id = await daemon.start(one, working_directory=str(repository), worktree=True)
        assert await marker_of(fifo) == "here"
        run = await daemon.service.cancel(run_id)
        assert reason(run) == "user-requested"
        assert await daemon.service.locks() == []


async def test_a_run_is_cancelled_while_git_looks_at_its_tree_and_never_answers(
    machine: Machine, repository: Path, once: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = trio.Event()

    async def dirty(path: str) -> list[str]:
        asked.set()
        await trio.sleep_forever()
        return []

    monkeypatch.setattr(git, "dirty", dirty)
    async with running(machine) as daemon:
        run_id = await daemon.start(once, working_directory=str(repository))
        await asked.wait()
        assert reason(await daemon.service.cancel(run_id)) == "user-requested"


async def test_a_git_that_never_answers_keeps_no_daemon_from_starting(
    machine: Machine,
    repository: Path,
    gated: str,
    monkeypatch: pytest.MonkeyPatch,
    mock_clock: MockClock,
) -> None:
    asked = trio.Event()

    async def hang(path: str) -> str | None:
        asked.set()
        await trio.sleep_forever()
        return None

    async with virtual(machine) as daemon:
        run_id = await daemon.start(gated, working_directory=str(repository))
        await daemon.question(run_id)
    monkeypatch.setattr(git, "top_level", hang)
    async with running(machine, restore=False, patience=math.inf) as daemon:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(daemon.service.restore)
            await asked.wait()
            mock_clock.jump(observe.TREE_SECONDS)
        monkeypatch.undo()
        await daemon.answer(run_id, "yes")
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_trees_at_mounts_that_hang_are_waited_for_together_and_keep_no_threads_of_others(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    goes_on = threading.Event()
    monkeypatch.setattr(honest_index, "_EARLIER", trio.CapacityLimiter(3))
    monkeypatch.setattr(
        honest_index, "repository_at", lambda _: goes_on.wait(HANG_SECONDS) and None
    )
    runs = Runs.__new__(Runs)  # nothing of it is asked for where no look fails
    began = trio.current_time()
    try:
        await runs._say_looked([Play(a_recipe()).state] * 3)

        assert trio.current_time() - began == observe.TREE_SECONDS
        assert trio.to_thread.current_default_thread_limiter().borrowed_tokens == 0
    finally:
        goes_on.set()
