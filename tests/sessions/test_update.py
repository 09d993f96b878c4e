"""A session is brought up to date from its file, whatever is done to the file."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.formats.session import Cursor, Summary
from podiumd.sessions.index.tree import Found
from podiumd.sessions.index.update import NEVER, Unreadable, Update, update
from podiumd.sessions.log import reading
from podiumd.sessions.log.reading import MARK_BYTES, MAX_LINE_BYTES
from tests.long import sampled
from tests.sessions.support import (
    FORMAT,
    Counting,
    append,
    find,
    line,
    lines,
    overwrite,
    placed,
    read,
    read_counted,
    replace,
    session_id,
)

# -- reading on ----------------------------------------------------------------------------------


def test_a_new_file_is_read_whole(transcript: Path) -> None:
    transcript.write_bytes(lines(1, 3))
    result = read(transcript)
    status = transcript.stat()
    row = result.row
    assert result.rewritten
    assert (row.session_id, row.agent, row.path) == (session_id(), "claude", str(transcript))
    assert (row.dev, row.ino) == (status.st_dev, status.st_ino)
    assert (row.size, row.mtime_ns) == (status.st_size, status.st_mtime_ns)
    assert (row.offset, row.generation, row.gone) == (status.st_size, 1, False)
    assert (row.summary.messages, row.summary.cwd) == (3, "/home/dev/app")
    assert (row.problems, result.problems) == (0, [])


def test_each_byte_is_read_once(transcript: Path) -> None:
    first, second = lines(1, 3), lines(4, 2)
    transcript.write_bytes(first)
    before, folded = read_counted(transcript, None)
    assert folded == first
    append(transcript, second)
    result, folded = read_counted(transcript, before.row)
    assert folded == second
    assert (result.rewritten, result.row.generation, result.row.summary.messages) == (False, 1, 5)


def test_the_row_that_is_given_stays_as_it_is(transcript: Path) -> None:
    transcript.write_bytes(lines(1, 3))
    row = read(transcript).row
    kept = msgspec.json.encode(row)
    append(transcript, lines(4, 1))
    read(transcript, row)
    assert msgspec.json.encode(row) == kept


def test_a_torn_tail_waits_for_its_newline(transcript: Path) -> None:
    whole = line(2)
    transcript.write_bytes(line(1) + whole[:20])
    first = read(transcript)
    assert first.row.offset == len(line(1))
    assert first.row.summary.lines == 1
    append(transcript, whole[20:-1])
    second = read(transcript, first.row)
    assert second.row.offset == first.row.offset
    append(transcript, b"\n")
    third = read(transcript, second.row)
    assert third.row.summary.messages == 2
    assert (third.row.offset, third.row.problems) == (transcript.stat().st_size, 0)


def test_nothing_new_reads_nothing(transcript: Path) -> None:
    transcript.write_bytes(lines(1, 3))
    row = read(transcript).row
    result, folded = read_counted(transcript, row)
    assert (result.row, result.rewritten, folded) == (row, False, b"")


def test_another_time_of_writing_alone_is_no_rewrite(transcript: Path) -> None:
    transcript.write_bytes(lines(1, 3))
    row = read(transcript).row
    os.utime(transcript, ns=(1, 1))
    result, folded = read_counted(transcript, row)
    assert (result.rewritten, folded, result.row.mtime_ns) == (False, b"", 1)


def test_another_number_of_the_device_alone_is_no_rewrite(transcript: Path) -> None:
    transcript.write_bytes(lines(1, 3))
    row = msgspec.structs.replace(read(transcript).row, dev=4711)
    result = read(transcript, row)
    assert (result.rewritten, result.row.dev) == (False, transcript.stat().st_dev)


def test_a_renamed_project_is_no_rewrite(transcript: Path) -> None:
    transcript.write_bytes(lines(1, 3))
    row = read(transcript).row
    moved = transcript.parent.rename(transcript.parent.with_name("-home-dev-other"))
    result, folded = read_counted(moved / transcript.name, row)
    assert (result.rewritten, folded) == (False, b"")
    assert result.row == msgspec.structs.replace(row, path=str(moved / transcript.name))


def test_a_session_that_was_gone_is_there_again(transcript: Path) -> None:
    transcript.write_bytes(lines(1, 3))
    row = msgspec.structs.replace(read(transcript).row, gone=True)
    assert not read(transcript, row).row.gone


def test_a_link_to_a_file_is_followed(transcript: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_bytes(lines(1, 2))
    transcript.symlink_to(target)
    row = read(transcript).row
    assert (row.ino, row.path) == (target.stat().st_ino, str(transcript))
    assert row.summary.messages == 2


def test_reading_never_touches_the_time_of_writing(transcript: Path) -> None:
    transcript.write_bytes(lines(1, 2) + b"torn")
    os.utime(transcript, ns=(10**18, 10**18))
    read(transcript, read(transcript).row)
    assert transcript.stat().st_mtime_ns == 10**18


# -- what is wanted of the messages --------------------------------------------------------------


def test_places_of_messages_are_those_in_the_file(transcript: Path) -> None:
    transcript.write_bytes(line(1) + b'{"type":"mode"}\n' + line(2))
    first = read(transcript, cursor=Cursor())
    append(transcript, b"broken\n" + line(3, "é" * 50))
    second = read(transcript, first.row, first.cursor)
    assert placed(transcript, first) == [line(1)[:-1], line(2)[:-1]]
    assert placed(transcript, second) == [line(3, "é" * 50)[:-1]]


def test_places_are_not_looked_for_unless_they_are_wanted(transcript: Path) -> None:
    transcript.write_bytes(lines(1, 2))
    assert read(transcript).entries == []


def test_the_cursor_that_is_given_stays_where_it_is(transcript: Path) -> None:
    transcript.write_bytes(lines(1, 1))
    first = read(transcript, cursor=Cursor())
    kept = list(first.cursor.tips)
    append(transcript, lines(2, 1))
    second = read(transcript, first.row, first.cursor)
    assert first.cursor.tips == kept != second.cursor.tips


def test_a_rewrite_begins_with_a_new_cursor(transcript: Path) -> None:
    transcript.write_bytes(lines(1, 1))
    first = read(transcript, cursor=Cursor())
    replace(transcript, b'{"type":"mode"}\n')
    assert read(transcript, first.row, first.cursor).cursor == Cursor()


# -- another file --------------------------------------------------------------------------------

LONG = lines(1, 100)
assert len(LONG) > 2 * MARK_BYTES


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda path: replace(path, LONG), id="replaced by the same content"),
        pytest.param(lambda path: replace(path, LONG + lines(101, 1)), id="replaced by a longer"),
        pytest.param(lambda path: os.truncate(path, len(lines(1, 50))), id="shrunk"),
        pytest.param(lambda path: os.truncate(path, 0), id="emptied"),
        pytest.param(lambda path: overwrite(path, lines(2, 100)), id="rewritten at the same size"),
        pytest.param(lambda path: overwrite(path, lines(1, 2) + LONG), id="rewritten longer"),
        pytest.param(
            lambda path: overwrite(path, lines(1, 99) + line(7777)), id="another last line"
        ),
        pytest.param(lambda path: overwrite(path, line(7) + lines(2, 99)), id="another first line"),
    ],
)
def test_a_rewritten_file_is_read_anew(transcript: Path, change: Callable[[Path], None]) -> None:
    transcript.write_bytes(LONG)
    row = read(transcript).row
    change(transcript)
    result, folded = read_counted(transcript, row)
    assert (result.rewritten, result.row.generation) == (True, 2)
    assert folded == transcript.read_bytes()
    assert msgspec.structs.replace(result.row, generation=1) == read(transcript).row


def test_a_file_of_which_nothing_was_read_cannot_be_rewritten(transcript: Path) -> None:
    transcript.write_bytes(b"")
    row = read(transcript).row
    replace(transcript, lines(1, 2))
    result = read(transcript, row)
    assert (result.rewritten, result.row.generation) == (False, 1)
    assert result.row.summary.messages == 2


# -- properties ----------------------------------------------------------------------------------

CONTENT = st.lists(
    st.one_of(
        st.integers(1, 40).map(line),
        st.integers(1, 40).map(lambda number: line(number, "é" * 5, timestamp="")),
        st.sampled_from(
            [
                b"\n",
                b"broken\n",
                b"\0\0\n",
                b"caf\xe9\n",
                b'{"type":"summary","summary":"a title"}\n',
                b"x" * 900 + b"\n",
            ]
        ),
    ),
    max_size=12,
).map(b"".join)


@given(CONTENT, st.lists(st.integers(0, 4000), max_size=8))
def test_however_a_file_grows_it_comes_to_the_same(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, cuts: list[int]
) -> None:
    path = tmp_path_factory.mktemp("projects") / "p" / f"{session_id()}.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"")
    row, cursor, entries = None, Cursor(), []
    ends = sorted(min(cut, len(content)) for cut in cuts)
    for start, end in zip([0, *ends], [*ends, len(content)], strict=True):
        append(path, content[start:end])
        result = read(path, row, cursor)
        assert result.rewritten == (row is None)
        row, cursor = result.row, result.cursor
        entries += result.entries
    whole = read(path, cursor=Cursor())
    assert (row, cursor, entries) == (whole.row, whole.cursor, whole.entries)


CHANGES = st.lists(
    st.tuples(
        st.sampled_from([append, append, append, replace, overwrite, os.truncate, None]),
        st.one_of(CONTENT, CONTENT.map(lambda content: content[:-7])),
        st.integers(0, 3000),
    ),
    max_size=10,
)


@given(CHANGES)
def test_whatever_is_done_to_a_file_the_row_tells_what_is_in_it(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[object, bytes, int]]
) -> None:
    path = tmp_path_factory.mktemp("projects") / "p" / f"{session_id()}.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"")
    row = read(path).row
    for change, content, size in changes:
        if change is os.truncate:
            os.truncate(path, min(size, path.stat().st_size))
        elif change is None:
            path = path.parent.rename(path.parent.with_name(f"p{size}")) / path.name
        else:
            assert callable(change)
            change(path, content)
        result = read(path, row)
        fresh = read(path).row
        if not result.rewritten:
            assert result.row.offset >= row.offset
        assert result.row.generation == row.generation + result.rewritten
        row = result.row
        assert row == msgspec.structs.replace(
            fresh, generation=row.generation, problems=row.problems
        )
        assert row.problems & fresh.problems == fresh.problems


# -- files that change while they are read, or that cannot be read: nothing is raised --------


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


# -- whatever stands in a transcript, its good lines are read, and what is wrong is told once


def test_an_empty_file_is_no_problem(transcript: Path) -> None:
    transcript.write_bytes(b"")
    result = read(transcript)
    assert (result.row.offset, result.row.summary, result.problems) == (0, Summary(), [])
    append(transcript, lines(1, 1))
    later = read(transcript, result.row)
    assert (later.row.generation, later.row.summary.messages) == (1, 1)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (b"\0" * 600 + b"\n", "lines with NUL bytes"),
        (b'{"type":"us\0er"}\n', "lines with NUL bytes"),
        (b'{"type":"user","mess\n', "lines that are no JSON objects"),
        (b"[1, 2]\n", "lines that are no JSON objects"),
        (line(9, "caf\N{LATIN SMALL LETTER E WITH ACUTE}").decode().encode("latin-1"), "not UTF-8"),
    ],
)
def test_bad_content_is_told_once_and_the_rest_is_read(
    transcript: Path, bad: bytes, words: str
) -> None:
    transcript.write_bytes(line(1) + bad + line(2))
    first = read(transcript)
    append(transcript, bad + line(3))
    second = read(transcript, first.row)
    assert [problem for problem in first.problems if words in problem] == first.problems
    assert len(first.problems) == 1
    assert first.problems[0].startswith(f"{transcript} ")
    assert second.problems == []
    assert second.row.summary.messages == (5 if "UTF-8" in words else 3)


def test_each_kind_of_bad_content_is_told(transcript: Path) -> None:
    transcript.write_bytes(b"broken\n")
    first = read(transcript)
    append(transcript, b"\0\n" + b'\xff\xfe"\n')
    second = read(transcript, first.row)
    append(transcript, b"\0\nbroken\n\xff\n")
    assert [len(one.problems) for one in (first, second, read(transcript, second.row))] == [1, 2, 0]


def test_lines_with_nuls_are_not_counted_among_the_broken_ones(transcript: Path) -> None:
    transcript.write_bytes(line(1) + b"\0\n" + line(2) + b"broken\n" + line(3))
    nuls, broken = read(transcript).problems
    assert "lines with NUL bytes" in nuls and "lines that are no JSON objects" in broken


def test_a_large_file_with_bad_lines_is_searched_for_what_is_not_utf8(transcript: Path) -> None:
    transcript.write_bytes(lines(1, 200) + b"caf\xe9\n")
    assert len(read(transcript).problems) == 2


def test_another_encoding_altogether_stops_nothing(transcript: Path) -> None:
    transcript.write_bytes(lines(1, 2).decode().encode("utf-16"))
    result = read(transcript)
    assert result.row.summary.messages == 0
    assert result.row.offset == transcript.read_bytes().rfind(b"\n") + 1
    append(transcript, b"\n" + line(3))
    assert read(transcript, result.row).row.summary.messages == 1


def test_a_line_of_100_mb_is_passed_over_in_bounded_memory(transcript: Path) -> None:
    with transcript.open("wb") as file:
        file.write(line(1))
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b"\n" + line(2))
    tracemalloc.start()
    try:
        first = read(transcript, cursor=Cursor())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000
    assert [entry.offset for entry in first.entries] == [0, len(line(1)) + 100_000_001]
    assert first.row.summary.messages == 2
    assert len(first.problems) == 1
    assert str(MAX_LINE_BYTES) in first.problems[0]
    append(transcript, line(3))
    second = read(transcript, first.row)
    assert (second.rewritten, second.row.summary.messages) == (False, 3)


def test_a_line_too_long_at_the_end_of_the_file_is_passed_over(
    transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 10_000)
    monkeypatch.setattr(reading, "CHUNK_BYTES", 1000)
    transcript.write_bytes(b"x" * 20_000 + b"\n")
    first = read(transcript)
    assert (first.row.offset, first.row.summary.lines) == (20_001, 0)
    append(transcript, line(1))
    second = read(transcript, first.row)
    assert (second.rewritten, second.row.summary.messages) == (False, 1)


def test_clocks_that_run_back_change_no_order(transcript: Path) -> None:
    times = ["2026-05-01T10:00:00Z", "2026-05-01T12:00:00Z", "2026-05-01T09:30:00Z"]
    transcript.write_bytes(b"".join(line(n, timestamp=time) for n, time in enumerate(times)))
    row = read(transcript).row
    assert (row.summary.first_at, row.summary.last_at) == (times[0], times[2])
    assert row.sort_at == 1_777_627_800_000


def test_a_session_without_times_is_sorted_by_when_its_file_was_written(transcript: Path) -> None:
    transcript.write_bytes(line(1, timestamp="yesterday"))
    os.utime(transcript, ns=(5_000_000, 5_000_000))
    assert read(transcript).row.sort_at == 5
