"""What a command changed in a tree is seen, with what it was before."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podiumd.core.run.native_loop_facts import FileChange
from podiumd.tools.commit import changes as module
from podiumd.tools.commit.changes import Earlier, TreeWatch, with_earlier
from podiumd.tools.commit.originals import Originals
from podiumd.tools.git import honest_index, pinned_settings, process
from podiumd.tools.git import queries as git
from podiumd.tools.git.queries import GitError, look
from tests.in_threads import in_threads
from tests.tools.git_repository import begun, commit, make_repository, run_git
from tests.tools.turn_repository import TEN, Turn


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Watched:
    def __init__(self, folder: Path) -> None:
        self.root = make_repository(folder / "repo")
        for name in ("clean.txt", "dirty.txt", "gone.txt", "sub/in.txt"):
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text(f"{name}\n")
        (self.root / ".gitignore").write_text("*.log\n")
        commit(self.root, "first")
        (self.root / "dirty.txt").write_text("the user's\n")
        (self.root / "mine.txt").write_text("untracked\n")
        self.originals = Originals(folder / "originals")
        self.watch = TreeWatch(self.root, self.originals)

    async def run(self, command: str) -> tuple[dict[str, FileChange], int]:
        before = await self.watch.snapshot()
        subprocess.run(["sh", "-c", command], cwd=self.root, check=True)
        changes, more = await self.watch.between(before)
        return {change.path: change for change in changes}, more


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


async def test_every_kind_of_change_is_seen_and_its_contents_are_kept(watched: Watched) -> None:
    seen, more = await watched.run(
        "echo x >> clean.txt; echo x >> dirty.txt; rm gone.txt mine.txt; echo n > new.txt; "
        "ln -s clean.txt link; chmod +x sub/in.txt; echo log > x.log; "
        "mkdir -p a/b; echo > 'a/b/c d'"
    )

    assert more == 0
    plain, program = "100644", "100755"
    assert seen == {
        one.path: one
        for one in (
            FileChange("clean.txt", digest("clean.txt\n"), digest("clean.txt\nx\n"), plain),
            FileChange("dirty.txt", digest("the user's\n"), digest("the user's\nx\n"), plain),
            FileChange("gone.txt", digest("gone.txt\n"), None),
            FileChange("mine.txt", digest("untracked\n"), None),
            FileChange("new.txt", None, digest("n\n"), plain),
            FileChange("link", None, digest("clean.txt"), "120000"),
            FileChange("sub/in.txt", digest("sub/in.txt\n"), digest("sub/in.txt\n"), program),
            FileChange("a/b/c d", None, digest("\n"), plain),
        )
    }
    for change in seen.values():
        for one in (change.before, change.after):
            assert one is None or watched.originals.get(one) is not None


async def test_nothing_changed_is_nothing(watched: Watched) -> None:
    assert await watched.run("cat clean.txt > /dev/null; touch dirty.txt") == ({}, 0)


async def test_a_change_that_is_taken_back_by_the_command_is_seen(watched: Watched) -> None:
    seen, _ = await watched.run("git checkout -q dirty.txt")

    assert seen == {
        "dirty.txt": FileChange(
            "dirty.txt", digest("the user's\n"), digest("dirty.txt\n"), "100644"
        )
    }


async def test_what_the_command_commits_itself_is_its_own_affair(watched: Watched) -> None:
    seen, _ = await watched.run(
        "echo x >> clean.txt; git -c user.name=a -c user.email=b commit -qm x clean.txt"
    )

    assert seen == {}


async def test_in_a_folder_of_the_repository_paths_are_those_of_the_folder(
    watched: Watched,
) -> None:
    watched.watch = TreeWatch(watched.root / "sub", watched.originals)

    seen, _ = await watched.run("echo x >> sub/in.txt; echo x >> clean.txt")

    assert seen == {
        "in.txt": FileChange("in.txt", digest("sub/in.txt\n"), digest("sub/in.txt\nx\n"), "100644")
    }


async def test_contents_before_are_as_they_were_checked_out(watched: Watched) -> None:
    (watched.root / ".gitattributes").write_text("*.txt text eol=crlf\n")
    (watched.root / "crlf.txt").write_bytes(b"a\r\n")
    commit(watched.root, "crlf")

    seen, _ = await watched.run("printf 'b\\r\\n' > crlf.txt")

    assert seen["crlf.txt"].before == digest("a\r\n")


async def test_more_changes_than_can_be_named_are_counted(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_CHANGES", 3)

    seen, more = await watched.run("for i in 1 2 3 4 5; do echo > $i; done")

    assert (len(seen), more) == (3, 2)


async def test_files_that_did_not_change_are_read_once(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    await watched.watch.snapshot()
    opened: list[str] = []
    real = os.open

    def count(path: str, *rest: int, **named: int) -> int:
        opened.extend([f"{path}"] if Path(path).parent == watched.root else [])
        return real(path, *rest, **named)

    monkeypatch.setattr(os, "open", count)
    await watched.watch.snapshot()

    assert opened == []


async def test_outside_git_and_before_the_first_commit(tmp_path: Path) -> None:
    outside = TreeWatch(tmp_path, Originals(tmp_path / "o"))
    assert await outside.snapshot() is None
    assert await outside.between(None) == ((), 0)

    new = make_repository(tmp_path / "new")
    watch = TreeWatch(new, Originals(tmp_path / "o"))
    before = await watch.snapshot()
    (new / "a").write_text("a\n")
    changes, _ = await watch.between(before)
    assert changes == (FileChange("a", None, digest("a\n"), "100644"),)


async def test_a_repository_within_is_not_looked_into(watched: Watched) -> None:
    inner = begun(watched.root / "inner", {"x": "x\n"}, "inner")

    seen, _ = await watched.run("echo y > inner/x")

    assert seen == {}
    assert run_git(inner, "status", "--porcelain") == "M x"


async def test_a_directory_that_became_a_link_shows_nothing_from_where_it_leads(
    tmp_path: Path,
) -> None:
    """A file that was seen in it before is gone; it is not the file of that name outside."""
    watched = Watched(tmp_path)
    (tmp_path / "outside/deep").mkdir(parents=True)
    for path in ("key", "deep/key"):
        (tmp_path / "outside" / path).write_text("[secret]\n")
    (watched.root / "new/deep").mkdir(parents=True)
    for path in ("new/key", "new/deep/key"):
        (watched.root / path).write_text("mine\n")

    changes, _ = await watched.run("rm -r new; ln -s ../outside new")

    assert changes == {
        "new": FileChange("new", None, digest("../outside"), "120000"),
        "new/key": FileChange("new/key", digest("mine\n"), None, None),
        "new/deep/key": FileChange("new/deep/key", digest("mine\n"), None, None),
    }
    assert watched.originals.get(digest("[secret]\n")) is None


async def test_what_git_ignored_before_is_not_made_by_a_command_that_has_git_see_it(
    watched: Watched,
) -> None:
    """Nor is what lies in an ignored directory, nor what a repository inside the tree held."""
    (watched.root / ".env.log").write_text("a secret\n")
    (watched.root / "kept").mkdir()
    (watched.root / "kept/notes.txt").write_text("private\n")
    (watched.root / ".git/info").mkdir(exist_ok=True)
    (watched.root / ".git/info/exclude").write_text("kept/\n")
    make_repository(watched.root / "theirs")
    (watched.root / "theirs/file.txt").write_text("theirs\n")

    seen, more = await watched.run(
        ": > .gitignore; : > .git/info/exclude; rm -rf theirs/.git; echo x >> .env.log; "
        "mkdir made; echo n > made/new.log; mv clean.txt moved.txt"
    )

    assert sorted(seen) == [".gitignore", "clean.txt", "made/new.log", "moved.txt"]
    assert more == 0
    assert sorted(watched.watch.uncovered) == [".env.log", "kept/notes.txt", "theirs/file.txt"]
    await watched.run("true")
    assert watched.watch.uncovered == []


async def test_below_an_ignored_directory_nothing_becomes_a_command_s(watched: Watched) -> None:
    root = watched.root / "x.log"
    root.mkdir()
    (root / "theirs.txt").write_text("x\n")
    watched.root = root
    watched.watch = TreeWatch(root, watched.originals)

    assert await watched.run(": > ../.gitignore") == ({}, 0)
    assert watched.watch.uncovered == ["theirs.txt"]


async def test_more_files_than_are_looked_at_are_none_that_a_command_has_made(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 2)
    (watched.root / "old.txt").write_text("was there\n")

    seen, _ = await watched.run("rm mine.txt")

    assert list(seen) == ["mine.txt"]


# -- the mark of a working tree, taken at each turn's end: what it tells, and what it costs --


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Whose files count as settled from the moment on when they are written."""
    for each in (pinned_settings, honest_index):
        monkeypatch.setattr(each, "_SETTLED_NS", 0)
    return begun(tmp_path / "repository", {"a.txt": "one\n", "b.txt": "one\n"})


