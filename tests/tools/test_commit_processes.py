"""The gits of a commit: how many there are, and what one means that fails after its work."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from podiumd.tools.commit import index as commit_index
from tests.tools.turn_repository import TEN, Turn


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
