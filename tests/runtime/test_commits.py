"""A recipe that commits: where it may start, and when its "committed" is believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from podiumd.runtime.errors import Refused
from podiumd.runtime.intake.start_run import check_place
from tests.core.builders import a_recipe, a_step
from tests.plain import plain
from tests.runtime.fake_agent import FakeTurn
from tests.runtime.harness import Daemon, Machine, running
from tests.tools.git_repository import commit, make_repository, run_git

COMMITTING = """
format = 1
id = "committing"
initial = "commit"
[steps.commit]
prompt = "Commit it."
[steps.commit.on]
committed = { exit = "changes-committed" }
nothing = { exit = "no-changes-to-commit" }
"""


@pytest.fixture
def repository(machine: Machine) -> Path:
    path = make_repository(machine.project / "repo")
    commit(path, "first")
    return path


@pytest.fixture
def committing(machine: Machine) -> str:
    return machine.recipe(COMMITTING, "committing")


async def told(daemon: Daemon, turn: FakeTurn, outcome: str) -> str:
    """The agent says how it went; what it is told of that, in its next turn."""
    turn.complete(outcome)
    return (await daemon.turn()).prompt


# Where it may start.


async def test_a_recipe_that_commits_does_not_start_where_there_is_no_repository(
    machine: Machine, committing: str
) -> None:
    async with running(machine) as daemon:
        with pytest.raises(Refused) as raised:
            await daemon.start(committing)
        assert plain(raised.value.data)["what"] == "no-repository"
        assert raised.value.message == (
            f"'{machine.project}' is no git repository, and recipe 'committing' commits."
        )
        assert "git init" in plain(raised.value.data)["fix"]
        assert machine.agent.turns == [] and await daemon.service.locks() == []


@pytest.mark.parametrize("anyway", [True, False])
@pytest.mark.parametrize("place", ["home", "root"])
def test_the_whole_home_and_the_whole_disk_are_asked_about(
    tmp_path: Path, place: str, anyway: bool
) -> None:
    top = "/" if place == "root" else str(tmp_path)
    recipe = a_recipe({"commit": a_step(commits=True)})
    if anyway:
        check_place(recipe, top, top, anyway=True, home=str(tmp_path))
    else:
        with pytest.raises(Refused) as raised:
            check_place(recipe, top, top, anyway=False, home=str(tmp_path))
        assert plain(raised.value.data)["what"] == "unusual-place"
        assert "--anyway" in plain(raised.value.data)["fix"]


@pytest.mark.parametrize("place", ["home", "root"])
def test_nobody_is_told_to_make_a_repository_of_the_whole_home_or_disk(
    tmp_path: Path, place: str
) -> None:
    where = "/" if place == "root" else str(tmp_path)
    recipe = a_recipe({"commit": a_step(commits=True)})
    with pytest.raises(Refused) as raised:
        check_place(recipe, where, None, anyway=False, home=str(tmp_path))
    assert plain(raised.value.data)["fix"] == "Start it in a repository (--cwd DIR)."


async def test_home_asks_once_more_over_the_service_too(
    machine: Machine, repository: Path, committing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(repository))
    async with running(machine) as daemon:
        with pytest.raises(Refused):
            await daemon.start(committing, working_directory=str(repository))
        await daemon.begun(committing, working_directory=str(repository), anyway=True)


def test_a_project_in_the_home_is_no_unusual_place(tmp_path: Path) -> None:
    recipe = a_recipe({"commit": a_step(commits=True)})

    check_place(recipe, "/x", str(tmp_path / "project"), anyway=False, home=str(tmp_path))
    check_place(a_recipe({"look": a_step(on={})}), "/", None, anyway=False)


# What its agent may write.


async def test_only_a_step_that_commits_may_write_the_directories_of_git(
    machine: Machine, repository: Path
) -> None:
    steps = {"commits = true": True, "": False}
    for number, (step, writes) in enumerate(steps.items()):
        recipe = machine.one_step(f"plain-{number}", step=step)
        async with running(machine) as daemon:
            run_id, turn = await daemon.begun(recipe, working_directory=str(repository))
            assert (turn.request.commits, turn.request.writes_git) == (writes, writes)
            turn.complete("complete")
            await daemon.ended(run_id)
    async with running(machine) as daemon:
        await daemon.prompt(working_directory=str(repository))
        turn = await daemon.turn()
        assert turn.request.commits, "the native agent's own commit, which Podium makes"
        assert not turn.request.writes_git


# When it is believed.


async def test_committed_is_believed_when_there_is_a_commit(
    machine: Machine, repository: Path, committing: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(committing, working_directory=str(repository))
        (repository / "new.txt").write_text("new")
        commit(repository, "second")
        turn.complete("committed")
        assert (await daemon.ended(run_id))["exit"]["reason"] == "changes-committed"
        start, end, parting = await daemon.events(run_id, "tree.seen")
        assert (start["look"].get("commits", 0), end["look"]["commits"]) == (0, 1)
        assert (parting["why"], parting["look"]) == ("end", end["look"])


async def test_a_branch_that_was_only_set_back_has_no_new_commit(
    machine: Machine, repository: Path, committing: str
) -> None:
    commit(repository, "second")
    async with running(machine) as daemon:
        _run_id, turn = await daemon.begun(committing, working_directory=str(repository))
        run_git(repository, "reset", "--quiet", "--hard", "HEAD~1")
        assert "which was there when the run began" in await told(daemon, turn, "committed")


async def test_a_rebase_counts(machine: Machine, repository: Path, committing: str) -> None:
    run_git(repository, "branch", "other")
    commit(repository, "second")
    run_git(repository, "checkout", "--quiet", "other")
    (repository / "theirs.txt").write_text("theirs")
    commit(repository, "theirs")
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(committing, working_directory=str(repository))
        run_git(repository, "rebase", "--quiet", "main")
        turn.complete("committed")
        assert (await daemon.ended(run_id))["exit"]["reason"] == "changes-committed"


async def test_a_repository_that_is_gone_at_the_end_holds_no_commit(
    machine: Machine, repository: Path, committing: str
) -> None:
    async with running(machine) as daemon:
        _run_id, turn = await daemon.begun(committing, working_directory=str(repository))
        (repository / ".git").rename(machine.project / "away")
        assert "no git repository" in await told(daemon, turn, "committed")


async def test_a_claim_that_was_not_looked_at_is_looked_at_by_the_next_daemon(
    machine: Machine, repository: Path, committing: str
) -> None:
    """Killed between the look and its decision: nothing of the look was stored, so it is taken
    again, of the tree as it is then."""
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(committing, working_directory=str(repository))
        commit(repository, "second")
        await daemon.service.pause(run_id)
        turn.complete("committed")
        await daemon.status(run_id, "paused")
    run_git(repository, "reset", "--quiet", "--hard", "HEAD~1")
    async with running(machine) as daemon:
        await daemon.service.resume(run_id)
        assert "there is no new commit" in (await daemon.turn()).prompt
        assert (await daemon.types(run_id)).count("claim.made") == 1


async def test_a_look_that_fails_asks_a_person_and_is_taken_again(
    machine: Machine, repository: Path, committing: str
) -> None:
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(committing, working_directory=str(repository))
        commit(repository, "second")
        index = repository / ".git" / "index"
        kept = index.read_bytes()
        index.write_text("x")
        turn.complete("committed")
        assert (await daemon.question(run_id))["kind"] == "recover"
        index.write_bytes(kept)
        await daemon.answer(run_id, "retry")
        assert (await daemon.ended(run_id))["exit"]["reason"] == "changes-committed"
