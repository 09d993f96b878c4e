"""Changes of text files are planned, shown and done, and reading tells what a patch needs."""

import hashlib
import tracemalloc
from pathlib import Path

import pytest

from podiumd.core.reply.patch import BOM
from podiumd.tools.agent.edit import MOST_SHOWN_BYTES, do_plan, plan_patch, plan_write, read_text
from podiumd.tools.agent.workspace import Changed, Refused, Workspace


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
