"""What has changed since a commit: everything, bounded, and nothing of the repository's is run."""

from __future__ import annotations

import os
import subprocess
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.tools.diff import (
    MOST_CHARACTERS,
    edits_between,
    from_edits,
    lines_of,
    unified,
    visible,
)
from podiumd.tools.git import changes_since as module
from podiumd.tools.git.changes_since import ChangedFile, Changes, Part, as_added, changes_since
from podiumd.tools.git.passed_over import bounded, covers
from podiumd.tools.git.process import GitError
from tests.long import sampled
from tests.tools.git_repository import HOSTILE, begun, commit, make_repository, run_git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return begun(
        tmp_path / "repo",
        {
            "a.txt": "one\ntwo\nthree\n",
            "old.txt": "".join(f"line {n}\n" for n in range(20)),
            "gone.txt": "x\n",
            "run.sh": "echo\n",
        },
    )


def head(repository: Path) -> str:
    return run_git(repository, "rev-parse", "HEAD")


async def seen(repository: Path, base: str | None, **more: object) -> Changes:
    return await changes_since(str(repository), base, head(repository), **more)  # type: ignore[arg-type]


def told(part: Part) -> dict[str, tuple[object, ...]]:
    return {one.path: (one.change, one.added, one.deleted) for one in part.files}


async def test_commits_and_uncommitted_work_are_told_apart(repository: Path) -> None:
    base = head(repository)
    (repository / "a.txt").write_text("one\n2\nthree\n")
    run_git(repository, "mv", "old.txt", "new.txt")
    (repository / "gone.txt").unlink()
    (repository / "logo.png").write_bytes(b"\0\1\2")
    (repository / "run.sh").chmod(0o755)
    commit(repository, "Do it")
    (repository / "a.txt").write_text("one\n2\nthree\nfour\n")
    (repository / "fresh.txt").write_text("a\nb")
    (repository / "data.bin").write_bytes(b"\0")
    (repository / "sub").mkdir()
    (repository / "sub" / "staged.txt").write_text("x\n")
    run_git(repository, "add", "sub/staged.txt")

    changes = await seen(repository, base)

    assert [one.subject for one in changes.commits] == ["Do it"]
    assert (changes.base, changes.head, changes.rewritten) == (base, head(repository), False)
    assert told(changes.committed) == {
        "a.txt": ("modified", 1, 1),
        "gone.txt": ("deleted", 0, 1),
        "logo.png": ("added", None, None),
        "new.txt": ("renamed", 0, 0),
        "run.sh": ("modified", 0, 0),
    }
    [moved] = [one for one in changes.committed.files if one.path == "new.txt"]
    [made] = [one for one in changes.committed.files if one.path == "run.sh"]
    assert (moved.before, made.mode) == ("old.txt", "100755")
    assert told(changes.uncommitted) == {
        "a.txt": ("modified", 1, 0),
        "data.bin": ("added", None, None),
        "fresh.txt": ("added", 2, 0),
        "sub/staged.txt": ("added", 1, 0),
    }
    assert (
        "-two\n+2\n" in changes.committed.patch and "rename from old.txt" in changes.committed.patch
    )
    assert "+four\n" in changes.uncommitted.patch
    assert "+a\n+b\n\\ No newline at end of file\n" in changes.uncommitted.patch


async def test_the_patch_is_one_that_git_applies(repository: Path, tmp_path: Path) -> None:
    base = head(repository)
    (repository / "a.txt").write_text("one\nzwei\nthree\n")
    (repository / 'na"me\n.txt').write_text("odd")
    (repository / "empty").write_text("")
    part = (await seen(repository, base)).uncommitted
    run_git(repository, "stash", "-u")
    subprocess.run(
        ["git", "-C", str(repository), "apply", "-"], input=part.patch.encode(), check=True
    )
    assert (repository / "a.txt").read_text() == "one\nzwei\nthree\n"
    assert (repository / 'na"me\n.txt').read_text() == "odd"
    assert (repository / "empty").read_text() == ""


async def test_a_branch_that_had_no_commit_and_one_that_was_rewritten(repository: Path) -> None:
    changes = await seen(repository, None)
    assert len(changes.committed.files) == 4 and not changes.rewritten
    (repository / "a.txt").write_text("x")
    base = commit(repository, "second")
    run_git(repository, "reset", "-q", "--hard", "HEAD~1")
    (repository / "b.txt").write_text("x")
    commit(repository, "other")
    changes = await seen(repository, base)
    assert changes.rewritten and [one.subject for one in changes.commits] == ["other"]


