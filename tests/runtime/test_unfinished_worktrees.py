"""A run that is over before its worktree was made leaves nothing half made behind."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import trio

from podiumd.runtime.worktrees import unfinished
from podiumd.store.errors import StoreError
from tests.runtime.harness import Daemon, Machine, fields_of, running
from tests.runtime.processes import marker_of
from tests.tools.git_repository import commit, make_repository, run_git, set_for_person


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's, whose settings name the filters: what a repository names is not run."""
    path = tmp_path / "person"
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return path


@pytest.fixture
def repository(machine: Machine, home: Path) -> Path:
    path = make_repository(machine.project / "repo")
    (path / ".gitattributes").write_text("*.slow filter=slow\n")
    for name in ("a.txt", "m.slow", "z.txt"):
        (path / name).write_text("one\n")
    commit(path, "first")
    return path


@pytest.fixture
def deadly(repository: Path, home: Path) -> Path:
    """A repository whose checkout kills the git that does it, with all that git has started."""
    set_for_person(home, "filter.slow.smudge", "kill -9 0")
    return repository


def place(machine: Machine, run_id: str) -> Path:
    return machine.state / "worktrees" / f"one-{run_id[:8]}"


def branches(repository: Path) -> list[str]:
    return run_git(repository, "branch", "--format=%(refname:short)").split()


async def over(daemon: Daemon, recipe: str, repository: Path) -> str:
    """A run that has failed since its git was killed, and nothing of it is left in memory."""
    run_id = await daemon.start(recipe, working_directory=str(repository), worktree=True)
    actor = daemon.actor(run_id)
    run = await daemon.ended(run_id)
    assert run["exit"]["reason"] == "error" and "status -9" in run["exit"]["detail"]
    while daemon.runs.get(run_id) is not None:
        await actor.changed()
    return run_id


def leave_half_made(machine: Machine, run_id: str, repository: Path) -> Path:
    """What a git leaves that is killed while it makes the worktree of a run."""
    directory = place(machine, run_id)
    where = ["-b", f"podium/{directory.name}", str(directory)]
    add = ["git", "-C", str(repository), "worktree", "add", *where]
    done = subprocess.run(add, capture_output=True, start_new_session=True, check=False)
    assert done.returncode == -9 and (directory / "a.txt").exists()
    return directory


async def test_what_a_killed_git_left_is_gone_when_its_run_is(
    machine: Machine, one: str, deadly: Path
) -> None:
    async with running(machine) as daemon:
        run_id = await over(daemon, one, deadly)
        assert not place(machine, run_id).exists()
        assert branches(deadly) == ["main"]
        [line] = fields_of(daemon.logged, "Unfinished worktree removed")
        assert line["run_id"] == run_id


def hanging_checkout(machine: Machine, home: Path) -> Path:
    """Let git hang in the middle of a checkout; returns the pipe that tells of it."""
    fifo = machine.project / "reached"
    os.mkfifo(fifo)
    hang = f"echo here > '{fifo}'; exec sleep 3600"
    set_for_person(home, "filter.slow.smudge", hang)
    return fifo


async def test_a_run_that_is_cancelled_while_its_worktree_is_made_leaves_no_branch(
    machine: Machine, one: str, repository: Path, home: Path
) -> None:
    fifo = hanging_checkout(machine, home)
    async with running(machine) as daemon:
        run_id = await daemon.start(one, working_directory=str(repository), worktree=True)
        assert await marker_of(fifo) == "here"
        assert place(machine, run_id).exists() and len(branches(repository)) == 2
        await daemon.service.cancel(run_id)
        await daemon.forgotten(run_id)
        assert not place(machine, run_id).exists()
        assert branches(repository) == ["main"]


async def test_what_the_daemon_before_left_half_made_is_removed_at_the_start(
    machine: Machine, one: str, deadly: Path
) -> None:
    async with running(machine) as daemon:
        run_id = await over(daemon, one, deadly)
    directory = leave_half_made(machine, run_id, deadly)
    async with running(machine) as daemon:
        await daemon.hears("Unfinished worktree removed")
        assert not directory.exists() and branches(deadly) == ["main"]


