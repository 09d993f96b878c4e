"""Whatever stands in a transcript, its good lines are read, and what is wrong is told once."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from podiumd.formats.session import Cursor, Summary
from podiumd.sessions.log import reading
from podiumd.sessions.log.reading import MAX_LINE_BYTES
from tests.sessions.support import append, line, lines, read


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