@pytest.fixture
def gits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What each git was asked that is started."""
    asked: list[str] = []
    real = process._run

    async def run(command: list[str], environment: Mapping[str, str], *more: Any) -> process.Result:
        asked.append(process.asked_of(command).partition(" ")[0])
        return await real(command, environment, *more)

    monkeypatch.setattr(process, "_run", run)
    return asked


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done in other threads."""
    return in_threads(monkeypatch)


async def test_a_mark_is_the_commit_and_a_digest_of_all_that_differs(repository: Path) -> None:
    first = await git.tree_mark(repository)
    assert first is not None
    assert first == (await git.head(repository), await git.tree_digest(repository))
    (repository / "a.txt").write_text("two\n")
    second = await git.tree_mark(repository)
    assert second is not None and second[0] == first[0] and second[1] != first[1]
    (repository / "a.txt").write_text("one\n")
    assert await git.tree_mark(repository) == first


async def test_before_the_first_commit_there_is_a_digest_alone(
    tmp_path: Path, repository: Path
) -> None:
    empty = make_repository(tmp_path / "empty")
    mark = await git.tree_mark(empty)
    assert mark is not None and mark[0] is None and mark[1]
    assert await git.tree_mark(tmp_path) is None and await git.tree_digest(tmp_path) == ""
    run_git(repository, "checkout", "--quiet", "--detach")
    detached = await git.tree_mark(repository)
    assert detached is not None and detached[0] == await git.head(repository)


