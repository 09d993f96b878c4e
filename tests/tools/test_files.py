"""Changes of text files are planned, shown and done, and reading tells what a patch needs."""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
import shutil
import stat
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Final, TypeVar

import pytest
import trio

from podiumd.core.reply.patch import BOM
from podiumd.tools.agent.edit import MOST_SHOWN_BYTES, do_plan, plan_patch, plan_write, read_text
from podiumd.tools.agent.workspace import Changed, Refused, Workspace
from podiumd.tools.commit.originals import Originals
from podiumd.tools.confine.places import PLACED, is_own_worktree, is_placed, places_for
from podiumd.tools.files.believed import fault_of
from podiumd.tools.files.plain_file import read_plain
from podiumd.tools.files.private_file import write_private
from podiumd.tools.git import queries as git
from podiumd.tools.git.nested_repositories import RepositoryLook
from podiumd.tools.git.pinned_settings import repository_at
from podiumd.tools.git.queries import GitError
from podiumd.tools.git.worktree_remains import is_unfinished
from podiumd.tools.sandbox.boundary import Boundary, tidy
from tests.patience import HANG_SECONDS
from tests.tools.git_repository import begun, make_repository, run_git


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\nthree\n")
    return Workspace(tmp_path)


def test_lines_are_numbered_from_one_below_a_head(workspace: Workspace) -> None:
    sha = digest(b"one\ntwo\nthree\n")

    assert read_text(workspace, "a.txt") == (
        f"a.txt: lines 1 to 3 of 3, sha256 {sha}\n1\tone\n2\ttwo\n3\tthree\n"
    )
    assert (
        read_text(workspace, "a.txt", 2, 2) == f"a.txt: lines 2 to 2 of 3, sha256 {sha}\n2\ttwo\n"
    )
    assert read_text(workspace, "a.txt", 3, 99).endswith("\n3\tthree\n")


@pytest.mark.parametrize(("first", "last"), [(4, None), (0, 1), (3, 2), (-1, -1)])
def test_a_range_without_lines_is_refused(
    workspace: Workspace, first: int, last: int | None
) -> None:
    with pytest.raises(Refused, match="has 3 lines"):
        read_text(workspace, "a.txt", first, last)


def test_what_is_special_about_a_file_is_told(tmp_path: Path, workspace: Workspace) -> None:
    (tmp_path / "crlf").write_bytes(b"one\r\ntwo")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "latin").write_bytes(b"caf\xe9\n")

    assert read_text(workspace, "crlf") == (
        f"crlf: lines 1 to 2 of 2, sha256 {digest(b'one' + bytes([13, 10]) + b'two')}; "
        "no newline at the end; line ends are CRLF\n1\tone\n2\ttwo\n"
    )
    assert read_text(workspace, "empty") == f"empty: empty, 0 lines, sha256 {digest(b'')}\n"
    assert read_text(workspace, "latin").endswith("1\tcaf\ufffd\n")


def test_a_binary_file_is_told_and_not_shown(tmp_path: Path, workspace: Workspace) -> None:
    data = b"\x7fELF\0\1"
    (tmp_path / "b").write_bytes(data)

    with pytest.raises(Refused, match=f"'b' is binary: 6 bytes, sha256 {digest(data)}"):
        read_text(workspace, "b")


@pytest.mark.parametrize(
    "data", [b"a\0b\n", "\u6f22\n".encode("utf-16"), b"\xfe\xff" + "\u6f22".encode("utf-16-be")]
)
def test_what_is_not_shown_is_not_patched_either(
    tmp_path: Path, workspace: Workspace, data: bytes
) -> None:
    (tmp_path / "b").write_bytes(data)

    with pytest.raises(Refused, match=r"'b' is binary: .*; it cannot be shown as text"):
        read_text(workspace, "b")
    with pytest.raises(Refused, match=r"'b' is binary: .*; it cannot be patched as text"):
        plan_patch(workspace, "b", [{"line": 1, "type": "delete"}])


