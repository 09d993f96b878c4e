"""Bytes of a transcript come in whole lines, whatever happens to the file meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.sessions.log import reading
from podiumd.sessions.log.reading import CHUNK_BYTES, MARK_BYTES, Chunks, Trail, chunks, mark, same
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


def test_a_small_file_is_one_chunk(file: Path) -> None:
    assert read_chunks(file, b"one\ntwo\n") == [(0, b"one\ntwo\n")]


def test_an_empty_file_has_no_chunk(file: Path) -> None:
    assert read_chunks(file, b"") == []


def test_a_last_line_without_its_newline_is_not_told(file: Path) -> None:
    assert read_chunks(file, b"one\ntw") == [(0, b"one\n")]
    assert read_chunks(file, b"on") == []


def test_reading_goes_on_from_an_offset(file: Path) -> None:
    assert read_chunks(file, b"one\ntwo\n", start=4) == [(4, b"two\n")]


def test_a_large_file_comes_in_chunks_of_bounded_size(file: Path) -> None:
    data = b"".join(b"%d %s\n" % (n, b"x" * (n % 3000)) for n in range(2000))
    found = read_chunks(file, data)
    assert len(found) > 1
    assert b"".join(chunk for _, chunk in found) == data
    assert [offset for offset, _ in found] == [
        sum(len(chunk) for _, chunk in found[:n]) for n in range(len(found))
    ]
    assert max(len(chunk) for _, chunk in found) <= CHUNK_BYTES


def test_a_line_longer_than_a_chunk_is_one_chunk(file: Path) -> None:
    long = b"x" * (3 * CHUNK_BYTES) + b"\n"
    assert read_chunks(file, b"a\n" + long + b"b\n") == [
        (0, b"a\n"),
        (2, long),
        (2 + len(long), b"b\n"),
    ]


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
def test_a_file_that_shrinks_while_it_is_read_just_ends(
    file: Path, monkeypatch: pytest.MonkeyPatch, opened: Open
) -> None:
    file.write_bytes(b"one\ntwo\nthree\nfour\n")
    after_read(monkeypatch, 1, lambda: os.truncate(file, 11))
    assert list(chunks(opened(file), 0)) == [(0, b"one\ntwo\n")]


@pytest.mark.usefixtures("small_limits")
def test_a_line_is_never_glued_from_two_contents(
    file: Path, monkeypatch: pytest.MonkeyPatch, opened: Open
) -> None:
    """The first read ends within a line, and then the file is another."""
    file.write_bytes(b"aaaaaaaaaaaa\n")
    after_read(monkeypatch, 1, lambda: overwrite(file, b"bbbb\nbbbbbbb\n"))
    assert list(chunks(opened(file), 0)) == [(0, b"bbbb\nbbbbbbb\n")]


@pytest.mark.usefixtures("small_limits")
def test_a_long_line_that_is_rewritten_before_it_is_read_is_not_told(
    file: Path, monkeypatch: pytest.MonkeyPatch, opened: Open
) -> None:
    file.write_bytes(b"aaaaaaaaaaaa\n")
    after_read(monkeypatch, 2, lambda: overwrite(file, b"bbbbbbbbbbbbbbbbbbb"))
    assert list(chunks(opened(file), 0)) == []


def test_a_mark_fits_as_long_as_what_stands_before_it_is_the_same(file: Path, opened: Open) -> None:
    file.write_bytes(b"x" * 10_000)
    descriptor = opened(file)
    seen = mark(descriptor, 10_000)
    append(file, b"more")
    assert same(descriptor, 10_000, seen)
    assert (len(seen.head), len(seen.tail)) == (16, 16)


@pytest.mark.parametrize("place", [0, MARK_BYTES - 1, 10_000 - MARK_BYTES, 9_999])
def test_a_mark_does_not_fit_another_start_or_end(file: Path, place: int, opened: Open) -> None:
    file.write_bytes(b"x" * 10_000)
    descriptor = opened(file)
    seen = mark(descriptor, 10_000)
    with file.open("r+b") as writer:
        writer.seek(place)
        writer.write(b"y")
    assert not same(descriptor, 10_000, seen)


def test_a_mark_does_not_fit_a_shorter_file(file: Path, opened: Open) -> None:
    file.write_bytes(b"x" * 100)
    descriptor = opened(file)
    seen = mark(descriptor, 100)
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
        assert trail.mark() == mark(descriptor, offset)
    finally:
        os.close(descriptor)
