"""The branch and the user's index move together: whoever else has the index, whatever is killed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import trio
from trio.testing import MockClock

from podiumd.tools.commit import index_lock
from podiumd.tools.commit.commit import CommitOrder
from podiumd.tools.commit.index_lock import LOCK_SECONDS, held_index, settle_index
from podiumd.tools.git.queries import GitError
from tests.patience import HANG_SECONDS
from tests.tools.git_repository import run_git
from tests.tools.turn_repository import Turn

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def lock(turn: Turn) -> Path:
    return turn.top / ".git/index.lock"


def left_behind(turn: Turn) -> list[str]:
    """Files that are there for the time of a commit alone."""
    git = turn.top / ".git"
    return sorted(path.name for path in [*git.glob("podium-*"), *git.glob("*.lock")])


# -- another git has the index ---------------------------------------------------------------------


async def test_an_index_that_another_git_has_for_a_moment_is_waited_for(
    turn: Turn, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the person stages just then stays theirs; their next commit takes nothing of ours."""
    waited = []

    async def let_go(seconds: float) -> None:
        if seconds != index_lock._LOOK_SECONDS:  # the time of a git, which is not to run out
            await trio.sleep_forever()
        await trio.lowlevel.checkpoint()
        waited.append(seconds)
        if len(waited) == 3:
            lock.unlink()
            turn.write("theirs.txt", "x\n")
            turn.git("add", "theirs.txt")

    monkeypatch.setattr(trio, "sleep", let_go)
    lock.touch()
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert (done.state, len(waited)) == ("committed", 3)
    assert done.detail == f"committed {done.sha[:12]}" if done.sha else None
    assert turn.git("status", "--porcelain") == "A  theirs.txt"
    turn.git("commit", "-q", "-m", "theirs")
    assert turn.git("show", "--format=", "--name-status", "HEAD") == "A\ttheirs.txt"
    assert left_behind(turn) == []


async def test_while_another_git_keeps_the_index_nothing_is_committed(
    turn: Turn, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_lock, "LOCK_SECONDS", 0.0)
    lock.write_text("theirs")
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert (done.state, done.sha) == ("failed", None)
    assert done.detail.startswith(f"nothing was committed: another git has held '{lock}' for more")
    assert "Wait for it to end" in done.detail and "commit it yourself" in done.detail
    assert turn.git("rev-parse", "HEAD") == turn.first
    assert lock.read_text() == "theirs"
    assert turn.text("a.py") == "x\n"
    lock.unlink()
    assert turn.git("status", "--porcelain") == "M a.py"
    assert left_behind(turn) == []


