"""What the index knows is compared with what is on the disk."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from msgspec.structs import replace

from podiumd.sessions.index import table
from podiumd.sessions.index.compare import Changes, changed, is_older_copy, look, unread
from podiumd.sessions.index.table import Row
from podiumd.sessions.index.tree import Companion, Found, Known, Root
from podiumd.sessions.index.update import NEVER
from podiumd.sessions.index.walk import Tree
from podiumd.sessions.index.walk import walk as walk_roots
from tests.sessions.support import append, companion, find, lines, read, session_id

A = session_id(1)


def file(number: int, path: str = "/p/-app", **facts: int) -> Found:
    name = session_id(number)
    plain = Found(name, "claude", f"{path}/{name}.jsonl", 1, number, size=10, mtime_ns=100)
    return replace(plain, **facts)


def knowing(*files: Found, companions: tuple[Companion, ...] = ()) -> Known:
    return Known(
        {one.path: (one.path, one.size, one.mtime_ns, one.ino, one.dev) for one in files},
        {one.path: (one.path, one.size, one.mtime_ns, one.session_id) for one in companions},
    )


ONE, TWO = file(1), file(2)
MOVED = file(1, "/p/-other")


def copy_of(mtime_ns: int) -> Found:
    """Another file of the first session."""
    return file(1, "/p/-copy", ino=9, mtime_ns=mtime_ns)


COMPARED = {
    "nothing has changed": (knowing(ONE, TWO), Tree([ONE, TWO]), Changes()),
    "a new file": (knowing(ONE), Tree([ONE, TWO]), Changes(read=[TWO])),
    **{
        f"another {fact}": (knowing(ONE, TWO), Tree([now, TWO]), Changes(read=[now]))
        for fact in ("size", "mtime_ns", "ino", "dev")
        for now in [replace(ONE, **{fact: 7})]
    },
    "one that could not be read is tried again": (
        *(knowing(file(1, mtime_ns=NEVER)), Tree([ONE]), Changes(read=[ONE])),
    ),
    "no file": (knowing(ONE, TWO), Tree([TWO]), Changes(vanished=[A])),
    "one comes, another goes": (*(knowing(ONE), Tree([TWO]), Changes(read=[TWO], vanished=[A])),),
    "renamed": (knowing(ONE), Tree([MOVED]), Changes(read=[MOVED])),
    **{
        f"not looked at: {place}": (knowing(ONE), Tree(unseen=[place]), Changes())
        for place in ("/p", "/p/-app", ONE.path)
    },
    "a place whose name begins the same hides nothing": (
        *(knowing(ONE), Tree(unseen=["/p/-ap", "/p/-app2"]), Changes(vanished=[A])),
    ),
    "a newer copy is read in place of the file": (
        *(knowing(ONE), Tree([ONE, copy_of(200)]), Changes(read=[copy_of(200)])),
    ),
    "an older copy is left": (knowing(ONE), Tree([copy_of(99), ONE]), Changes()),
    "one as old is left": (knowing(ONE), Tree([copy_of(100), ONE]), Changes()),
    "a copy is read once the file is gone": (
        *(knowing(ONE), Tree([copy_of(50)]), Changes(read=[copy_of(50)])),
    ),
    "of two new files the newer is read": (
        *(knowing(), Tree([copy_of(200), ONE]), Changes(read=[copy_of(200)])),
    ),
}


@pytest.mark.parametrize("what", COMPARED)
def test_what_is_read_and_what_has_vanished(what: str) -> None:
    known, found, changes = COMPARED[what]
    assert changed(known, found) == changes


def test_the_last_written_is_read_first() -> None:
    files = [file(1, mtime_ns=5), file(2, mtime_ns=9), file(3, mtime_ns=7)]
    assert [one.mtime_ns for one in changed(knowing(), Tree(files)).read] == [9, 7, 5]


# -- two files of one session --------------------------------------------------------------------


@pytest.fixture
def followed(transcript: Path) -> Row:
    transcript.write_bytes(lines(1, 2))
    return read(transcript).row


def copied(row: Row) -> Found:
    path = Path(row.path).parent.with_name("-copy") / Path(row.path).name
    path.parent.mkdir()
    path.write_bytes(lines(1, 1))
    return find(path)


def test_an_older_copy_is_known_as_one_unless_its_file_is_gone(followed: Row) -> None:
    copy, found = copied(followed), find(Path(followed.path))
    assert is_older_copy(replace(copy, mtime_ns=followed.mtime_ns), followed)
    assert not is_older_copy(replace(copy, mtime_ns=followed.mtime_ns + 1), followed)
    assert not is_older_copy(found, followed), "the same file"
    assert not is_older_copy(replace(found, path="/renamed"), followed)
    old = replace(copy, mtime_ns=0)
    assert not is_older_copy(old, replace(followed, gone=True))
    Path(followed.path).unlink()
    assert not is_older_copy(old, followed)


# -- companions ----------------------------------------------------------------------------------


def test_companions_that_are_new_changed_or_gone_are_told_and_those_not_looked_at_left() -> None:
    old, same, new = companion(1, size=1), companion(2), companion(3)
    found = changed(
        knowing(companions=(old, same)), Tree(companions=[companion(1, size=2), same, new])
    )
    assert found == Changes(companions=[companion(1, size=2), new])
    assert changed(knowing(companions=(old, same)), Tree([], [same])) == Changes(
        companions_gone=[old.path]
    )
    place = str(Path(old.path).parent)
    assert changed(knowing(companions=(old,)), Tree(unseen=[place])) == Changes()


# -- with the index and the disk -----------------------------------------------------------------


def test_only_what_grew_is_read_at_the_next_start(
    index: sqlite3.Connection, projects: Path, project: Path
) -> None:
    root = Root("claude", projects)
    paths = [project / f"{session_id(number)}.jsonl" for number in range(5)]
    for path in paths:
        path.write_bytes(lines(1, 3))
    first = changed(table.known(index), walk_roots([root]))
    assert len(first.read) == 5
    table.save(index, [read(path).row for path in paths])
    assert changed(table.known(index), walk_roots([root])) == Changes()
    append(paths[2], lines(4, 1))
    paths[4].unlink()
    found = changed(table.known(index), walk_roots([root]))
    assert [one.path for one in found.read] == [str(paths[2])]
    assert found.vanished == [session_id(4)]


@pytest.mark.parametrize("what", ["nothing", "grown", "moved", "copied", "older copy", "gone"])
def test_what_is_passed_over_as_it_is_known_changes_nothing_of_what_is_told(
    index: sqlite3.Connection, projects: Path, project: Path, what: str
) -> None:
    """The same as when all files are told, and then compared."""
    root, other = Root("claude", projects), projects / "-other"
    other.mkdir()
    for number in range(1, 4):
        path = project / f"{session_id(number)}.jsonl"
        path.write_bytes(lines(1, 3))
        helper = project / session_id(number) / "subagents" / "agent-1.jsonl"
        helper.parent.mkdir(parents=True)
        helper.write_bytes(b"{}\n")
    all_of_it = walk_roots([root])
    table.save(index, [read(Path(one.path)).row for one in all_of_it.sessions])
    table.save_companions(index, all_of_it.companions)
    of_the_last = project / session_id(3) / "subagents" / "agent-1.jsonl"
    path = project / f"{session_id(2)}.jsonl"
    written = path.stat().st_mtime_ns + {"copied": 10**9, "older copy": -(10**9)}.get(what, 0)
    match what:
        case "grown":
            append(path, lines(4, 1))
            append(of_the_last, b"{}\n")
        case "moved":
            path.rename(other / path.name)
        case "copied" | "older copy":
            (other / path.name).write_bytes(path.read_bytes())
            os.utime(other / path.name, ns=(written, written))
        case "gone":
            path.unlink()
            of_the_last.unlink()

    known = table.known(index)
    found = walk_roots([root], known)
    everything = walk_roots([root])
    assert changed(known, found) == changed(known, everything)
    assert len(found.same) == 3 - (what in {"grown", "moved", "gone"})
    assert len(found.same) + len(found.sessions) == len(everything.sessions)


# -- how much there is to read -------------------------------------------------------------------


def test_unread_is_what_the_files_have_grown_by() -> None:
    known = knowing(file(1, size=10), file(2, size=30))
    files = [file(1, size=15), file(2, size=20), file(3, size=7)]
    assert unread(known, files) == 5 + 0 + 7


@pytest.mark.parametrize(("much", "times"), [(1, 1), (200, 1), (301, 0)])
def test_that_much_is_found_is_told_once_and_early(tmp_path: Path, much: int, times: int) -> None:
    for number in range(1, 4):
        project = tmp_path / f"-app-{number}"
        project.mkdir()
        (project / f"{session_id(number)}.jsonl").write_bytes(b"." * 100)
    told: list[None] = []
    found, changes = look([Root("claude", tmp_path)], knowing(), much, lambda: told.append(None))
    assert len(told) == times
    assert len(found.sessions) == len(changes.read) == 3
    told.clear()
    look([Root("claude", tmp_path)], knowing(file(2)), much, lambda: told.append(None))
    assert told == [], "where sessions are known"
