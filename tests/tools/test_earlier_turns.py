"""What earlier turns of a run have left is committed before what a turn has changed itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from podiumd.tools.commit.changes import TreeWatch
from podiumd.tools.commit.earlier_turns import Earlier, with_earlier
from podiumd.tools.git.passed_over import passed_over
from podiumd.tools.git.queries import GitError
from tests.tools.git_repository import commit
from tests.tools.turn_repository import TEN, Turn


@pytest.fixture
def turn(tmp_path: Path) -> Turn:
    return Turn(tmp_path)


async def commit_all(turn: Turn, *foreign: str) -> str:
    """Commit with what was left; what is in the commit."""
    watch = TreeWatch(turn.root, turn.originals)
    earlier = Earlier(turn.first, frozenset(foreign))
    turn.changes[:] = await with_earlier(watch, tuple(turn.changes), earlier)
    done = await turn.commit()
    assert done.state in ("committed", "nothing"), done.detail
    return turn.git("show", "--format=", "--name-status", "HEAD").replace("\t", " ")


async def test_both_are_in_the_commit_and_what_a_person_had_when_the_run_began_stays_theirs(
    turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a person's file the turn's own lines alone; of more files than a command is said to
    change all."""
    monkeypatch.setattr("podiumd.tools.commit.changes._AT_ONCE", 2)
    monkeypatch.setattr("podiumd.tools.commit.changes.MOST_CHANGES", 1)
    for name in ("mixed.py", "theirs.py", "gone.py"):
        turn.write(name, TEN)
    turn.first = commit(turn.top, "second")
    turn.write("a.py", f"{TEN}earlier\n")
    turn.write("b.py", "earlier\n")
    turn.write("sub/new.py", "x\n")
    (turn.top / "gone.py").unlink()
    for name in ("mixed.py", "theirs.py"):
        turn.write(name, f"{TEN}theirs\n")
    turn.change("a.py", f"now\n{TEN}earlier\n")
    turn.change("mixed.py", f"now\n{TEN}theirs\n")

    made = await commit_all(turn, "mixed.py", "theirs.py")

    assert made == "M a.py\nM b.py\nD gone.py\nM mixed.py\nA sub/new.py"
    assert turn.shown("a.py") == f"now\n{TEN}earlier"
    assert turn.shown("mixed.py") == f"now\n{TEN}".strip()
    assert turn.git("status", "--porcelain") == "M mixed.py\n M theirs.py"


async def test_below_the_top_of_the_tree_it_is_what_lies_there(turn: Turn) -> None:
    turn.write("sub/theirs.py", "x\n")
    turn.write("sub/ours.py", "x\n")
    turn.write("b.py", "elsewhere\n")
    turn.root = turn.top / "sub"

    assert await commit_all(turn, "sub/theirs.py") == "A sub/ours.py"


async def test_what_comes_to_nothing_is_no_commit(turn: Turn) -> None:
    turn.write("a.py", "earlier\n")
    turn.write("b.py", "b\n")
    turn.change("a.py", TEN)

    await commit_all(turn)

    assert turn.git("rev-parse", "HEAD") == turn.first


async def test_where_somebody_has_committed_meanwhile_the_turn_s_own_is_all(turn: Turn) -> None:
    turn.write("b.py", "x\n")
    turn.git("commit", "-q", "--allow-empty", "-m", "chosen")
    turn.change("a.py", "x\n")

    assert await commit_all(turn) == "M a.py"


async def test_before_the_first_commit_of_a_repository_all_is_new(turn: Turn) -> None:
    turn.git("update-ref", "-d", "HEAD")
    turn.git("read-tree", "--empty")
    turn.first = ""

    assert await commit_all(turn) == "A a.py\nA b.py"


async def test_what_git_says_against_a_look_is_raised(turn: Turn) -> None:
    (turn.top / ".git/index").write_text("torn")

    with pytest.raises(GitError):
        await commit_all(turn)


async def test_outside_of_a_repository_there_is_nothing(tmp_path: Path, turn: Turn) -> None:
    watch = TreeWatch(tmp_path, turn.originals)

    assert await with_earlier(watch, (), Earlier("", frozenset())) == ()


async def test_what_git_ignored_when_the_run_began_stays_a_person_s(turn: Turn) -> None:
    """Whoever has changed the rules since; what was committed all the same is changed as ever."""
    turn.write(".gitignore", ".env\nkept/\n")
    turn.write("kept/committed.py", "x\n")
    turn.git("add", "-f", ".gitignore", "kept")
    turn.git("commit", "-q", "-m", "ignoring")
    turn.first = turn.git("rev-parse", "HEAD")
    turn.write(".env", "a secret\n")
    turn.write("kept/notes.txt", "private\n")
    turn.write("logs/a.txt", "private\n")
    (turn.top / ".git/info").mkdir(exist_ok=True)
    turn.write(".git/info/exclude", "logs/\n")
    there = await passed_over(str(turn.top))
    assert there == [".env", "kept/notes.txt", "logs/"]

    turn.write(".gitignore", "")
    turn.write(".git/info/exclude", "")
    turn.write("kept/committed.py", "earlier\n")
    turn.write("new.py", "earlier\n")

    assert await commit_all(turn, *there) == "M .gitignore\nM kept/committed.py\nA new.py"
