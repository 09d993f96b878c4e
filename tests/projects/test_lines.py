"""Bytes become lines, however they were cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podiumd.projects.lines import LONGEST_BYTES, LineGatherer, lines_of


def gathered(*pieces: bytes) -> list[str]:
    gatherer = LineGatherer()
    blocks = [*map(gatherer.feed, pieces), gatherer.end()]
    return [line for block in blocks for line in lines_of(block)]


def test_a_last_line_without_an_end_comes_at_the_end() -> None:
    gatherer = LineGatherer()
    assert gatherer.feed(b"one\ntw") == b"one\n"
    assert gatherer.feed(b"o") == b""
    assert gatherer.end() == b"two\n"
    assert gatherer.end() == b""


def test_empty_lines_stay_and_ends_of_windows_go() -> None:
    assert gathered(b"a\r\n\n", b"b\rc\n") == ["a", "", "b\rc"]


def test_what_is_not_utf_8_is_replaced() -> None:
    assert gathered(b"a\xff\xfeb\n\xc3") == ["a\ufffd\ufffdb", "\ufffd"]


def test_a_line_of_more_than_64_kib_comes_in_parts_that_cut_no_character() -> None:
    text = "a" + "€" * 50_000
    for pieces in ([text.encode() + b"\n"], [text.encode()], [text[:30_000].encode(), b"!" * 9]):
        lines = gathered(*pieces)
        assert "".join(lines).encode() == b"".join(pieces).rstrip(b"\n")
        assert all(len(line.encode()) <= LONGEST_BYTES for line in lines)
        assert "\ufffd" not in "".join(lines)


def test_a_long_line_of_no_characters_at_all_is_cut_all_the_same() -> None:
    assert [len(line) for line in gathered(b"\x80" * (LONGEST_BYTES + 5))] == [LONGEST_BYTES, 5]


@given(st.lists(st.binary(max_size=40)))
def test_how_the_stream_is_cut_makes_no_difference(pieces: list[bytes]) -> None:
    assert gathered(*pieces) == gathered(b"".join(pieces))