@pytest.mark.long(
    "tests/tools/test_worktree_remains.py::test_what_somebody_has_put_there_keeps_all_of_it"
)
async def test_work_in_what_was_left_half_made_is_kept_and_named(
    machine: Machine, one: str, deadly: Path
) -> None:
    async with running(machine) as daemon:
        run_id = await over(daemon, one, deadly)
    directory = leave_half_made(machine, run_id, deadly)
    (directory / "notes").write_text("mine")
    async with running(machine) as daemon:
        await daemon.hears("Unfinished worktree kept")
        [line] = fields_of(daemon.logged, "Unfinished worktree kept")
        assert line["directory"] == str(directory) and line["reason"].endswith(": notes")
        assert (directory / "notes").read_text() == "mine" and len(branches(deadly)) == 2


async def test_a_half_made_worktree_of_a_run_that_goes_on_is_made_anew_but_not_over_work(
    machine: Machine, one: str, repository: Path, home: Path
) -> None:
    fifo = hanging_checkout(machine, home)
    runs = []
    async with running(machine) as daemon:  # it ends before the first of them has its worktree
        for _ in range(2):
            where = {"working_directory": str(repository), "worktree": True}
            runs.append(await daemon.start(one, **where))
            assert await marker_of(fifo) == "here"
    set_for_person(home, "filter.slow.smudge", "kill -9 0")
    for run_id in runs:
        subprocess.run(
            ["git", "-C", str(repository), "branch", "-D", f"podium/one-{run_id[:8]}"],
            capture_output=True,
            check=True,
        )
        leave_half_made(machine, run_id, repository)
    set_for_person(home, "filter.slow.smudge", "cat")
    good, bad = runs
    (place(machine, bad) / "notes").write_text("mine")
    async with running(machine) as daemon:
        turn = await daemon.turn()
        assert turn.request.run_id == good
        assert (place(machine, good) / "z.txt").read_text() == "one\n"
        run = await daemon.ended(bad)
        assert run["exit"]["reason"] == "error" and "left half made" in run["exit"]["detail"]
        assert (place(machine, bad) / "notes").read_text() == "mine"


async def test_a_worktree_that_was_made_is_the_persons_whatever_became_of_it(
    machine: Machine, one: str, repository: Path
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(one, working_directory=str(repository), worktree=True)
        (await daemon.turn()).complete()
        await daemon.ended(run_id)
        await daemon.forgotten(run_id)
    (place(machine, run_id) / ".git").unlink()
    stray = place(machine, "stray")
    stray.mkdir()
    async with running(machine) as daemon:
        await unfinished.clear_earlier(daemon.context, ())
        assert (place(machine, run_id) / "a.txt").exists() and stray.exists()
        assert len(branches(repository)) == 2
        assert fields_of(daemon.logged, "Unfinished worktree removed") == []


async def test_a_store_that_cannot_be_read_leaves_it_for_the_next_start(
    machine: Machine, one: str, deadly: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        run_id = await over(daemon, one, deadly)
        directory = leave_half_made(machine, run_id, deadly)

        async def unreadable(*_: object) -> None:
            raise StoreError(Path("facts.db"), "no")

        monkeypatch.setattr(unfinished, "run_of", unreadable)
        await unfinished.clear_earlier(daemon.context, ())
        assert directory.exists()


async def test_a_git_that_never_answers_holds_no_start_up_and_is_given_up(
    machine: Machine, one: str, deadly: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        run_id = await over(daemon, one, deadly)
    leave_half_made(machine, run_id, deadly)
    asked = trio.Event()

    async def hang(*_: object) -> str:
        asked.set()
        await trio.sleep_forever()
        return ""

    monkeypatch.setattr(unfinished, "clear", hang)
    async with running(machine) as daemon:
        await asked.wait()
        await daemon.prompt()
        assert fields_of(daemon.logged, "Unfinished worktree kept") == []
    monkeypatch.setattr(unfinished, "CLEAR_SECONDS", 0.0)
    async with running(machine) as daemon:
        await daemon.hears("Unfinished worktree kept")