async def test_how_long_another_git_is_waited_for_is_bounded(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    (tmp_path / "index.lock").touch()
    began = trio.current_time()

    with pytest.raises(GitError, match="another git has held"):
        async with held_index(f"{tmp_path}", "t", "c"):
            pytest.fail("it is not ours")

    assert trio.current_time() - began == pytest.approx(LOCK_SECONDS, abs=1.0)
    assert [path.name for path in tmp_path.iterdir()] == ["index.lock"]


async def test_who_is_stopped_while_waiting_leaves_nothing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    (tmp_path / "index.lock").touch()

    with trio.move_on_after(1.0) as waiting:
        async with held_index(f"{tmp_path}", "t", "c"):
            pytest.fail("it is not ours")

    assert waiting.cancelled_caught
    assert [path.name for path in tmp_path.iterdir()] == ["index.lock"]


@pytest.mark.parametrize("held", [False, True])
async def test_where_files_have_no_second_name_the_lock_is_made_without_one(
    tmp_path: Path, held: bool, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    def no_links(*_: Path) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    (tmp_path / "index").write_bytes(b"old")
    if held:
        (tmp_path / "index.lock").touch()
        with pytest.raises(GitError):
            async with held_index(f"{tmp_path}", "t", "c"):
                pytest.fail("it is not ours")
        return

    async with held_index(f"{tmp_path}", "t", "c") as index:
        assert index.commit == "c"
        index.draft.write_bytes(b"new")
        index.finish()

    assert (tmp_path / "index").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


async def test_a_lock_that_cannot_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Path) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(OSError, match="no room"):
        async with held_index(f"{tmp_path}", "t", "c"):
            pytest.fail("it is not ours")
    assert list(tmp_path.iterdir()) == []


async def test_an_index_that_is_a_link_is_not_followed(turn: Turn, tmp_path: Path) -> None:
    """A command may have put it there: what it leads to may be nothing for its eyes."""
    index = turn.top / ".git/index"
    index.rename(tmp_path / "elsewhere")
    index.symlink_to(tmp_path / "elsewhere")
    turn.change("c.py", "x\n")

    done = await turn.commit()

    assert (done.state, turn.git("rev-parse", "HEAD")) == ("failed", turn.first)
    assert left_behind(turn) == []


async def test_what_is_staged_while_the_commit_is_made_is_left_to_its_owner(turn: Turn) -> None:
    """The hook stands for a person who stages lines of their own in the file, just then."""
    turn.hook(
        "pre-commit",
        "unset GIT_INDEX_FILE; cp a.py ours; echo theirs > a.py; git add a.py; mv ours a.py",
    )
    turn.change("a.py", "x\n")
    turn.change("c.py", "c\n")

    done = await turn.commit()

    assert done.files == (("c.py", "created"),)
    assert [path for path, _ in done.left_out] == ["a.py"]
    assert turn.git("show", ":a.py") == "theirs"
    assert turn.shown("a.py") != "theirs"


async def test_the_index_of_a_working_tree_of_its_own_is_its_own(
    turn: Turn, tmp_path: Path
) -> None:
    turn.git("worktree", "add", "-q", "-b", "side", f"{tmp_path}/tree")
    top, turn.top = turn.top, tmp_path / "tree"
    turn.root = turn.top
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert turn.git("status", "--porcelain") == run_git(top, "status", "--porcelain") == ""
    assert run_git(top, "rev-parse", "side") == done.sha
    assert run_git(top, "rev-parse", "main") == turn.first


# -- killed in between ----------------------------------------------------------------------------


def kill_at(turn: Turn, tmp_path: Path, failpoint: str) -> None:
    """Commit in a process that kills itself there."""
    order = CommitOrder(
        root=f"{turn.root}",
        record=turn.record(turn.turn),
        changes=tuple(turn.changes),
        run_id="r1",
        turn_id=turn.turn,
    )
    file = tmp_path / "order.json"
    file.write_bytes(msgspec.json.encode(order))
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/daemon", "PODIUM_FAILPOINT": failpoint}
    command = [sys.executable, f"{ROOT}/tests/tools/killed_commit.py", f"{file}"]
    done = subprocess.run(
        [*command, f"{tmp_path}/originals"], env=environment, timeout=HANG_SECONDS, check=False
    )
    assert done.returncode == -9


async def test_an_index_that_a_kill_left_behind_its_branch_is_brought_up(
    turn: Turn, tmp_path: Path
) -> None:
    turn.write("b.py", "staged by the user\n")
    turn.git("add", "b.py")
    turn.change("a.py", "x\n")
    turn.change("c.py", "c\n")
    kill_at(turn, tmp_path, "commit.after-move")
    assert turn.shown("c.py") == "c", "the branch has it"
    with pytest.raises(subprocess.CalledProcessError):  # which would take it out again
        turn.git("commit", "-q", "-m", "theirs")

    await settle_index(f"{turn.root}", turn.turn)

    assert turn.git("status", "--porcelain") == "M  b.py"
    assert left_behind(turn) == []
    again = await turn.commit()
    assert (again.state, turn.git("rev-list", "--count", "HEAD")) == ("committed", "2")


@pytest.mark.long("test_an_index_that_a_kill_left_behind_its_branch_is_brought_up")
async def test_a_commit_that_a_kill_kept_from_its_branch_leaves_the_index_as_it_was(
    turn: Turn, tmp_path: Path
) -> None:
    turn.change("c.py", "c\n")
    kill_at(turn, tmp_path, "commit.before-move")
    stored = Path(turn.record(turn.turn)).read_text()
    assert turn.git("cat-file", "-t", stored) == "commit"

    await settle_index(f"{turn.root}", turn.turn)

    assert turn.git("rev-parse", "HEAD") == turn.first
    assert turn.git("status", "--porcelain") == "?? c.py"
    assert left_behind(turn) == []
    assert (await turn.commit()).state == "committed"
    assert turn.git("status", "--porcelain") == ""
    assert left_behind(turn) == []


async def test_a_lock_of_somebody_else_is_left_alone(turn: Turn, lock: Path) -> None:
    for words in ("", "podium another-turn c0ffee\n"):
        lock.write_text(words)
        await settle_index(f"{turn.root}", turn.turn)
        assert lock.read_text() == words


async def test_where_there_is_no_repository_nothing_is_to_be_settled(tmp_path: Path) -> None:
    await settle_index(f"{tmp_path}", "t")
    await settle_index(f"{tmp_path}/gone", "t")