async def test_long_subjects_are_cut_and_what_git_does_not_cut_is_counted(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = head(repository)
    for subject in ("short", "\u0301" * 3000, "x" * 3000):
        place = repository.parent / "subject"
        place.write_text(subject)
        run_git(repository, "commit", "-q", "--allow-empty", "-F", f"{place}")
    made = await seen(repository, base)
    assert [one.subject for one in made.commits] == ["x" * 998 + "..", "\u0301" * 1000, "short"]

    monkeypatch.setattr(module, "MOST_COMMITS", 3)
    monkeypatch.setattr(module, "COMMIT_BYTES", 1000)
    made = await seen(repository, base)
    whole, part = (len(one.subject) for one in made.commits)
    assert whole == 1000 and 0 < part < 1000 and made.more_commits == 1


async def test_a_tree_without_any_commit_has_new_files_only(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "bare of commits")
    (repository / "a.txt").write_text("x\n")
    changes = await changes_since(str(repository), None, None)
    assert told(changes.uncommitted) == {"a.txt": ("added", 1, 0)} and changes.commits == []


async def test_names_may_be_anything(repository: Path) -> None:
    base = head(repository)
    for name in HOSTILE:
        (repository / os.fsdecode(name)).write_text("x\n")
    (repository / os.fsdecode(HOSTILE[0])).write_text("tracked\n")
    run_git(repository, "add", "--", os.fsdecode(HOSTILE[0]), os.fsdecode(HOSTILE[1]))
    changes = await seen(repository, base)
    named = {name.decode("utf-8", "backslashreplace") for name in HOSTILE}
    assert {one.path for one in changes.uncommitted.files} == named


async def test_only_what_counts_is_told(repository: Path) -> None:
    base = head(repository)
    for name in ("a.txt", "old.txt", "mine", "theirs"):
        (repository / name).write_text("changed\n")
    changes = await seen(
        repository, base, counts=lambda paths: [p for p in paths if p in ("a.txt", "theirs")]
    )
    assert list(told(changes.uncommitted)) == ["a.txt", "theirs"]
    assert "old.txt" not in changes.uncommitted.patch and "mine" not in changes.uncommitted.patch


async def test_a_touched_file_has_not_changed(repository: Path) -> None:
    base = head(repository)
    os.utime(repository / "a.txt", (1, 1))
    assert (await seen(repository, base)).uncommitted == Part()


async def test_links_pipes_and_long_files_are_named_and_not_read(repository: Path) -> None:
    base = head(repository)
    secret = repository.parent / "secret"
    secret.write_text("do not tell")
    (repository / "link").symlink_to(secret)
    os.mkfifo(repository / "pipe")
    (repository / "long").write_bytes(b"x" * (module._FILE_BYTES + 1))
    part = (await seen(repository, base)).uncommitted
    assert {"link", "long"} <= {one.path for one in part.files}
    assert "do not tell" not in part.patch and part.cut


async def test_all_of_it_is_bounded(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = head(repository)
    for bound, most in (("MOST_COMMITS", 2), ("MOST_FILES", 3), ("MOST_PATCH_BYTES", 400)):
        monkeypatch.setattr(module, bound, most)
    for number in range(4):
        (repository / f"f{number}").write_text("line\n" * 100)
        commit(repository, f"number {number}")
        (repository / f"u{number}").write_text("line\n" * 100)
        run_git(repository, "reset", "-q")
    (repository / "a.txt").write_text("x\n" * 1000)
    changes = await seen(repository, base)
    assert (len(changes.commits), changes.more_commits) == (2, 2)
    assert changes.commits[0].subject == "number 3"
    assert (len(changes.committed.files), changes.committed.cut) == (3, True)
    assert changes.committed.more >= 1 and len(changes.committed.patch) <= 400
    assert (len(changes.uncommitted.files), changes.uncommitted.cut) <= (3, True)
    assert len(changes.uncommitted.patch) <= 800
    monkeypatch.setattr(module, "_LISTING_BYTES", 10)
    with pytest.raises(GitError, match="more has changed than can be listed"):
        await seen(repository, base)


@pytest.mark.parametrize(
    ("room", "names", "more"),
    [
        (9, ["aaa", "bbb"], 1),
        (8, ["aaa", "bbb"], 1),
        (11, ["aaa", "bbb"], 1),
        (12, ["aaa", "bbb", "ccc"], 0),
    ],
)
async def test_of_too_many_new_files_none_is_named_by_half_and_more_are_told_of(
    repository: Path, monkeypatch: pytest.MonkeyPatch, room: int, names: list[str], more: int
) -> None:
    for name in ("aaa", "bbb", "ccc"):
        (repository / name).write_text("new\n")
    monkeypatch.setattr(module, "_LISTING_BYTES", room)
    part = (await seen(repository, head(repository))).uncommitted
    assert ([file.path for file in part.files], part.more) == (names, more)


async def test_a_git_that_does_not_answer_in_time_is_given_up(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LIMIT_SECONDS", 0.0)
    with pytest.raises(GitError, match="did not tell within"):
        await seen(repository, head(repository))


async def test_without_patches_there_are_names_and_numbers(repository: Path) -> None:
    base = head(repository)
    (repository / "a.txt").write_text("x")
    commit(repository, "second")
    (repository / "a.txt").write_text("y")
    changes = await seen(repository, base, patch=False)
    assert (changes.committed.patch, changes.uncommitted.patch) == ("", "")
    assert told(changes.committed) and told(changes.uncommitted)
    changes = await seen(repository, base, uncommitted=False)
    assert changes.uncommitted == Part()


async def test_a_conflict_is_one_file(repository: Path) -> None:
    run_git(repository, "checkout", "-q", "-b", "other")
    (repository / "a.txt").write_text("theirs\n")
    commit(repository, "theirs")
    run_git(repository, "checkout", "-q", "main")
    (repository / "a.txt").write_text("ours\n")
    commit(repository, "ours")
    with pytest.raises(subprocess.CalledProcessError):
        run_git(repository, "merge", "other")
    changes = await seen(repository, head(repository))
    assert [(one.path, one.change) for one in changes.uncommitted.files] == [("a.txt", "conflict")]


PROGRAMS = (
    "filter.x.clean", "filter.x.process", "diff.x.command", "diff.x.textconv", "diff.external",
    "core.fsmonitor", "core.pager", "pager.diff-index", "core.sshCommand",
)  # fmt: skip


@pytest.mark.parametrize("setting", sampled(PROGRAMS))
async def test_no_program_of_the_repository_runs(
    repository: Path, tmp_path: Path, setting: str
) -> None:
    canary = tmp_path / "canary"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {canary}\ncat\n")
    script.chmod(0o755)
    base = head(repository)
    (repository / "a.txt").write_text("committed\n")
    commit(repository, "second")
    (repository / "a.txt").write_text("x\n")
    (repository / "new.txt").write_text("x\n")
    (repository / ".gitattributes").write_text("* filter=x diff=x\n")
    run_git(repository, "config", setting, str(script))
    run_git(repository, "config", "log.showSignature", "true")
    changes = await seen(repository, base)
    assert "-committed\n+x\n" in changes.uncommitted.patch
    assert "-two" in changes.committed.patch
    assert not canary.exists()


async def test_what_is_not_there_is_fetched_from_nowhere(repository: Path, tmp_path: Path) -> None:
    """A repository that is a part of another says where the rest is, and by which program."""
    canary = tmp_path / "canary"
    base = head(repository)
    (repository / "a.txt").write_text("x\n")
    commit(repository, "second")
    blob = run_git(repository, "rev-parse", f"{base}:a.txt")
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::sh -c touch% {canary}",
        "protocol.ext.allow": "always",
    }.items():
        run_git(repository, "config", key, value)
    with pytest.raises(GitError):
        await seen(repository, base)
    assert not canary.exists()


def test_a_new_file_s_patch_has_its_lines() -> None:
    one, patch = as_added(b"a b", b"x\ny\n")
    assert one == ChangedFile(path="a b", change="added", added=2, deleted=0)
    assert patch.endswith(b"--- /dev/null\n+++ b/a b\n@@ -0,0 +1,2 @@\n+x\n+y\n")
    assert as_added(b"z", b"\0")[1].endswith(b"Binary files /dev/null and b/z differ\n")


# -- what git passes over in a tree is remembered, as its directories where it is too much ---


@pytest.mark.parametrize("path", ["a.log", "kept/x", "kept/deep/x", "deep/kept/x"])
def test_a_path_is_covered_by_its_name_and_by_each_directory_above(path: str) -> None:
    assert covers(["a.log", "kept/", "deep/kept/"], path)
    assert covers(["/"], path)


@pytest.mark.parametrize("path", ["b.log", "sub/a.log", "kept", "deep/x", "keptx/y"])
def test_another_is_not(path: str) -> None:
    assert not covers(["a.log", "kept/", "deep/kept/"], path)
    assert not covers([], path)


def test_more_than_are_remembered_are_told_by_directories_that_cover_them_all() -> None:
    there = ["a/b/1.log", "a/b/2.log", "a/c/", "d/e/3.log", "4.log"]

    assert bounded(there) == sorted(there)
    assert bounded(there, 4) == ["4.log", "a/b/", "a/c/", "d/e/"]
    assert bounded(there, 3) == ["4.log", "a/", "d/"]
    assert bounded(there, 2) == ["/"]
    assert bounded([], 2) == []


# -- diffs are what ``patch`` understands, and show what would be hidden ---------------------


LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b""]), max_size=30)