def test_a_byte_order_mark_stays_first_and_is_told(tmp_path: Path, workspace: Workspace) -> None:
    (tmp_path / "b").write_bytes(BOM + b"a\nb\n")

    text = read_text(workspace, "b")
    assert "a byte order mark stands before line 1, and stays" in text.partition("\n")[0]
    assert text.endswith("\n1\ta\n2\tb\n")
    patch = plan_patch(workspace, "b", [{"line": 1, "type": "insert", "content": ["X"]}])
    assert patch.data == BOM + b"X\na\nb\n"
    assert patch.diff.splitlines()[3:] == ["+X", " a", " b"]
    assert plan_write(workspace, "b", "new\n").data == BOM + b"new\n"
    assert plan_write(workspace, "b", "\ufeffnew\n").data == BOM + b"new\n"


def test_a_huge_file_is_shown_in_parts(tmp_path: Path, workspace: Workspace) -> None:
    (tmp_path / "huge").write_bytes(b"".join(b"%07d\n" % number for number in range(100_000)))
    (tmp_path / "wide").write_bytes(b"x" * 1_000_000 + b"\nlast\n")

    text = read_text(workspace, "huge")
    head = text.partition("\n")[0]
    shown_to = int(head.split(" to ")[1].split()[0])

    assert len(text) < 2 * MOST_SHOWN_BYTES
    assert f"cut for its size: read on from line {shown_to + 1}" in head
    assert (
        read_text(workspace, "huge", shown_to + 1).splitlines()[1].startswith(f"{shown_to + 1}\t")
    )
    assert "bytes of this line left out]" in read_text(workspace, "wide")
    assert read_text(workspace, "wide", 2).endswith("2\tlast\n")


def test_a_plan_to_write_changes_nothing_yet(tmp_path: Path, workspace: Workspace) -> None:
    plan = plan_write(workspace, "a.txt", "one\nTWO\nthree\n")
    created = plan_write(workspace, "new/b.txt", "x\n")

    assert (plan.kind, plan.path, plan.original) == ("modified", "a.txt", b"one\ntwo\nthree\n")
    assert (plan.before, plan.after) == (digest(b"one\ntwo\nthree\n"), digest(plan.data))
    assert plan.diff == ("--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n")
    assert (created.kind, created.before) == ("created", None)
    assert created.diff == "--- /dev/null\n+++ b/new/b.txt\n@@ -0,0 +1,1 @@\n+x\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]

    do_plan(workspace, plan)
    do_plan(workspace, created)
    assert (tmp_path / "a.txt").read_bytes() == b"one\nTWO\nthree\n"
    assert (tmp_path / "new/b.txt").read_bytes() == b"x\n"


def test_a_plan_is_not_done_to_another_file(tmp_path: Path, workspace: Workspace) -> None:
    plan = plan_write(workspace, "a.txt", "new\n")
    (tmp_path / "a.txt").write_bytes(b"meanwhile\n")

    with pytest.raises(Changed):
        do_plan(workspace, plan)
    assert (tmp_path / "a.txt").read_bytes() == b"meanwhile\n"


def test_what_is_so_already_is_no_change(tmp_path: Path, workspace: Workspace) -> None:
    plan = plan_write(workspace, "a.txt", "one\ntwo\nthree\n")
    before = (tmp_path / "a.txt").stat()

    do_plan(workspace, plan)

    assert (plan.kind, plan.diff) == ("unchanged", "")
    assert (tmp_path / "a.txt").stat().st_ino == before.st_ino


def test_line_ends_of_a_file_stay_when_it_is_written_anew(
    tmp_path: Path, workspace: Workspace
) -> None:
    (tmp_path / "crlf").write_bytes(b"one\r\ntwo\r\n")
    (tmp_path / "mixed").write_bytes(b"one\r\ntwo\n")

    assert plan_write(workspace, "crlf", "1\n2\n").data == b"1\r\n2\r\n"
    assert plan_write(workspace, "crlf", "1\r\n2\n").data == b"1\r\n2\n"
    assert plan_write(workspace, "mixed", "1\n2\n").data == b"1\n2\n"


def test_content_that_is_no_text_is_refused(workspace: Workspace) -> None:
    with pytest.raises(Refused, match="not valid Unicode"):
        plan_write(workspace, "a.txt", "\ud800")


