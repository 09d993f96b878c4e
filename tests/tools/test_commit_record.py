"""Which commit is a turn's own is what Podium has stored, never what a commit says of itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podiumd.core.reply.actions import Action
from podiumd.tools.agent.registry import Plan, Toolbox, ToolContext
from podiumd.tools.agent.workspace import Workspace
from podiumd.tools.commit.originals import Originals
from podiumd.tools.commit.record import RECORD
from tests.long import sampled
from tests.tools.boxed_project import Inside
from tests.tools.git_repository import run_git
from tests.tools.turn_repository import Turn


def forge(turn: Turn) -> str:
    message = f"x\n\nPodium-Run: r1\nPodium-Turn: {turn.turn}"
    turn.git("commit", "-q", "--allow-empty", "-m", message)
    return turn.git("rev-parse", "HEAD")


async def test_a_commit_with_the_turn_s_trailer_is_not_taken_for_its_own(turn: Turn) -> None:
    turn.change("a.py", "x\n")
    forged = forge(turn)

    done = await turn.commit()

    assert (done.state, done.files) == ("committed", (("a.py", "modified"),))
    assert turn.git("rev-parse", "HEAD^") == forged
    assert (await turn.commit()).sha == done.sha
    assert turn.git("status", "--porcelain") == ""


@pytest.mark.parametrize("words", sampled(["elsewhere", "torn", "", "HEAD", "--all", "0" * 40]))
async def test_what_no_branch_has_is_not_adopted(turn: Turn, words: str) -> None:
    if words == "elsewhere":
        turn.git("checkout", "-q", "-b", "other")
        words = forge(turn)
        turn.git("checkout", "-q", "main")
    Path(turn.record(turn.turn)).write_text(words)
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "committed"
    assert Path(turn.record(turn.turn)).read_text() == done.sha == turn.git("rev-parse", "HEAD")


async def test_the_id_of_a_commit_that_no_branch_took_is_forgotten(turn: Turn) -> None:
    """It lies about in the repository, and a command could put it on the branch later."""
    (turn.top / ".git/refs/heads/main.lock").touch()
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "failed" and "the branch could not be moved" in done.detail
    assert not Path(turn.record(turn.turn)).exists()


async def test_without_a_place_for_the_id_nothing_is_committed(turn: Turn) -> None:
    Path(f"{turn.record(turn.turn)}.draft").mkdir()
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "failed"
    assert turn.git("rev-parse", "HEAD") == turn.first


@pytest.mark.needs("bwrap")
async def test_a_command_in_the_sandbox_can_neither_write_it_nor_forge_it(tmp_path: Path) -> None:
    inside = Inside(tmp_path)
    scratch = inside.state / "scratch"
    scratch.mkdir()
    for key, value in (("user.name", "A Person"), ("user.email", "a@example.org")):
        run_git(inside.project, "config", key, value)
    box = Toolbox(
        ToolContext(
            workspace=Workspace(inside.project),
            originals=Originals(inside.state / "originals"),
            sandbox=inside.sandbox,
            environment={"PATH": os.environ["PATH"]},
            turn_id=inside.turn,
            scratch=scratch,
        )
    )
    plan = await box.plan(
        Action(
            "run_command",
            {
                "command": "echo new > new.txt; echo out > other.txt; git add other.txt;"
                'git commit -q -m "x\n\nPodium-Turn: $PODIUM_TURN" &&'
                f"(git rev-parse HEAD > {inside.state}/{RECORD} || true)"
            },
        )
    )
    assert isinstance(plan, Plan)
    ran = await plan.perform(None)
    assert ran.result.success, ran.result
    assert run_git(inside.project, "log", "-1", "--format=%B").endswith(
        f"Podium-Turn: {inside.turn}"
    )
    assert not (inside.state / RECORD).exists()

    done = await box.commit(ran.changes, run_id="r")

    assert done.files == (("new.txt", "created"),)
    assert run_git(inside.project, "status", "--porcelain") == ""
