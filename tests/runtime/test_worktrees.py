"""The worktrees of runs: listed with what is in them, merged and removed without losing work."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podiumd.core.ids import derive
from podiumd.core.run.facts import Worktree
from podiumd.runtime.errors import Busy, NotFound, PodiumError, Refused
from podiumd.runtime.maintenance import worktree_care
from podiumd.runtime.worktrees import listing
from podiumd.runtime.worktrees.listing import Inside, short_name
from podiumd.tools.process.processes import MARKER
from tests.long import sampled
from tests.plain import plain
from tests.runtime.harness import Daemon, Machine, running
from tests.tools.git_repository import commit, make_repository, run_git, set_for_person

TASK = """
[params.task]
type = "string"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's, who has a name to commit by."""
    path = tmp_path / "person"
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    set_for_person(path, "user.name", "Ada")
    set_for_person(path, "user.email", "ada@example.org")
    return path


@pytest.fixture
def repository(machine: Machine, home: Path) -> Path:
    path = make_repository(machine.project / "repo")
    (path / "a.txt").write_text("one\ntwo\nthree\n")
    commit(path, "first")
    return path


@pytest.fixture
def tasked(machine: Machine) -> str:
    return machine.one_step("tasked", top=TASK)


async def worked(daemon: Daemon, recipe: str, repository: Path, **files: str) -> tuple[str, Path]:
    """A run that has ended and committed these files in a worktree of its own."""
    params = {"task": "Add URL slugs: caf\u00e9!"} if recipe == "tasked" else {}
    run_id = await daemon.start(
        recipe, working_directory=str(repository), worktree=True, params=params
    )
    turn = await daemon.turn()
    where = Path(turn.request.working_directory)
    for name, content in files.items():
        (where / name.replace("_", ".")).write_text(content)
    if files:
        commit(where, "Add slugs")
    turn.complete()
    await daemon.ended(run_id)
    await daemon.forgotten(run_id)
    return run_id, where


async def only(daemon: Daemon) -> dict[str, Any]:
    [row] = await daemon.service.worktrees.list()
    told: dict[str, Any] = plain(row)
    return told


async def refused(daemon: Daemon, what: str, run_id: str, **more: Any) -> str:
    with pytest.raises(Refused) as raised:
        await getattr(daemon.service.worktrees, what)(run_id, **more)
    return raised.value.message


async def test_a_worktree_is_called_by_what_its_run_is_about(
    machine: Machine, tasked: str, repository: Path
) -> None:
    async with running(machine) as daemon:
        run_id, where = await worked(daemon, tasked, repository, b_txt="new")
        name = f"add-url-slugs-cafe-{run_id[:8]}"
        assert where == machine.state / "worktrees" / name
        row = await only(daemon)
        assert (row["run_id"], row["branch"], row["recipe"]) == (run_id, f"podium/{name}", "tasked")
        assert (row["commits"], row["uncommitted"], row["merged"]) == (1, [], False)
        assert row["repository"] == str(repository) and row["bytes"] > 3
        (where / "left.txt").write_text("x")
        assert (await only(daemon))["uncommitted"] == ["left.txt"]


def test_a_name_has_the_beginning_of_the_id_whatever_the_words_are() -> None:
    run_id = derive("x", 0, "", 0, "run", 1)
    assert short_name("\u65e5\u672c", run_id) == run_id[:8]
    assert short_name("a" * 200, run_id) == "a" * 32 + "-" + run_id[:8]
    assert short_name("../../etc/passwd", run_id) == f"etc-passwd-{run_id[:8]}"