def test_a_patch_is_shown_as_what_it_changes(tmp_path: Path, workspace: Workspace) -> None:
    (tmp_path / "long").write_bytes(b"".join(b"%d\n" % number for number in range(1, 31)))
    plan = plan_patch(
        workspace,
        "long",
        [
            {"line": 30, "type": "replace", "content": ["thirty"]},
            {"line": 1, "type": "insert", "content": ["zero", "half"]},
            {"line": 2, "type": "delete", "end_line": 3},
        ],
    )

    assert plan.diff == (
        "--- a/long\n+++ b/long\n"
        "@@ -1,6 +1,6 @@\n+zero\n+half\n 1\n-2\n-3\n 4\n 5\n 6\n"
        "@@ -27,4 +27,4 @@\n 27\n 28\n 29\n-30\n+thirty\n"
    )
    do_plan(workspace, plan)
    assert (tmp_path / "long").read_bytes().startswith(b"zero\nhalf\n1\n4\n")


def test_the_shown_end_of_a_file_without_newline_is_true(
    tmp_path: Path, workspace: Workspace
) -> None:
    (tmp_path / "open").write_bytes(b"one\ntwo")

    plan = plan_patch(workspace, "open", [{"line": 3, "type": "insert", "content": ["three"]}])

    assert plan.data == b"one\ntwo\nthree"
    assert plan.diff.splitlines()[3:] == [
        " one",
        "-two",
        "\\ No newline at end of file",
        "+two",
        "+three",
        "\\ No newline at end of file",
    ]


def test_a_patch_that_does_not_fit_is_refused_with_its_reason(workspace: Workspace) -> None:
    with pytest.raises(Refused, match=r"the patch of 'a\.txt' is refused: .*line 9"):
        plan_patch(workspace, "a.txt", [{"line": 9, "type": "delete"}])
    with pytest.raises(Refused, match="read it again"):
        plan_patch(workspace, "a.txt", [{"line": 1, "type": "delete"}], base="0" * 64)
    with pytest.raises(Refused, match="there is no file"):
        plan_patch(workspace, "nope", [{"line": 1, "type": "delete"}])


def test_a_file_of_nothing_but_lines_costs_no_memory_to_speak_of(tmp_path: Path) -> None:
    (tmp_path / "many").write_bytes(b"\n" * (8 * 1024 * 1024))
    workspace = Workspace(tmp_path)
    tracemalloc.start()
    try:
        text = read_text(workspace, "many", first=1000)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    head, *body = text.splitlines()
    assert head.startswith(f"many: lines 1000 to {999 + len(body)} of 8388608, sha256 ")
    assert f"read on from line {1000 + len(body)}" in head and len(body) == 16384
    assert most < 40 * 1024 * 1024


# -- what is no plain file, where git has one: nobody waits for it, and it is not read for ever


T = TypeVar("T")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_directory(path: Path) -> None:
    path.mkdir()


def a_huge_one(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**32)


Kind = Callable[[Path], None]

KINDS: Final = (a_pipe, a_device, a_directory, a_huge_one)

of_each_kind = pytest.mark.parametrize("kind", KINDS)


async def in_time(look: Callable[[], T]) -> T:
    with trio.fail_after(HANG_SECONDS):
        return await trio.to_thread.run_sync(look, abandon_on_cancel=True)


