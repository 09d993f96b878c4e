"""A turn's commit holds what the turn changed, and leaves all that is the user's as it was."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from podiumd.core.run.loop_facts import FileChange
from podiumd.tools.commit.commit import CommitOrder, commit_changes
from podiumd.tools.commit.originals import Originals
from tests.long import sampled
from tests.tools.git_repository import commit, make_repository, run_git
from tests.tools.turn_repository import TEN, Turn


@pytest.fixture
def turn(tmp_path: Path) -> Turn:
    return Turn(tmp_path)


async def test_a_commit_names_every_file_and_the_turn(turn: Turn) -> None:
    turn.change("a.py", TEN + "more\n")
    turn.change("new/c.py", "c\n")
    turn.change("b.py", None)

    done = await turn.commit()

    assert done.state == "committed" and done.sha == turn.git("rev-parse", "HEAD")
    assert done.files == (("a.py", "modified"), ("b.py", "deleted"), ("new/c.py", "created"))
    assert turn.git("log", "-1", "--format=%s") == (
        "AI: modified a.py, deleted b.py, created new/c.py"
    )
    assert turn.git("log", "-1", "--format=%b").splitlines() == [
        "- modified a.py",
        "- deleted b.py",
        "- created new/c.py",
        "",
        "Podium-Run: r1",
        f"Podium-Turn: {turn.turn}",
    ]
    assert turn.git("log", "-1", "--format=%an <%ae> %cn") == "A Person <a@example.org> A Person"
    assert turn.git("status", "--porcelain") == ""


async def test_the_users_own_changes_are_neither_committed_nor_touched(turn: Turn) -> None:
    turn.write("b.py", "staged by the user\n")
    turn.git("add", "b.py")
    turn.write("b.py", "and more\n")
    turn.write("notes.txt", "untracked\n")
    staged = turn.git("diff", "--cached")
    turn.change("a.py", TEN.replace("line 1\n", "LINE 1\n"))

    done = await turn.commit()

    assert done.files == (("a.py", "modified"),)
    assert turn.git("diff", "--cached") == staged
    assert turn.text("b.py") == "and more\n"
    assert turn.git("status", "--porcelain") == "MM b.py\n?? notes.txt"


async def test_in_a_file_that_was_dirty_only_our_own_lines_are_committed(turn: Turn) -> None:
    turn.write("a.py", TEN.replace("line 1\n", "the user's\n"))
    turn.change("a.py", turn.text("a.py").replace("line 9\n", "ours\n"))

    done = await turn.commit()

    assert done.state == "committed" and done.left_out == ()
    assert turn.shown("a.py") + "\n" == TEN.replace("line 9\n", "ours\n")
    diff = turn.git("diff", "--unified=0", "a.py")
    assert "+the user's" in diff and "ours" not in diff
    assert turn.git("diff", "--cached") == ""


async def test_what_was_staged_of_the_same_file_stays_staged(turn: Turn) -> None:
    turn.write("a.py", TEN.replace("line 1\n", "the user's\n"))
    turn.git("add", "a.py")
    staged = turn.git("diff", "--cached", "--unified=0")
    turn.change("a.py", turn.text("a.py").replace("line 9\n", "ours\n"))

    await turn.commit()

    # Line numbers and object names differ; what is added and taken away does not.
    now = turn.git("diff", "--cached", "--unified=0")
    assert [line for line in now.splitlines() if line[:1] in "+-"][2:] == [
        line for line in staged.splitlines() if line[:1] in "+-"
    ][2:]
    assert turn.git("diff") == ""


async def test_a_change_in_the_users_own_lines_is_left_out_and_said(turn: Turn) -> None:
    turn.write("a.py", TEN.replace("line 5\n", "the user's\n"))
    turn.change("a.py", turn.text("a.py").replace("the user's\n", "ours\n"))
    turn.change("c.py", "c\n")

    done = await turn.commit()

    assert done.files == (("c.py", "created"),)
    assert [path for path, _ in done.left_out] == ["a.py"]
    assert "not committed: a.py: it had changes of your own" in done.detail
    assert turn.git("status", "--porcelain") == "M a.py"
    assert "ours" in turn.text("a.py")


@pytest.mark.long("test_in_a_file_that_was_dirty_only_our_own_lines_are_committed")
async def test_edits_of_the_user_between_ours_are_left_to_the_user(turn: Turn) -> None:
    turn.change("a.py", TEN.replace("line 1\n", "ours 1\n"))
    turn.write("a.py", turn.text("a.py").replace("line 5\n", "the user's\n"))
    turn.change("a.py", turn.text("a.py").replace("line 9\n", "ours 9\n"))

    await turn.commit()

    assert "the user's" not in turn.shown("a.py")
    assert "ours 1" in turn.shown("a.py") and "ours 9" in turn.shown("a.py")
    assert turn.git("diff", "--numstat") == "1\t1\ta.py"


async def test_what_the_user_changed_or_deleted_since_stays_uncommitted(turn: Turn) -> None:
    turn.change("a.py", TEN + "ours\n")
    turn.change("c.py", "ours\n")
    turn.write("a.py", "all new\n")
    (turn.top / "c.py").unlink()

    await turn.commit()

    assert turn.shown("a.py").endswith("ours") and turn.shown("c.py") == "ours"
    assert turn.git("status", "--porcelain") == "M a.py\n D c.py"
    assert turn.text("a.py") == "all new\n"


async def test_an_untracked_file_of_the_user_is_left_out(turn: Turn) -> None:
    turn.write("notes.txt", "mine\n")
    turn.change("notes.txt", "mine and ours\n")

    done = await turn.commit()

    assert done.state == "nothing" and "notes.txt" in done.detail
    assert turn.git("status", "--porcelain") == "?? notes.txt"
    assert turn.git("rev-parse", "HEAD") == turn.first


async def test_a_file_that_git_ignores_is_left_out(turn: Turn) -> None:
    turn.write(".gitignore", "build/\n")
    commit(turn.top, "ignore")
    turn.change("build/out.txt", "out\n")

    done = await turn.commit()

    assert done.left_out == (("build/out.txt", "git ignores it"),)


async def test_nothing_changed_is_no_commit(turn: Turn) -> None:
    turn.change("a.py", "other\n")
    turn.change("a.py", TEN)

    done = await turn.commit()

    assert (done.state, done.sha) == ("nothing", None)


async def test_outside_git_a_sentence_says_so(tmp_path: Path) -> None:
    order = CommitOrder(
        root=f"{tmp_path}", record=f"{tmp_path}/commit", changes=(), run_id="r", turn_id="t"
    )

    done = await commit_changes(order, Originals(tmp_path / "o"))

    assert done.state == "nothing"
    assert done.detail == "nothing was committed: this is not a git repository"


async def test_the_first_commit_of_a_repository_can_be_ours(tmp_path: Path) -> None:
    turn = Turn(tmp_path)
    turn.git("update-ref", "-d", "HEAD")
    turn.git("rm", "--cached", "-q", "a.py", "b.py")
    turn.change("c.py", "c\n")

    done = await turn.commit()

    assert done.state == "committed"
    assert turn.git("ls-tree", "--name-only", "HEAD") == "c.py"
    assert turn.git("rev-list", "--count", "main") == "1"


async def test_a_detached_head_moves_and_no_branch_does(turn: Turn) -> None:
    turn.git("checkout", "--quiet", "--detach")
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert turn.git("rev-parse", "HEAD") == done.sha
    assert turn.git("rev-parse", "main") == turn.first


@pytest.mark.parametrize(
    ("name", "what"),
    [("MERGE_HEAD", "a merge"), ("rebase-merge", "a rebase"), ("REVERT_HEAD", "a revert")],
)
async def test_while_something_is_in_progress_nothing_is_committed(
    turn: Turn, name: str, what: str
) -> None:
    turn.change("a.py", "x\n")
    (turn.top / ".git" / name).write_text(f"{turn.first}\n")

    done = await turn.commit()

    assert done.state == "nothing" and f"{what} is in progress" in done.detail
    assert turn.git("rev-parse", "HEAD") == turn.first


async def test_a_file_in_a_submodule_is_left_to_its_own_repository(turn: Turn) -> None:
    inner = make_repository(turn.top / "sub")
    (inner / "x.txt").write_text("x\n")
    commit(inner, "inner")
    turn.change("sub/x.txt", "y\n")
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.files == (("a.py", "modified"),)
    assert done.left_out == (("sub/x.txt", "it belongs to a repository of its own"),)


async def test_in_a_folder_of_the_repository_paths_are_those_of_the_folder(turn: Turn) -> None:
    turn.root = turn.top / "pkg"
    turn.change("pkg/m.py", "m\n")

    done = await turn.commit()

    assert done.files == (("m.py", "created"),)
    assert turn.shown("pkg/m.py") == "m"


@pytest.mark.long(
    "tests/tools/test_index_lock.py::test_the_index_of_a_working_tree_of_its_own_is_its_own"
)
async def test_in_a_worktree_its_own_branch_and_index_are_used(turn: Turn, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    turn.git("worktree", "add", "-q", "-b", "side", str(tree))
    top, turn.top = turn.top, tree
    turn.root = tree
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert run_git(tree, "status", "--porcelain") == ""
    assert run_git(top, "rev-parse", "side") == done.sha
    assert run_git(top, "rev-parse", "main") == turn.first
    assert run_git(top, "status", "--porcelain") == ""


async def test_the_mode_of_a_file_stays_and_a_link_is_a_link(turn: Turn) -> None:
    turn.write("run.sh", "#!/bin/sh\n")
    (turn.top / "run.sh").chmod(0o755)
    commit(turn.top, "script")
    turn.change("run.sh", "#!/bin/sh\necho\n")
    turn.originals.keep(b"a.py")
    link = turn.originals.keep(b"a.py")
    (turn.top / "link").symlink_to("a.py")
    turn.changes.append(FileChange(path="link", after=link, mode="120000"))

    await turn.commit()

    modes = turn.git("ls-tree", "HEAD", "run.sh", "link").splitlines()
    assert [line.split()[0] for line in modes] == ["120000", "100755"]
    assert turn.git("status", "--porcelain") == ""


async def test_line_ends_are_stored_as_the_repository_wants_them(turn: Turn) -> None:
    turn.write(".gitattributes", "*.py text eol=crlf\n")
    commit(turn.top, "attributes")
    turn.change("a.py", "one\r\ntwo\r\n")

    await turn.commit()

    raw = subprocess.run(
        ["git", "-C", str(turn.top), "cat-file", "blob", "HEAD:a.py"],
        capture_output=True,
        check=True,
    )
    assert raw.stdout == b"one\ntwo\n"
    assert turn.git("status", "--porcelain") == ""


async def test_contents_that_are_lost_leave_their_file_out(turn: Turn) -> None:
    turn.change("a.py", "x\n")
    for path in (turn.top.parent / "originals").iterdir():
        path.unlink()

    done = await turn.commit()

    assert done.state == "nothing" and "not known any more" in done.detail


async def test_hostile_names_are_committed_as_they_are(turn: Turn) -> None:
    names = ["with space.txt", "-leading.txt", "a..b.txt", ":(top)x", "*.txt", "ünïcode.txt", '"q"']
    for name in names:
        turn.change(name, f"{name}\n")

    done = await turn.commit()

    assert sorted(path for path, _ in done.files) == sorted(names)
    assert turn.git("status", "--porcelain") == ""


@pytest.mark.parametrize("order", sampled([lambda paths: paths, lambda paths: paths[::-1]]))
async def test_a_file_that_becomes_a_directory_is_committed_as_that(
    turn: Turn, order: Callable[[list[FileChange]], list[FileChange]]
) -> None:
    turn.change("b.py", None)
    turn.change("b.py/inner.py", "x\n")
    turn.changes = order(turn.changes)

    done = await turn.commit()

    assert done.files == (("b.py", "deleted"), ("b.py/inner.py", "created"))
    assert turn.git("status", "--porcelain") == ""
