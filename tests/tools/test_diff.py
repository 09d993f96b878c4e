"""Diffs are what ``patch`` understands, and show what would be hidden."""

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
from tests.long import sampled

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