async def test_what_git_says_of_the_branch_and_the_stash_is_no_part_of_it(
    repository: Path,
) -> None:
    mark = await git.tree_mark(repository)
    run_git(repository, "config", "status.showStash", "true")
    (repository / "a.txt").write_text("put by\n")
    run_git(repository, "stash")
    run_git(repository, "checkout", "--quiet", "-b", "other", "--track")
    assert await git.tree_mark(repository) == mark
    assert await git.uncommitted(repository) == ({}, 0)


async def test_a_mark_takes_one_git_and_another_where_the_index_has_changed(
    repository: Path, gits: list[str]
) -> None:
    await git.tree_mark(repository)
    gits.clear()
    (repository / "new.txt").write_text("new\n")
    await git.tree_mark(repository)
    assert gits == ["status"]
    gits.clear()
    run_git(repository, "rm", "--quiet", "--cached", "b.txt")
    await git.tree_mark(repository)
    assert gits == ["ls-files", "status"]


async def test_a_mark_takes_one_thread_beside_that_of_its_git_and_another_for_what_differs(
    repository: Path, threads: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pins = pinned_settings.Pins()
    pins.keep_in(tmp_path / "pins")  # as the daemon has them
    monkeypatch.setattr(process, "PINS", pins)
    await git.tree_mark(repository)
    threads.clear()
    await git.tree_mark(repository)
    assert threads == ["_recalled", "program"]
    threads.clear()
    (repository / "new.txt").write_text("new\n")
    await git.tree_mark(repository)
    assert threads == ["_recalled", "program", "digest"]


async def test_what_has_changed_and_is_in_the_index_is_read_once(
    repository: Path, gits: list[str]
) -> None:
    """Whoever may write the index by hand may say of it what they like."""
    await git.tree_mark(repository)
    (repository / "new.txt").write_text("new\n")
    run_git(repository, "add", "new.txt")
    gits.clear()
    await git.tree_mark(repository)
    reading = ["check-attr", "rev-parse", "update-index", "diff"]
    assert gits == ["ls-files", *reading, "status"]
    gits.clear()
    await git.tree_mark(repository)
    assert gits == ["status"]


async def test_an_index_that_was_written_just_now_is_listed_again(
    repository: Path, gits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within one tick of the clock it may be written twice, and look the same."""
    await git.tree_mark(repository)
    monkeypatch.setattr(pinned_settings, "_SETTLED_NS", 3_600_000_000_000)
    run_git(repository, "update-index", "--force-write-index", "--add", "a.txt")
    for _ in range(2):
        gits.clear()
        await git.tree_mark(repository)
        assert "ls-files" in gits


async def test_what_the_index_hides_after_it_was_known_is_seen(
    repository: Path, gits: list[str]
) -> None:
    before = await git.tree_mark(repository)
    run_git(repository, "update-index", "--assume-unchanged", "b.txt")
    (repository / "b.txt").write_text("hidden\n")
    for _ in range(2):  # one that hides is never remembered
        gits.clear()
        assert await git.tree_mark(repository) != before
        assert "ls-files" in gits


async def test_no_more_indexes_are_remembered_than_have_room(
    tmp_path: Path, repository: Path, gits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(honest_index, "MOST_KNOWN", 1)
    monkeypatch.setattr(honest_index, "_LISTED", {})
    await git.tree_mark(repository)
    await git.tree_mark(make_repository(tmp_path / "another"))
    gits.clear()
    await git.tree_mark(repository)
    assert gits == ["ls-files", "status"]


# -- what earlier turns of a run have left is committed before what a turn has changed itself


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
    found = await look(str(turn.top), passed_over=True)
    assert found is not None
    there = list(found.passed_over)
    assert there == [".env", "kept/notes.txt", "logs/"]

    turn.write(".gitignore", "")
    turn.write(".git/info/exclude", "")
    turn.write("kept/committed.py", "earlier\n")
    turn.write("new.py", "earlier\n")

    assert await commit_all(turn, *there) == "M .gitignore\nM kept/committed.py\nA new.py"
