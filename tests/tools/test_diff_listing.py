"""What git prints of a difference is read whole, whatever the names are."""

from __future__ import annotations

from podiumd.tools.git.changes_since import ChangedFile, as_added, commits_of, files_of

ZERO = b"0" * 40
RAW = b":%b %b " + ZERO + b" " + ZERO + b" %b"


def raw(status: bytes, *paths: bytes, old: bytes = b"100644", new: bytes = b"100644") -> bytes:
    return b"\0".join([RAW % (old, new, status), *paths]) + b"\0"


def test_files_of_every_kind_have_their_numbers() -> None:
    output = b"".join(
        (
            raw(b"M", b"a\tb"),
            raw(b"A", b":odd", old=b"000000"),
            raw(b"D", b"gone", new=b"000000"),
            raw(b"R087", b"from", b"to\n"),
            raw(b"C100", b"one", b"two"),
            raw(b"T", b"link", new=b"120000"),
            raw(b"M", b"run.sh", new=b"100755"),
            raw(b"M", b"touched"),
            b"1\t2\ta\tb\0003\t0\t:odd\0000\t9\tgone\0004\t4\t\0from\0to\n\0",
            b"-\t-\t\0one\0two\0001\t1\tlink\0000\t0\trun.sh\0007\t7\tunheard of\0",
        )
    )
    found = dict(files_of(output))
    assert found == {
        b"a\tb": ChangedFile(path="a\tb", change="modified", added=1, deleted=2),
        b":odd": ChangedFile(path=":odd", change="added", added=3, deleted=0),
        b"gone": ChangedFile(path="gone", change="deleted", added=0, deleted=9),
        b"to\n": ChangedFile(path="to\n", change="renamed", before="from", added=4, deleted=4),
        b"two": ChangedFile(path="two", change="copied", before="one"),
        b"link": ChangedFile(path="link", change="type", mode="120000", added=1, deleted=1),
        b"run.sh": ChangedFile(path="run.sh", change="modified", mode="100755", added=0, deleted=0),
    }


def test_nothing_is_nothing_and_what_is_no_text_has_a_name() -> None:
    assert files_of(b"") == []
    [(path, one)] = files_of(raw(b"M", b"caf\xe9") + b"1\t1\tcaf\xe9\0")
    assert (path, one.path) == (b"caf\xe9", "caf\\xe9")


def test_commits_are_read_and_what_is_none_is_passed_over() -> None:
    told = b"commit a\na\x002026-01-01T00:00:00Z\x00First \xff\ncommit b\nb\x00t\x00\n"
    first, second = commits_of(told)
    assert (first.commit, first.subject) == ("a", "First \ufffd")
    assert (second.at, second.subject) == ("t", "")


def test_a_new_file_s_patch_has_its_lines() -> None:
    one, patch = as_added(b"a b", b"x\ny\n")
    assert one == ChangedFile(path="a b", change="added", added=2, deleted=0)
    assert patch.endswith(b"--- /dev/null\n+++ b/a b\n@@ -0,0 +1,2 @@\n+x\n+y\n")
    assert as_added(b"z", b"\0")[1].endswith(b"Binary files /dev/null and b/z differ\n")
    assert as_added(b'q"\\\n', b"")[1].startswith(b'diff --git "a/q\\"\\\\\\012" "b/q')
    assert as_added(b"e", b"x")[1].endswith(b"+x\n\\ No newline at end of file\n")
