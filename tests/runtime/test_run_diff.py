"""What a run changed and what it left, told while it goes on, at its end and later."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from msgspec.structs import replace

from podiumd.core.recipe.model import Recipe
from podiumd.core.run.facts import TreeLook
from podiumd.runtime.errors import NotFound, PodiumError, Refused
from podiumd.runtime.worktrees import tree as run_tree
from podiumd.runtime.worktrees.diff import run_diff
from podiumd.tools.git import queries as git
from podiumd.wire.runs import DiffPart
from tests.core.builders import DIRECTORY, Play, a_recipe, a_step
from tests.long import sampled
from tests.patience import HANG_SECONDS
from tests.plain import plain
from tests.runtime.harness import Machine, running
from tests.tools.git_repository import commit, make_repository, run_git

LOOP = """
format = 1
id = "loop"
label = "Loop"
description = "Round and round"
initial = "work"
[limits]
max_step_visits = 1
[steps.work]
prompt = "Do the work."
[steps.work.on]
again = { to = "work" }
complete = { exit = "task-committed" }
"""

RECIPE = a_recipe({"work": a_step()})


@pytest.fixture
def repository(machine: Machine) -> Path:
    path = make_repository(machine.project / "repo")
    for name in ("a.txt", "mine.txt", "both.txt"):
        (path / name).write_text("one\n")
    commit(path, "first")
    return path


@pytest.fixture
def recipe(machine: Machine) -> str:
    """One that has nothing to do with commits."""
    return machine.one_step("plain", on='done = { exit = "conversation-complete" }')


def names(part: DiffPart) -> list[str]:
    return [file.path for file in part.files]


async def test_a_run_is_told_while_it_goes_on_and_when_it_is_over(
    machine: Machine, recipe: str, repository: Path
) -> None:
    base = run_git(repository, "rev-parse", "HEAD")
    (repository / "mine.txt").write_text("changed before\n")
    (repository / "both.txt").write_text("changed before\n")
    (repository / "notes").write_text("mine\n")
    async with running(machine) as daemon:
        run_id = await daemon.start(recipe, working_directory=str(repository))
        turn = await daemon.turn()
        (repository / "a.txt").write_text("two\n")
        run_git(repository, "add", "a.txt")
        run_git(repository, "commit", "-qm", "Change a")
        (repository / "both.txt").write_text("changed twice\n")
        (repository / "new.txt").write_text("new\n")

        now = await daemon.service.run_diff(run_id[:8], patch=True)

        assert (now.base, now.ended, now.gone) == (base, False, False)
        assert [one.subject for one in now.commits] == ["Change a"]
        assert names(now.committed) == ["a.txt"]
        assert names(now.uncommitted) == ["both.txt", "new.txt"]
        before = {file.path: file.changed_before for file in now.uncommitted.files}
        assert before == {"both.txt": True, "new.txt": False}
        assert "+changed twice" in now.uncommitted.patch
        assert "mine" not in now.uncommitted.patch

        turn.complete("done")
        run = await daemon.ended(run_id)

        head = run_git(repository, "rev-parse", "HEAD")
        assert run["base"] == base
        assert run["left"] == {
            "head": head,
            "paths": ["both.txt", "new.txt"],
            "more": 0,
            "problem": None,
        }
        await daemon.forgotten(run_id)
    (repository / "later.txt").write_text("somebody else's\n")
    commit(repository, "somebody else's, and the rest")
    (repository / "new.txt").write_text("newer\n")
    async with running(machine) as daemon:
        later = await daemon.service.run_diff(run_id, patch=False)
        assert (later.ended, later.head) == (True, head)
        assert [one.subject for one in later.commits] == ["Change a"]
        assert names(later.committed) == ["a.txt"]
        assert names(later.uncommitted) == ["both.txt", "new.txt"]
        assert plain(await daemon.service.get_run(run_id))["left"] == run["left"]


@pytest.mark.parametrize("how", sampled(["cancel", "limit", "error"]))
async def test_what_is_left_is_told_however_it_ends(
    machine: Machine, repository: Path, how: str
) -> None:
    loop = machine.recipe(LOOP, "loop")
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(loop, working_directory=str(repository))
        (repository / "new.txt").write_text("x")
        if how == "cancel":
            run = plain(await daemon.service.cancel(run_id))
        elif how == "limit":
            turn.complete("again")
            run = await daemon.ended(run_id)
        else:
            turn.fails_inside(RuntimeError("boom"))
            run = await daemon.ended(run_id)
        assert run["left"]["paths"] == ["new.txt"], run["exit"]
        events = await daemon.types(run_id)
        assert events[-2:] == ["tree.seen", "run.ended"]


async def test_a_cancel_waits_for_no_git_that_hangs(
    machine: Machine, recipe: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_: object) -> None:
        await trio.sleep_forever()

    async with running(machine) as daemon:
        run_id, _ = await daemon.begun(recipe, working_directory=str(repository))
        monkeypatch.setattr(run_tree, "LOOK_SECONDS", HANG_SECONDS)
        monkeypatch.setattr(run_tree, "AWAITED_SECONDS", 0.0)
        monkeypatch.setattr(git, "uncommitted", hang)
        run = await daemon.service.cancel(run_id)
        assert run.status == "ended" and "did not answer" in plain(run)["left"]["problem"]
        monkeypatch.undo()


async def test_a_worktree_that_is_gone_leaves_its_commits_to_tell(
    machine: Machine, recipe: str, repository: Path
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(recipe, working_directory=str(repository), worktree=True)
        turn = await daemon.turn()
        where = Path(turn.request.working_directory)
        (where / "b.txt").write_text("x\n")
        commit(where, "Add b")
        (where / "c.txt").write_text("x\n")
        turn.complete("done")
        assert (await daemon.ended(run_id))["left"]["paths"] == ["c.txt"]
        await daemon.forgotten(run_id)
        told = await daemon.service.run_diff(run_id, patch=True)
        assert (names(told.committed), names(told.uncommitted)) == (["b.txt"], ["c.txt"])
        run_git(repository, "worktree", "remove", "--force", str(where))
        told = await daemon.service.run_diff(run_id, patch=True)
        assert told.gone and names(told.committed) == ["b.txt"]
        assert names(told.uncommitted) == []


async def test_where_nothing_is_known_it_says_why(
    machine: Machine, recipe: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(machine) as daemon:
        outside = await daemon.start(recipe, working_directory=machine.directory("other"))
        (await daemon.turn()).complete("done")
        assert (await daemon.ended(outside))["left"] is None
        with pytest.raises(Refused, match="is not known"):
            await daemon.service.run_diff(outside, patch=True)
        prompt = await daemon.prompt(working_directory=str(repository))
        await daemon.turn()
        with pytest.raises(Refused, match="A plain prompt"):
            await daemon.service.run_diff(prompt["run_id"], patch=True)
        with pytest.raises(NotFound):
            await daemon.service.run_diff("nothing", patch=True)
        run_id = await daemon.start(recipe, working_directory=str(repository))
        await daemon.turn()
        (repository / ".git").rename(repository / "moved")
        with pytest.raises(PodiumError, match="in no git repository any more"):
            await daemon.service.run_diff(run_id, patch=True)


@pytest.mark.parametrize(
    ("recipe", "begun", "found", "words"),
    [
        (None, True, None, "A plain prompt notes nothing"),
        (RECIPE, True, TreeLook(repository=False), f"began outside git, in '{DIRECTORY}'"),
        (RECIPE, False, None, "has not begun"),
        (RECIPE, True, None, "is not known"),
    ],
)
async def test_what_cannot_be_told_is_refused_with_the_reason(
    recipe: Recipe | None, begun: bool, found: TreeLook | None, words: str
) -> None:
    state = replace(Play(recipe).state, begun=begun, found=found)

    with pytest.raises(Refused, match=words):
        await run_diff(state, patch=False)


async def test_a_git_that_fails_or_hangs_costs_no_run_its_end(
    machine: Machine, recipe: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_: object, **__: object) -> None:
        await trio.sleep_forever()

    async def fail(*_: object, **__: object) -> None:
        raise git.GitError("no git today")

    monkeypatch.setattr(run_tree, "LOOK_SECONDS", 0.0)
    async with running(machine) as daemon:
        for broken, problem in ((hang, "did not answer within"), (fail, "no git today")):
            with monkeypatch.context() as well:
                well.setattr(run_tree, "LOOK_SECONDS", 10.0)
                run_id = await daemon.start(recipe, working_directory=str(repository))
                turn = await daemon.turn()
            if broken is fail:
                monkeypatch.setattr(run_tree, "LOOK_SECONDS", 10.0)
            monkeypatch.setattr(git, "look", broken)
            turn.complete("done")
            run = await daemon.ended(run_id)
            assert run["exit"]["reason"] == "conversation-complete"
            assert problem in run["left"]["problem"] and run["left"]["paths"] == []
            monkeypatch.undo()
            monkeypatch.setattr(run_tree, "LOOK_SECONDS", 0.0)
