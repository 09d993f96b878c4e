"""What a command changed in a tree is seen, with what it was before."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from podiumd.core.run.loop_facts import FileChange
from podiumd.tools.commit import changes as module
from podiumd.tools.commit.changes import TreeWatch
from podiumd.tools.commit.originals import Originals
from tests.tools.git_repository import commit, make_repository, run_git


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
    inner = make_repository(watched.root / "inner")
    (inner / "x").write_text("x\n")
    commit(inner, "inner")

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