@given(LINES, LINES)
def test_edits_turn_the_one_into_the_other(old: list[bytes], new: list[bytes]) -> None:
    result = list(old)
    for edit in reversed(edits_between(old, new)):
        result[edit.first : edit.end] = edit.lines[:]

    assert result == new


@pytest.mark.slow
def test_the_system_applies_our_diffs(tmp_path: Path) -> None:
    old = "".join(f"line {number}\n" for number in range(100)).encode()
    news = [
        old.replace(b"line 5\n", b"five\n"),
        b"first\n" + old + b"last\n",
        old.replace(b"line 10\n", b"").replace(b"line 50\n", b"x\ny\n").replace(b"line 57\n", b""),
        old[:-1],
        b"",
        b"only",
    ]
    for new in news:
        (tmp_path / "f").write_bytes(old)
        subprocess.run(
            ["git", "apply", "--unidiff-zero", "-"],
            cwd=tmp_path, input=unified("f", old, new).encode(), check=True, capture_output=True,
        )  # fmt: skip
        assert (tmp_path / "f").read_bytes() == new


def test_a_long_stretch_is_shown_whole_and_a_long_diff_is_cut() -> None:
    old = b"".join(b"%d\n" % number for number in range(20_000))
    new = b"".join(b"%d!\n" % number for number in range(20_000))

    text = unified("f", old, new)

    assert len(text) < MOST_CHARACTERS + 200
    assert text.endswith("[the rest of the diff is not shown: it is too long]\n")