def put(kind: Kind, path: Path) -> None:
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    kind(path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository, with a worktree beside it."""
    top = begun(tmp_path / "project", {"a.txt": "a\n"})
    run_git(top, "worktree", "add", "-q", "-b", "side", f"{tmp_path}/side")
    return top


def test_a_plain_file_is_read_and_a_link_only_where_wanted(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")

    assert read_plain(tmp_path / "file", 5) == b"12345"
    assert read_plain(tmp_path / "link", 5, links=True) == b"12345"
    with pytest.raises(OSError, match="more than 4 bytes"):
        read_plain(tmp_path / "file", 4)
    with pytest.raises(OSError, match="symbolic links"):
        read_plain(tmp_path / "link", 5)


@of_each_kind
async def test_anything_else_is_an_error(tmp_path: Path, kind: Kind) -> None:
    kind(tmp_path / "x")
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208

    for links in (False, True):
        with pytest.raises(
            OSError, match=r"no plain file|more than 10|symbolic links|Is a directory"
        ):
            await in_time(partial(read_plain, tmp_path / "x", 10, links=links))

    assert len(os.listdir("/dev/fd")) == before  # noqa: PTH208


@of_each_kind
async def test_what_a_command_leaves_as_a_repository_is_tidied(project: Path, kind: Kind) -> None:
    for name in (".git", ".git/HEAD", ".git/config", ".git/commondir"):
        put(kind, project / "x" / name)
        boundary = Boundary(root=f"{project}", repositories=(f"{project}/.git",))

        done = await in_time(partial(tidy, boundary, RepositoryLook(project)))

        assert done.removed == (f"{project}/x/.git",), name
        assert not os.path.lexists(project / "x/.git")


@of_each_kind
async def test_a_sandbox_is_planned_around_it(tmp_path: Path, kind: Kind) -> None:
    for name in (".git", ".git/config", ".git/commondir", ".git/config.worktree"):
        top = tmp_path / name.replace("/", "-")
        if name != ".git":
            make_repository(top)
        put(kind, top / name)

        await in_time(partial(places_for, top, home=tmp_path / "home", closed=[], environ={}))


@of_each_kind
async def test_a_worktree_without_a_plain_record_or_link_is_none(project: Path, kind: Kind) -> None:
    side, common = project.parent / "side", [project / ".git"]
    assert is_own_worktree(side / ".git", common)
    for name in ("gitdir", "commondir"):
        record = project / ".git/worktrees/side" / name
        before = record.read_bytes()
        put(kind, record)
        assert not await in_time(lambda: is_own_worktree(side / ".git", common)), name
        shutil.rmtree(record) if record.is_dir() else record.unlink()
        record.write_bytes(before)
    assert await git.is_worktree(f"{project}", f"{side}")

    put(kind, side / ".git")

    assert not await in_time(lambda: is_unfinished(f"{side}"))
    assert not await in_time(lambda: trio.run(git.is_worktree, f"{project}", f"{side}"))
    again = partial(git.add_worktree, f"{project}", f"{side}", "side")
    with pytest.raises(GitError):
        await in_time(lambda: trio.run(again))


@of_each_kind
async def test_a_lock_of_a_worktree_that_is_no_file_says_nothing(project: Path, kind: Kind) -> None:
    side = project.parent / "side"
    put(kind, project / ".git/worktrees/side/locked")

    assert not await in_time(lambda: is_unfinished(f"{side}"))
    assert await in_time(lambda: trio.run(git.is_worktree, f"{project}", f"{side}"))


@of_each_kind
async def test_it_is_no_placeholder_of_ours(tmp_path: Path, kind: Kind) -> None:
    for name in PLACED:
        kind(tmp_path / name)
        assert not await in_time(partial(is_placed, tmp_path / name))


async def test_a_link_with_a_nul_in_it_leads_nowhere(project: Path) -> None:
    side = project.parent / "side"
    (side / ".git").write_bytes(b"gitdir: a\0b\n")

    assert not is_own_worktree(side / ".git", [project / ".git"])
    assert is_unfinished(f"{side}")
    assert not await git.is_worktree(f"{project}", f"{side}")


LEADS_NOWHERE: Final = "b" * 300
"""No file system has such a name: to look at one is an error, not an absence."""


async def test_a_link_to_a_name_that_none_can_have_is_no_repository(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "below").mkdir(parents=True)
    (tree / ".git").symlink_to(LEADS_NOWHERE)
    for place in (tree, tree / "below"):
        assert repository_at(f"{place}") is None
        assert await git.top_level(place) is None
    told = places_for(tree, home=tmp_path / "home", closed=[], environ={})
    assert isinstance(told, str) and "'.git' is a link there" in told
    assert not is_unfinished(f"{tmp_path / LEADS_NOWHERE}")
    (tree / ".git").unlink()
    (tree / ".git").write_text(f"gitdir: {LEADS_NOWHERE}\n")
    assert repository_at(f"{tree}") is None
    assert is_unfinished(f"{tree}")


# -- files for the user's own eyes -----------------------------------------------------------


@pytest.fixture
def careless() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("careless")
@pytest.mark.parametrize("before", [None, "open", "link"])
def test_a_private_file_is_closed_to_others_whatever_stood_there(
    tmp_path: Path, before: str | None
) -> None:
    path, elsewhere = tmp_path / "file", tmp_path / "elsewhere"
    elsewhere.write_text("theirs")
    if before == "open":
        path.write_text("old")
    elif before == "link":
        path.symlink_to(elsewhere)

    write_private(path, "ours \ud800")

    assert path.read_text() == "ours ?"
    assert path.lstat().st_mode & 0o7777 == 0o600
    assert elsewhere.read_text() == "theirs"


# -- contents are found again by their digests, whole or not at all --------------------------


def test_a_content_is_kept_once_and_found(tmp_path: Path) -> None:
    originals = Originals(tmp_path / "a/b")

    digest = originals.keep(b"data")

    assert digest == originals.keep(b"data") == hashlib.sha256(b"data").hexdigest()
    assert originals.get(digest) == b"data"
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == [digest]
    assert (tmp_path / "a/b" / digest).stat().st_mode & 0o777 == 0o600


def test_what_is_missing_or_damaged_is_not_found(tmp_path: Path) -> None:
    originals = Originals(tmp_path)
    digest = originals.keep(b"data")
    (tmp_path / digest).write_bytes(b"dat")

    assert originals.get(digest) is None
    assert originals.get("0" * 64) is None


# -- whose words are believed: a file that nobody else can have written ----------------------


ADA, EVE, ROOT = 1000, 1001, 0

OWN_GROUP, STAFF, WHEEL = 1000, 50, 10

FILE, DIRECTORY, DEVICE, PIPE = stat.S_IFREG, stat.S_IFDIR, stat.S_IFCHR, stat.S_IFIFO


@pytest.fixture
def accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {ADA: "ada", EVE: "eve", ROOT: "root"}
    groups = {OWN_GROUP: ("ada", ["ada"]), STAFF: ("staff", []), WHEEL: ("ada", ["ada", "eve"])}
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: SimpleNamespace(pw_name=names[uid]))
    monkeypatch.setattr(
        grp,
        "getgrgid",
        lambda gid: SimpleNamespace(gr_name=groups[gid][0], gr_mem=groups[gid][1]),
    )


def found(kind: int, mode: int, uid: int = ADA, gid: int = STAFF) -> os.stat_result:
    return os.stat_result((kind | mode, 0, 0, 1, uid, gid, 0, 0, 0, 0))


@pytest.mark.usefixtures("accounts")
@pytest.mark.parametrize(
    "status",
    [
        found(FILE, 0o600),
        found(FILE, 0o644),
        found(FILE, 0o644, ROOT),
        found(FILE, 0o664, gid=OWN_GROUP),
        found(DIRECTORY, 0o755),
        found(DIRECTORY, 0o775, gid=OWN_GROUP),
        found(DIRECTORY, 0o1777, ROOT),
        found(DEVICE, 0o666, ROOT),
        found(PIPE, 0o600),
    ],
)
def test_what_only_the_user_or_root_can_write_is_believed(status: os.stat_result) -> None:
    assert fault_of(status, ADA) is None


@pytest.mark.usefixtures("accounts")
@pytest.mark.parametrize(
    ("status", "why"),
    [
        (found(FILE, 0o600, EVE), "belongs to user 1001"),
        (found(DIRECTORY, 0o1777, EVE), "belongs to user 1001"),
        (found(FILE, 0o666), "everybody can write to it (mode 666)"),
        (found(FILE, 0o1666), "everybody can write to it"),
        (found(FILE, 0o602, ROOT), "everybody can write to it"),
        (found(DIRECTORY, 0o777), "everybody can write to it (mode 777)"),
        (found(PIPE, 0o666), "everybody can write to it"),
        (found(FILE, 0o664), "its group staff can write to it (mode 664)"),
        (found(DIRECTORY, 0o775, gid=WHEEL), "its group ada can write to it"),
        (found(FILE, 0o664, gid=777), "its group 777 can write to it"),
        (found(FILE, 0o664, ROOT, OWN_GROUP + 1), "its group 1001 can write to it"),
    ],
)
def test_what_others_can_write_is_refused_with_a_reason(status: os.stat_result, why: str) -> None:
    fault = fault_of(status, ADA)
    assert fault is not None and why in fault


@pytest.mark.usefixtures("accounts")
def test_a_user_without_an_account_has_no_group_of_its_own() -> None:
    assert fault_of(found(FILE, 0o664, 4242, OWN_GROUP), 4242) is not None
