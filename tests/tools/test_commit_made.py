"""How the commit of a turn is made: by whom, with which hooks, once."""

from pathlib import Path

import pytest
import trio

from podiumd.core.run.loop_facts import FileChange
from podiumd.tools.commit.commit import CommitOrder, commit_changes
from podiumd.tools.git.line_up import LineUp
from tests.tools.turn_repository import Turn


@pytest.fixture
def turn(tmp_path: Path) -> Turn:
    return Turn(tmp_path)


async def test_a_commit_made_before_a_crash_is_adopted(turn: Turn) -> None:
    turn.change("a.py", "x\n")
    first = await turn.commit()
    # As if the daemon had been killed before the index was brought up to date.
    turn.git("read-tree", turn.first)

    again = await turn.commit()

    assert (again.sha, again.files) == (first.sha, first.files)
    assert turn.git("rev-list", "--count", "HEAD") == "2"
    assert turn.git("status", "--porcelain") == ""


async def test_what_a_killed_attempt_left_does_not_stand_in_the_way(turn: Turn) -> None:
    turn.change("a.py", "x\n")
    for name in (
        f"podium-index-{turn.turn}",
        f"podium-index-{turn.turn}.lock",
        f"podium-message-{turn.turn}",
    ):
        (turn.top / ".git" / name).write_text("torn")

    done = await turn.commit()

    assert done.state == "committed"
    assert not list((turn.top / ".git").glob("podium-*"))


async def test_another_turn_makes_a_commit_of_its_own(turn: Turn) -> None:
    turn.change("a.py", "x\n")
    await turn.commit()
    turn.changes.clear()
    turn.change("a.py", "y\n")

    done = await turn.commit("t2")

    assert done.files == (("a.py", "modified"),)
    assert turn.git("rev-list", "--count", "HEAD") == "3"


async def test_a_failing_hook_is_a_result_with_its_words(turn: Turn) -> None:
    turn.hook("pre-commit", "echo the linter is unhappy; exit 3")
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "refused"
    assert "pre-commit refused the commit: status 3" in done.detail
    assert "the linter is unhappy" in done.detail
    assert turn.git("rev-parse", "HEAD") == turn.first
    assert turn.git("status", "--porcelain") == "M a.py"
    assert not list((turn.top / ".git").glob("podium-*"))


async def test_hooks_see_what_is_to_be_committed_and_edit_the_message(turn: Turn) -> None:
    turn.write("b.py", "the user's\n")
    turn.git("add", "b.py")
    turn.hook("pre-commit", "git diff --cached --name-only > seen")
    turn.hook("commit-msg", 'sed -i "1s/^/[x] /;/Podium/d" "$1"')
    turn.hook("post-commit", "git log -1 --format=%s > after; exit 1")
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "committed"
    assert turn.text("seen") == "a.py\n"
    assert turn.text("after") == "[x] AI: modified a.py\n"
    assert turn.git("log", "-1", "--format=%(trailers:key=Podium-Turn,valueonly)") == turn.turn


async def test_a_hook_that_mends_the_files_and_refuses_is_asked_again(turn: Turn) -> None:
    mend = 'if grep -q tidy a.py; then exit 0; fi; echo "tidy" >> a.py; exit 1'
    turn.hook("pre-commit", mend)
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "committed"
    assert turn.shown("a.py") == "x\ntidy"
    assert turn.git("status", "--porcelain") == ""


async def test_hooks_in_the_tree_do_not_run_by_themselves(turn: Turn) -> None:
    """Git would run this one at any change of an index, outside of every sandbox."""
    turn.git("config", "core.hooksPath", ".hooks")
    turn.write(".hooks/post-index-change", "#!/bin/sh\ntouch ../escaped\n")
    (turn.top / ".hooks/post-index-change").chmod(0o755)
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "committed"
    assert not (turn.top.parent / "escaped").exists()


async def test_without_a_name_nothing_is_committed_under_another(
    turn: Turn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    turn.git("config", "--unset", "user.name")
    turn.git("config", "--unset", "user.email")
    turn.git("config", "user.useConfigOnly", "true")
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "failed"
    assert "git config --global user.name" in done.detail
    assert turn.git("rev-parse", "HEAD") == turn.first


async def test_a_branch_that_moved_meanwhile_is_built_upon(turn: Turn) -> None:
    """The hook stands for a person who commits while we do."""
    turn.change("a.py", "x\n")
    turn.hook(
        "pre-commit",
        "unset GIT_INDEX_FILE; [ -e moved ] && exit 0; touch moved; echo mine > b.py; "
        "git -c core.hooksPath=/dev/null commit -q -m theirs b.py",
    )

    done = await turn.commit()

    assert done.state == "committed"
    assert turn.git("log", "--format=%s") == "AI: modified a.py\ntheirs\nfirst"
    assert turn.shown("b.py") == "mine" and turn.shown("a.py") == "x"


async def test_turns_of_one_repository_that_end_at_once_all_have_their_commit(
    tmp_path: Path,
) -> None:
    """In two working trees of it, and each with a file of its own."""
    turn = Turn(tmp_path)
    turn.git("worktree", "add", "-q", f"{tmp_path}/tree")
    line = LineUp()
    states = []

    async def one(number: int) -> None:
        top = turn.top if number % 2 else tmp_path / "tree"
        (top / f"f{number}").write_text("x\n")
        change = FileChange(path=f"f{number}", after=turn.originals.keep(b"x\n"))
        name = f"t{number}"
        order = CommitOrder(
            root=f"{top}", record=turn.record(name), changes=(change,), run_id="r", turn_id=name
        )
        done = await commit_changes(order, turn.originals, None, line)
        states.append((done.state, done.detail))

    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(one, number)

    assert [state for state, _ in states] == ["committed"] * 4, states
    assert turn.git("status", "--porcelain") == ""
    assert turn.git("rev-list", "--count", "--all") == "5"
    assert not line.names