def test_nothing_changed_is_an_empty_diff() -> None:
    assert unified("f", b"a\n", b"a\n") == ""


def test_what_a_terminal_acts_on_is_shown_as_an_escape() -> None:
    text = unified("f", None, b"a\x1b[2Jb\r\n\xe2\x80\xaec\td\xff\n")

    assert "+a\\x1b[2Jb\\x0d\n+\\u202ec\td\ufffd\n" in text
    assert visible("a\nb\x00") == "a\\x0ab\\x00"


def test_lines_are_kept_with_their_ends() -> None:
    assert lines_of(b"") == []
    assert lines_of(b"a\r\nb") == [b"a\r\n", b"b"]
    assert lines_of(b"\n\n") == [b"\n", b"\n"]


def test_what_nobody_can_see_is_shown_in_lines_and_in_names() -> None:
    unseen = ("\u00ad", "\u200b", "\u2060", "\u2069", "\ufffa", "\U000e0041", "\U000e0100")
    for one in unseen:
        text = unified(f"a{one}.py", None, f"x{one}y\n".encode())
        assert one not in text and text.count(one.encode("unicode_escape").decode()[1:]) == 2, text


@given(
    st.lists(st.sampled_from([b"a", b"b", b"\n", b"\r\n"]), max_size=40).map(b"".join), st.data()
)
def test_a_diff_of_whole_texts_is_that_of_their_lines(old: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(old)))
    new = old[:cut] + data.draw(st.sampled_from([b"", b"x", b"x\n", b"\n"])) + old[cut:]

    text = unified("f", old, new)

    assert text == from_edits("f", lines_of(old), edits_between(lines_of(old), lines_of(new)))


@pytest.mark.parametrize("old", sampled([b"\n" * 1024 * 1024, None, b"a\n" * 5]))
def test_a_file_of_nothing_but_line_ends_costs_no_more_than_its_bytes(old: bytes | None) -> None:
    new = b"first\n" + b"\n" * 1024 * 1024 + b"last\n"
    tracemalloc.start()
    try:
        text = unified("f", old, new)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(text) < MOST_CHARACTERS + 200
    assert text.endswith("[the rest of the diff is not shown: it is too long]\n")
    assert most < 4 * 1024 * 1024


def test_a_line_that_is_too_long_to_be_shown_is_not_read_to_its_end() -> None:
    text = unified("f", b"short\n", "é".encode() * 1024 * 1024 + b"\n")

    assert text.splitlines()[2:] == [
        "@@ -1,1 +1,1 @@",
        "-short",
        "[the rest of the diff is not shown: it is too long]",
    ]
