"""Which commit is a turn's own is what Podium has stored, never what a commit says of itself."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import trio
from trio.testing import Sequencer, wait_all_tasks_blocked

from podiumd.core.reply.actions import Action
from podiumd.tools.agent.registry import Plan, Toolbox, ToolContext
from podiumd.tools.agent.workspace import Workspace
from podiumd.tools.commit import index as commit_index
from podiumd.tools.commit.originals import Originals
from podiumd.tools.commit.record import RECORD
from podiumd.tools.git.line_up import LineUp
from tests.long import sampled
from tests.tools.boxed_project import Inside
from tests.tools.git_repository import run_git
from tests.tools.turn_repository import TEN, Turn


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


# -- the gits of a commit: how many there are, and what one means that fails after its work --


class Counted:
    """Every git that is started: what it was asked, and whether the index was locked then."""

    def __init__(self, turn: Turn, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._log = folder / "gits"
        (folder / "bin").mkdir()
        program = folder / "bin" / "git"
        program.write_text(
            "#!/bin/sh\n"
            f"if [ -e '{turn.top}/.git/index.lock' ]; then held=locked; else held=free; fi\n"
            f"printf '%s %s\\n' $held \"$*\" | tr '\\n' ' ' >> '{self._log}'\n"
            f"echo >> '{self._log}'\n"
            f"exec '{shutil.which('git')}' \"$@\"\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    def taken(self) -> tuple[int, int]:
        """How many there were since the last call, and how many of them under the lock."""
        lines = self._log.read_text().splitlines()
        self._log.unlink()
        return len(lines), sum(line.startswith("locked") for line in lines)


async def test_many_files_take_as_many_gits_as_one(
    turn: Turn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn.write(".gitattributes", "* text=auto\n")
    turn.git("add", ".gitattributes")
    turn.git("commit", "-qm", "attributes")
    counted = Counted(turn, tmp_path, monkeypatch)
    turn.change("a.py", TEN + "more\n")
    assert (await turn.commit()).state == "committed"
    one = counted.taken()

    turn.changes.clear()
    for number in range(30):
        turn.change(f"folder/{number}.py", f"{number}\n")
        turn.change(f"folder/{number}.py", f"{number}\nagain\n")
    done = await turn.commit("another-turn")
    many = counted.taken()

    assert done.state == "committed" and len(done.files) == 30
    assert turn.shown("folder/12.py") == "12\nagain"
    assert turn.git("status", "--porcelain") == ""
    assert many[0] <= one[0] + 2, "two ask whether a file stands where the folder is to be"
    assert one[0] <= 40
    # Fewer where settings that were looked at for the first commit are still known for the second;
    # one of them is the look that a hook which settings name asks for before the branch moves.
    assert many[1] <= one[1] <= 7


async def test_paths_that_fit_on_no_command_line_are_asked_for_in_parts(
    turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_index, "_LINE_BYTES", 20)
    for number in range(10):
        turn.change(f"folder/{number}.py", f"{number}\n")
    done = await turn.commit()
    assert done.state == "committed" and len(done.files) == 10
    assert turn.git("status", "--porcelain") == ""


async def test_contents_that_git_changes_on_their_way_in_are_changed(turn: Turn) -> None:
    turn.write(".gitattributes", "*.txt text=auto\n*.id ident\n")
    turn.git("add", ".gitattributes")
    turn.git("commit", "-qm", "attributes")
    turn.change("lines.txt", "one\r\ntwo\r\n")
    turn.change("same.bin", "one\r\ntwo\r\n")
    turn.change("a.id", "$Id: 1234 $\n")
    turn.change("a.plain", "$Id: 1234 $\n")
    assert (await turn.commit()).state == "committed"

    def size(name: str) -> int:
        return int(turn.git("cat-file", "-s", f"HEAD:{name}"))

    assert (size("lines.txt"), size("same.bin")) == (8, 10)
    assert turn.shown("a.id") == "$Id$"
    assert turn.shown("a.plain") == "$Id: 1234 $"


async def test_a_place_whose_name_has_two_lines_keeps_contents_as_well(tmp_path: Path) -> None:
    folder = tmp_path / "two\nlines"
    folder.mkdir()
    turn = Turn(folder)
    turn.change("b.py", "changed\n")
    assert (await turn.commit()).state == "committed"
    assert turn.shown("b.py") == "changed"


async def test_a_branch_that_moved_is_committed_though_the_git_that_moved_it_failed(
    turn: Turn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        f"'{shutil.which('git')}' \"$@\" || exit\n"
        'case " $* " in *" update-ref -m "*) exit 1;; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    turn.change("a.py", TEN + "more\n")

    done = await turn.commit()

    assert done.state == "committed"
    assert turn.shown("a.py") == TEN.strip() + "\nmore"
    assert turn.git("status", "--porcelain") == ""


# -- taking turns: who wants the same thing at once gets it one after the other --------------


async def test_who_wants_the_same_waits_in_order_and_who_gives_up_holds_up_nobody() -> None:
    line, came, going, sequence = LineUp(), [], trio.Event(), Sequencer()
    impatient = trio.CancelScope()

    async def take(number: int) -> None:
        async with sequence(number):
            pass
        with impatient if number == 2 else trio.CancelScope():
            async with line.turn("repository"):
                came.append(number)
                await going.wait()

    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(take, number)
            await wait_all_tasks_blocked()
        assert came == [0]
        impatient.cancel()
        await wait_all_tasks_blocked()
        assert line.names == ("repository",)
        going.set()

    assert came == [0, 1, 3]
    assert not line.names


async def test_who_wants_something_else_does_not_wait() -> None:
    line = LineUp()

    async with line.turn("one"), line.turn("another"):
        assert line.names == ("one", "another")