async def test_one_of_an_older_release_is_listed_and_removed_as_well(
    machine: Machine, one: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from podiumd.runtime.intake import start_run

    monkeypatch.setattr(start_run, "short_name", lambda _words, run_id: run_id)
    async with running(machine) as daemon:
        run_id, where = await worked(daemon, one, repository)
        assert where.name == run_id
        assert (await only(daemon))["run_id"] == run_id
        await daemon.service.worktrees.remove(run_id[:6], force=False)
        assert not where.exists()


async def test_its_branch_is_merged_into_what_is_checked_out_and_then_it_can_go(
    machine: Machine, one: str, repository: Path
) -> None:
    async with running(machine) as daemon:
        run_id, where = await worked(daemon, one, repository, b_txt="new")
        (repository / "untracked").write_text("mine")
        said = await refused(daemon, "remove", run_id, force=False)
        assert "1 commit that no other branch has" in said and where.exists()
        merged = await daemon.service.worktrees.merge(run_id[:8])
        assert (merged.into, merged.merged) == ("main", True)
        assert (repository / "b.txt").read_text() == "new"
        assert merged.commit == run_git(repository, "rev-parse", "HEAD")
        assert (await daemon.service.worktrees.merge(run_id)).merged is False
        assert (await only(daemon))["merged"] is True
        gone = await daemon.service.worktrees.remove(run_id, force=False)
        assert (gone.lost, gone.lost_commits, gone.branch_kept) == (None, 0, False)
        assert not where.exists() and list(where.parent.iterdir()) == []
        assert run_git(repository, "branch", "--format=%(refname:short)") == "main"
        assert len(run_git(repository, "worktree", "list").splitlines()) == 1
        with pytest.raises(NotFound, match="is gone"):
            await daemon.service.worktrees.merge(run_id)


async def test_a_merge_with_conflicts_is_undone_and_its_files_are_named(
    machine: Machine, one: str, repository: Path
) -> None:
    async with running(machine) as daemon:
        run_id, where = await worked(daemon, one, repository, a_txt="theirs\n")
        (repository / "a.txt").write_text("ours\n")
        before = commit(repository, "ours")
        with pytest.raises(Refused) as raised:
            await daemon.service.worktrees.merge(run_id)
        assert "conflict in a.txt" in raised.value.message
        assert f"The merge was undone: '{repository}' is as it was." in raised.value.message
        assert plain(raised.value.data)["files"] == ["a.txt"]
        assert run_git(repository, "rev-parse", "HEAD") == before
        assert run_git(repository, "status", "--porcelain") == ""
        assert (repository / "a.txt").read_text() == "ours\n"
        assert (where / "a.txt").read_text() == "theirs\n"
        assert not (repository / ".git" / "MERGE_HEAD").exists()


async def test_nothing_is_merged_into_a_tree_that_is_not_ready(
    machine: Machine, one: str, repository: Path
) -> None:
    async with running(machine) as daemon:
        run_id, _ = await worked(daemon, one, repository, b_txt="new")
        (repository / "a.txt").write_text("mine")
        assert "uncommitted changes (a.txt)" in await refused(daemon, "merge", run_id)
        run_git(repository, "checkout", "-q", "a.txt")
        (repository / "b.txt").write_text("mine, and git does not know it")
        assert "b.txt" in await refused(daemon, "merge", run_id)
        assert (repository / "b.txt").read_text().startswith("mine")
        (repository / "b.txt").unlink()
        (repository / ".git" / "CHERRY_PICK_HEAD").write_text("0" * 40)
        assert "in the middle of a cherry-pick" in await refused(daemon, "merge", run_id)
        (repository / ".git" / "CHERRY_PICK_HEAD").unlink()
        run_git(repository, "checkout", "-q", "--detach")
        assert "no branch checked out" in await refused(daemon, "merge", run_id)
        run_git(repository, "checkout", "-q", "main")
        assert (await daemon.service.worktrees.merge(run_id)).merged is True


async def test_a_tree_that_a_run_holds_is_neither_merged_into_nor_removed(
    machine: Machine, one: str, repository: Path
) -> None:
    async with running(machine) as daemon:
        run_id, where = await worked(daemon, one, repository, b_txt="new")
        await daemon.begun(one, working_directory=str(repository))
        with pytest.raises(Busy):
            await daemon.service.worktrees.merge(run_id)
        inside, turn = await daemon.begun(one, working_directory=str(where))
        with pytest.raises(Busy):
            await daemon.service.worktrees.remove(run_id, force=True)
        turn.complete()
        await daemon.forgotten(inside)
        await daemon.prompt(working_directory=str(where))
        assert "in use by run" in await refused(daemon, "remove", run_id, force=True)
        assert where.exists()
        second = await daemon.start(
            one, working_directory=machine.directory("other"), session_id=None
        )
        assert "has not ended" in await refused(daemon, "merge", second)


async def test_a_prompt_that_begins_during_the_look_at_a_worktree_keeps_it(
    machine: Machine, one: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        run_id, where = await worked(daemon, one, repository, b_txt="new")
        look = listing.look_inside

        async def slow_look(plan: Worktree) -> Inside:
            await daemon.prompt(working_directory=str(where))
            await daemon.turn()
            return await look(plan)

        monkeypatch.setattr(worktree_care, "look_inside", slow_look)
        assert "in use by run" in await refused(daemon, "remove", run_id, force=True)
        assert (where / "b.txt").exists()
        assert await daemon.service.worktrees._stored() == {}


async def test_what_would_be_lost_is_named_and_goes_only_on_the_word(
    machine: Machine, one: str, repository: Path
) -> None:
    async with running(machine) as daemon:
        run_id, where = await worked(daemon, one, repository, b_txt="new")
        (where / "a.txt").write_text("changed")
        (where / "new.txt").write_text("x")
        (where / "closed").mkdir()
        (where / "closed" / "file").write_text("x")
        (where / "closed").chmod(0o500)
        said = await refused(daemon, "remove", run_id, force=False)
        assert "a.txt, closed/, new.txt" in said and "--force" in said
        head = run_git(where, "rev-parse", "HEAD")
        gone = await daemon.service.worktrees.remove(run_id, force=True)
        assert gone.commit == head and "1 commit that no other branch has" in (gone.lost or "")
        assert gone.lost_commits == 1
        assert list(where.parent.iterdir()) == []
        run_git(repository, "cat-file", "-e", head)  # git keeps it for a while


async def test_commits_beside_the_branch_are_work_too(
    machine: Machine, one: str, repository: Path
) -> None:
    async with running(machine) as daemon:
        run_id, where = await worked(daemon, one, repository)
        run_git(where, "checkout", "-q", "--detach")
        (where / "b.txt").write_text("new")
        commit(where, "on no branch")
        assert "1 commit" in await refused(daemon, "remove", run_id, force=False)


async def test_a_branch_that_is_checked_out_elsewhere_stays(
    machine: Machine, one: str, repository: Path
) -> None:
    async with running(machine) as daemon:
        run_id, where = await worked(daemon, one, repository, b_txt="new")
        run_git(where, "checkout", "-q", "--detach")
        run_git(repository, "checkout", "-q", f"podium/one-{run_id[:8]}")
        assert "check out another" in await refused(daemon, "merge", run_id)
        gone = await daemon.service.worktrees.remove(run_id, force=False)
        assert gone.branch_kept is True and not where.exists()
        assert run_git(repository, "branch", "--show-current") == gone.branch


async def test_what_cannot_be_looked_into_is_kept(
    machine: Machine, one: str, repository: Path
) -> None:
    async with running(machine) as daemon:
        run_id, where = await worked(daemon, one, repository)
        (where / ".git").write_text(f"gitdir: {repository / '.git'}\n")
        assert "its contents cannot be read" in await refused(daemon, "remove", run_id, force=False)
        assert "no worktree of" in (await only(daemon))["problem"]
        assert where.exists()
        gone = await daemon.service.worktrees.remove(run_id, force=True)
        assert "cannot be read" in (gone.lost or "") and gone.lost_commits is None


async def test_what_is_no_run_s_is_listed_and_left_alone(
    machine: Machine, one: str, repository: Path
) -> None:
    stray = machine.state / "worktrees" / "something-else"
    stray.mkdir(parents=True)
    async with running(machine) as daemon:
        row = await only(daemon)
        assert (row["run_id"], row["directory"]) == (None, str(stray))
        run_id = await daemon.start(one)
        (await daemon.turn()).complete()
        await daemon.ended(run_id)
        await daemon.forgotten(run_id)
        with pytest.raises(NotFound, match="not started with '--worktree'"):
            await daemon.service.worktrees.remove(run_id, force=True)


HOOKS = ("pre-merge-commit", "post-merge", "commit-msg", "prepare-commit-msg", "post-checkout")


@pytest.mark.long("tests/tools/test_ways_to_run.py::test_none_is_run_by_the_daemon_s_own_git")
async def test_no_hook_and_no_other_program_of_the_repository_runs(
    machine: Machine, one: str, repository: Path
) -> None:
    canary = machine.project / "canary"
    script = f"#!/bin/sh\ntouch {canary}\n"
    hooks = repository / ".husky"
    hooks.mkdir()
    for name in (*HOOKS, "reference-transaction"):
        (hooks / name).write_text(script)
        (hooks / name).chmod(0o755)
    commit(repository, "hooks")
    async with running(machine) as daemon:
        run_id, _ = await worked(daemon, one, repository, b_txt="new")
        (repository / "c.txt").write_text("meanwhile")
        commit(repository, "meanwhile")
        for key, value in {
            "core.hooksPath": ".husky",
            "core.fsmonitor": str(hooks / HOOKS[0]),
            "commit.gpgSign": "true",
            "gpg.program": str(hooks / HOOKS[0]),
            "core.editor": str(hooks / HOOKS[0]),
            "merge.verifySignatures": "true",
        }.items():
            run_git(repository, "config", key, value)
        canary.unlink(missing_ok=True)
        merged = await daemon.service.worktrees.merge(run_id)
        assert merged.merged is True
        await daemon.service.worktrees.list()
        await daemon.service.worktrees.remove(run_id, force=False)
    assert not canary.exists()


async def test_a_worktree_that_cannot_get_its_new_name_is_as_it_was(
    machine: Machine, one: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    async with running(machine) as daemon:
        run_id, where = await worked(daemon, one, repository)
        with monkeypatch.context() as broken:
            broken.setattr(Path, "rename", no)
            with pytest.raises(PodiumError, match="was not removed"):
                await daemon.service.worktrees.remove(run_id, force=False)
        assert (where / "a.txt").exists() and (await only(daemon))["problem"] is None
        await daemon.service.worktrees.remove(run_id, force=False)


@pytest.mark.parametrize("broken", sampled(["failing", "slow"]))
async def test_a_removal_that_is_not_whole_is_told_as_that_and_ended_by_the_next_start(
    machine: Machine, one: str, repository: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def breaking(directory: str, go_on: Callable[[], None]) -> None:
        (Path(directory) / "a.txt").unlink()
        if broken == "failing":
            raise PermissionError(13, "Permission denied")
        while True:  # as one with files without end
            go_on()

    monkeypatch.setattr(worktree_care, "delete_tree", breaking)
    monkeypatch.setattr(worktree_care, "REMOVE_SECONDS", 0.5)
    async with running(machine) as daemon:
        run_id, where = await worked(daemon, one, repository)
        left = where.with_name(f".removed-{where.name}")
        with pytest.raises(PodiumError) as raised:
            await daemon.service.worktrees.remove(run_id, force=False)
        assert "not all of it is removed" in raised.value.message
        assert f"{left}" in raised.value.message
        assert left.exists() and not where.exists()
    monkeypatch.undo()

    async with running(machine) as daemon:
        await daemon.service.worktrees.recover()
        assert not left.exists()
        assert await daemon.service.worktrees.list() == []


async def test_what_gits_of_an_earlier_daemon_read_goes_once_they_have_ended(
    machine: Machine, one: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A merge that it began may run for longer than it is waited for."""
    read = machine.state / "git/git-old"
    async with running(machine) as daemon:
        run_id, where = await worked(daemon, one, repository)
        _, plan = await daemon.service.worktrees._of_run(run_id)
        begun = worktree_care.Intended(what="merge", plan=plan, commit=None)
        await daemon.service.worktrees._store(run_id, begun)
    read.mkdir(parents=True)
    monkeypatch.setattr(worktree_care, "GONE_SECONDS", 0.01)
    merging = subprocess.Popen(["cat"], stdin=subprocess.PIPE, env={MARKER: f"merge-{run_id}"})
    async with running(machine) as daemon:
        assert read.exists() and run_id in await daemon.service.worktrees._stored()
    merging.communicate()
    monkeypatch.undo()

    async with running(machine) as daemon:
        assert not read.exists() and await daemon.service.worktrees._stored() == {}
    assert where.exists()


def test_all_worktrees_share_the_number_of_files_that_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST_COUNTED", 7)
    for name in ("one", "two"):
        (tmp_path / name / "below").mkdir(parents=True)
        for number in range(3):
            (tmp_path / name / "below" / f"{number}").write_text("12")
    looks: list[None] = []
    sizes = listing.Sizes()

    found = [sizes.of(tmp_path / name, lambda: looks.append(None)) for name in ("one", "two")]

    assert found == [6, None] and len(looks) == 4
