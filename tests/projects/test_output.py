"""A command's output: its file has the beginning and the end, its followers the lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.projects import output
from podiumd.projects.output import LONGEST_BYTES, LineGatherer, Output, Stream, lines_of


class Heard:
    """An output with its file and what was told."""

    def __init__(self, tmp_path: Path) -> None:
        self.path = tmp_path / "log"
        self.told: list[tuple[Stream, str]] = []
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT)
        self.output = Output(fd, lambda stream, line: self.told.append((stream, line)), 100)

    def kept(self) -> bytes:
        self.output.close()
        return self.path.read_bytes()


@pytest.fixture
def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Heard:
    monkeypatch.setattr(output, "TAIL_BYTES", 20)
    monkeypatch.setattr(output, "MOST_TOLD_LINES", 8)
    return Heard(tmp_path)


def test_short_output_is_kept_and_told_whole(heard: Heard) -> None:
    heard.output.take("stdout", b"one\ntwo\n")
    heard.output.take("stderr", b"\xff\n")
    heard.output.say("over")
    assert heard.told == [
        ("stdout", "one"), ("stdout", "two"), ("stderr", "\ufffd"), ("stderr", "over"),
    ]  # fmt: skip
    assert heard.kept() == b"one\ntwo\n\xff\nover\n"


def test_of_long_output_the_beginning_and_the_end_are_kept(heard: Heard) -> None:
    lines = [b"line %03d\n" % number for number in range(1000)]  # 9 bytes each
    for at in range(0, 1000, 7):
        heard.output.take("stdout", b"".join(lines[at : at + 7]))
    kept = heard.kept()
    left_out = 1000 - 8 - 2
    assert kept == (
        b"".join(lines[:8])
        + b"[%d bytes of output are left out here]\n" % (left_out * 9)
        + b"".join(lines[-2:])
    )


def test_output_that_just_fits_in_both_parts_lacks_nothing(heard: Heard) -> None:
    heard.output.take("stdout", b"x" * 79 + b"\n")
    heard.output.take("stdout", b"y" * 19 + b"\n")
    assert heard.kept() == b"x" * 79 + b"\n" + b"y" * 19 + b"\n"


def test_a_flood_is_told_up_to_a_limit_and_that_there_is_more(heard: Heard) -> None:
    for _ in range(100):
        heard.output.take("stdout", b"y\n" * 3)
    assert heard.told == [("stdout", "y")] * 8 + [("stderr", output._TOO_MUCH)]
    heard.output.say("over")
    assert heard.told[-1] == ("stderr", "over")
    heard.output.close()


def test_long_lines_are_told_up_to_a_limit_too(heard: Heard) -> None:
    heard.output.take("stdout", b"z" * 60 + b"\n")
    heard.output.take("stdout", b"z" * 60 + b"\n")
    assert [line for _, line in heard.told] == ["z" * 60, output._TOO_MUCH]
    heard.output.close()


def test_a_full_disk_does_not_fail_the_command(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    heard.output.take("stdout", b"one\n")
    heard.output.close()
    assert heard.told == [("stdout", "one")]


# -- bytes become lines, however they were cut -----------------------------------------------


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
