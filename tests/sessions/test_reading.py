"""Bytes of a transcript come in whole lines, whatever happens to the file meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.sessions.log import reading
from podiumd.sessions.log.reading import CHUNK_BYTES, MARK_BYTES, Chunks, Trail, chunks, same
from tests.sessions.support import append, overwrite

Open = Callable[[Path], int]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "transcript"


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of 8 bytes, lines of 20."""
    monkeypatch.setattr(reading, "CHUNK_BYTES", 8)
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 20)


def read_chunks(file: Path, data: bytes, start: int = 0) -> list[tuple[int, bytes]]:
    file.write_bytes(data)
    descriptor = os.open(file, os.O_RDONLY)
    try:
        return list(chunks(descriptor, start))
    finally:
        os.close(descriptor)


def after_read(
    monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], None]
) -> list[tuple[int, int]]:
    """Do something right after the read of that number; returns the (size, offset) of all."""
    pread = os.pread
    seen: list[tuple[int, int]] = []

    def spy(descriptor: int, size: int, offset: int) -> bytes:
        data = pread(descriptor, size, offset)
        seen.append((size, offset))
        if len(seen) == number:
            act()
        return data

    monkeypatch.setattr(os, "pread", spy)
    return seen


LONG = b"x" * (3 * CHUNK_BYTES) + b"\n"


@pytest.mark.parametrize(
    ("data", "start", "told"),
    [
        (b"one\ntwo\n", 0, [(0, b"one\ntwo\n")]),
        (b"", 0, []),
        (b"one\ntw", 0, [(0, b"one\n")]),
        (b"on", 0, []),
        (b"one\ntwo\n", 4, [(4, b"two\n")]),
        (b"a\n" + LONG + b"b\n", 0, [(0, b"a\n"), (2, LONG), (2 + len(LONG), b"b\n")]),
    ],
    ids=["small", "empty", "last line", "no line", "from an offset", "a line longer than a chunk"],
)
def test_whole_lines_come_in_chunks(
    file: Path, data: bytes, start: int, told: list[tuple[int, bytes]]
) -> None:
    assert read_chunks(file, data, start) == told


def test_a_large_file_comes_in_chunks_of_bounded_size(file: Path) -> None:
    data = b"".join(b"%d %s\n" % (n, b"x" * (n % 3000)) for n in range(2000))
    found = read_chunks(file, data)
    assert len(found) > 1
    assert b"".join(chunk for _, chunk in found) == data
    assert [offset for offset, _ in found] == [
        sum(len(chunk) for _, chunk in found[:n]) for n in range(len(found))
    ]
    assert max(len(chunk) for _, chunk in found) <= CHUNK_BYTES


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(("length", "told"), [(20, True), (21, False), (100, False)])
def test_a_line_over_the_limit_is_passed_over_and_counted(
    file: Path, length: int, told: bool, opened: Open
) -> None:
    long = b"x" * length + b"\n"
    file.write_bytes(b"a\n" + long + b"b\n" + long)
    found = Chunks(opened(file), 0, file.stat().st_size)
    lines = b"".join(chunk for _, chunk in found)
    assert lines == (b"a\n" + long + b"b\n" + long if told else b"a\nb\n")
    assert found.overlong == (0 if told else 2)
    assert found.offset == file.stat().st_size


@pytest.mark.usefixtures("small_limits")
def test_a_line_over_the_limit_waits_for_its_newline(file: Path, opened: Open) -> None:
    file.write_bytes(b"a\n" + b"x" * 50)
    found = Chunks(opened(file), 0, 52)
    assert list(found) == [(0, b"a\n")]
    assert (found.offset, found.overlong) == (2, 0)


@pytest.mark.usefixtures("small_limits")
def test_what_was_searched_for_a_newline_is_not_searched_again(
    file: Path, monkeypatch: pytest.MonkeyPatch, opened: Open
) -> None:
    file.write_bytes(b"x" * 17 + b"\n")
    seen = after_read(monkeypatch, 0, lambda: None)
    found = list(Chunks(opened(file), 0, 18, searched=16))
    assert found == [(0, b"x" * 17 + b"\n")]
    assert seen == [(8, 0), (2, 16), (18, 0)]


def test_nothing_after_the_given_end_is_read(file: Path, opened: Open) -> None:
    file.write_bytes(b"one\ntwo\nthree\n")
    assert list(chunks(opened(file), 0, 6)) == [(0, b"one\n")]


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(
    ("data", "number", "act", "told"),
    [
        (
            *(b"one\ntwo\nthree\nfour\n", 1),
            *(lambda file: os.truncate(file, 11), [(0, b"one\ntwo\n")]),
        ),
        # The first read ends within a line, and then the file is another.
        (
            *(b"aaaaaaaaaaaa\n", 1, lambda file: overwrite(file, b"bbbb\nbbbbbbb\n")),
            [(0, b"bbbb\nbbbbbbb\n")],
        ),
        (b"aaaaaaaaaaaa\n", 2, lambda file: overwrite(file, b"b" * 19), []),
    ],
    ids=["it shrinks", "a line of two contents", "a long line rewritten before it is read"],
)
def test_a_file_that_changes_while_it_is_read_gives_whole_lines_of_its_own(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    opened: Open,
    data: bytes,
    number: int,
    act: Callable[[Path], None],
    told: list[tuple[int, bytes]],
) -> None:
    file.write_bytes(data)
    after_read(monkeypatch, number, lambda: act(file))
    assert list(chunks(opened(file), 0)) == told


def test_a_mark_fits_as_long_as_what_stands_before_it_is_the_same(file: Path, opened: Open) -> None:
    file.write_bytes(b"x" * 10_000)
    descriptor = opened(file)
    seen = Trail(descriptor, 10_000).mark()
    append(file, b"more")
    assert same(descriptor, 10_000, seen)
    assert (len(seen.head), len(seen.tail)) == (16, 16)


@pytest.mark.parametrize("place", [0, MARK_BYTES - 1, 10_000 - MARK_BYTES, 9_999])
def test_a_mark_does_not_fit_another_start_or_end(file: Path, place: int, opened: Open) -> None:
    file.write_bytes(b"x" * 10_000)
    descriptor = opened(file)
    seen = Trail(descriptor, 10_000).mark()
    with file.open("r+b") as writer:
        writer.seek(place)
        writer.write(b"y")
    assert not same(descriptor, 10_000, seen)


def test_a_mark_does_not_fit_a_shorter_file(file: Path, opened: Open) -> None:
    file.write_bytes(b"x" * 100)
    descriptor = opened(file)
    seen = Trail(descriptor, 100).mark()
    os.truncate(file, 99)
    assert not same(descriptor, 100, seen)


@given(st.lists(st.integers(1, 6000), max_size=8), st.integers(0, 8))
def test_a_trail_that_was_followed_is_as_one_that_is_made_anew(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], skipped: int
) -> None:
    file = tmp_path_factory.mktemp("trail") / "transcript"
    data = os.urandom(sum(sizes))
    file.write_bytes(data)
    descriptor = os.open(file, os.O_RDONLY)
    try:
        trail = Trail(descriptor, 0)
        offset = 0
        for number, size in enumerate(sizes):
            if number != skipped:  # passed over, as a line that is too long
                trail.follow(offset, data[offset : offset + size])
            offset += size
        if skipped == len(sizes) - 1:
            trail.skip_to(offset)
        assert trail.offset == offset
        assert trail.mark() == Trail(descriptor, offset).mark()
    finally:
        os.close(descriptor)
