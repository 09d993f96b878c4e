"""Files that change while they are read, or that cannot be read: nothing is raised."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from podiumd.sessions.index.tree import Found
from podiumd.sessions.index.update import NEVER, Unreadable, Update, update
from podiumd.sessions.log import reading
from tests.long import sampled
from tests.sessions.support import (
    FORMAT,
    Counting,
    append,
    find,
    line,
    lines,
    overwrite,
    read,
    replace,
)


def cannot_read(found: Found) -> Unreadable:
    result = update(FORMAT, found, None)
    assert isinstance(result, Unreadable)
    return result


def during_read(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], None]) -> None:
    """Do something right before the read of that number, from 1."""
    pread = os.pread
    count = 0

    def spy(descriptor: int, size: int, offset: int) -> bytes:
        nonlocal count
        count += 1
        if count == number:
            act()
        return pread(descriptor, size, offset)

    monkeypatch.setattr(os, "pread", spy)


def fail() -> None:
    raise OSError(5, "Input/output error")


# -- the file changes while it is read -----------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda path: path.unlink(), id="vanishes"),
        pytest.param(lambda path: replace(path, lines(500, 3)), id="is replaced"),
        pytest.param(lambda path: os.truncate(path, 70_001), id="shrinks"),
        pytest.param(lambda path: os.truncate(path, 0), id="is emptied"),
        pytest.param(lambda path: append(path, lines(9000, 10)), id="grows"),
        pytest.param(lambda path: overwrite(path, lines(5000, 4000)), id="is rewritten"),
    ],
)
@pytest.mark.parametrize("at", sampled([1, 2, 3, 4]))
def test_a_file_that_changes_while_it_is_read_gives_only_whole_lines_of_its_own(
    transcript: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
    at: int,
) -> None:
    monkeypatch.setattr(reading, "CHUNK_BYTES", 64 * 1024)
    ours = {number: line(number) for number in (*range(3000), *range(5000, 9010))}
    transcript.write_bytes(b"".join(ours[number] for number in range(1000)))
    counting = Counting()
    found = find(transcript)
    during_read(monkeypatch, at, lambda: change(transcript))
    result = update(counting, found, None)
    monkeypatch.undo()
    assert isinstance(result, Update)
    assert set(counting.folded.splitlines(keepends=True)) <= set(ours.values())
    assert result.row.summary.lines == counting.folded.count(b"\n")
    assert (result.row.ino, result.row.size) == (found.ino, found.size)
    assert result.problems == []
    if transcript.exists():
        settled = read(transcript, result.row)
        fresh = read(transcript)
        assert settled.row.summary == fresh.row.summary
        assert settled.row.offset == fresh.row.offset


def test_a_read_that_fails_keeps_what_was_read_and_is_tried_again(
    transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "CHUNK_BYTES", 64 * 1024)
    transcript.write_bytes(lines(1, 1000))
    during_read(monkeypatch, 2, fail)
    first = read(transcript)
    monkeypatch.undo()
    assert 0 < first.row.offset < transcript.stat().st_size
    assert first.row.mtime_ns == NEVER
    assert first.problems == [
        f"{transcript} cannot be read on from byte {first.row.offset}: Input/output error"
    ]
    second = read(transcript, first.row)
    assert (second.rewritten, second.problems) == (False, [])
    assert second.row.summary == read(transcript).row.summary


# -- files that cannot be read -------------------------------------------------------------------


def test_a_file_that_vanished_is_told(transcript: Path) -> None:
    transcript.write_bytes(lines(1, 1))
    found = find(transcript)
    transcript.unlink()
    assert cannot_read(found).vanished


def test_a_file_whose_directory_vanished_is_told(transcript: Path) -> None:
    transcript.write_bytes(lines(1, 1))
    found = find(transcript)
    transcript.unlink()
    transcript.parent.rmdir()
    transcript.parent.write_bytes(b"a file now")
    assert cannot_read(found).vanished


def test_a_file_that_may_not_be_read_is_told(
    transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript.write_bytes(lines(1, 1))
    found = find(transcript)

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert cannot_read(found) == Unreadable(
        str(transcript), "cannot be read: Permission denied", vanished=False
    )


def test_a_file_that_cannot_be_read_at_all_is_told(
    transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript.write_bytes(lines(1, 1))
    row = read(transcript).row
    found = find(transcript)
    during_read(monkeypatch, 1, fail)
    assert update(FORMAT, found, row) == Unreadable(
        str(transcript), "cannot be read: Input/output error", vanished=False
    )


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_took_the_place_of_the_file_is_not_read(
    transcript: Path, make: Callable[[Path], None]
) -> None:
    """A pipe that nobody writes to would hold a plain open for ever."""
    transcript.write_bytes(lines(1, 1))
    found = find(transcript)
    transcript.unlink()
    make(transcript)
    assert cannot_read(found) == Unreadable(
        str(transcript), "is not a regular file", vanished=False
    )
