"""Following a file that grows."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import trio
import trio.testing

from podiumd.drivers import spool as spool_module
from podiumd.drivers.base import Output, TurnEvent
from podiumd.drivers.said_again import PIECE_CHARACTERS, say_again
from podiumd.drivers.spool import Bell, SpoolReader, SpoolWatch, watch_spools
from tests.patience import HANG_SECONDS
from tests.waits import waits_on


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "out.jsonl"
    path.touch()
    return path


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def everything(reader: SpoolReader) -> list[tuple[bytes, int]]:
    found: list[tuple[bytes, int]] = []
    while True:
        lines = reader.read()
        found += lines
        if not lines and reader.at_end:
            return found


def test_lines_come_with_the_offset_of_their_end_and_a_partial_one_waits(path: Path) -> None:
    reader = SpoolReader(path)
    append(path, b"one\n\ntw")
    assert everything(reader) == [(b"one", 4), (b"", 5)]
    assert reader.partial and reader.offset == 5
    append(path, b"o\n")
    assert everything(reader) == [(b"two", 9)] and not reader.partial
    reader.close()


def test_reading_goes_on_at_any_lines_end(path: Path) -> None:
    append(path, b"one\ntwo\nthree\n")
    whole = SpoolReader(path)
    for data, end in everything(whole):
        rest = SpoolReader(path, end)
        assert all(other > end for _, other in everything(rest)), data
        rest.close()
    whole.close()


def test_lines_longer_than_a_chunk_are_whole_and_a_chunk_is_all_that_is_read_at_once(
    path: Path,
) -> None:
    lines = [b"a" * 200_000, b"b", b"c" * 3_000_000]
    append(path, b"".join(line + b"\n" for line in lines))
    reader = SpoolReader(path)
    assert [data for data, _ in everything(reader)] == lines
    assert reader.offset == path.stat().st_size
    reader.close()


def test_a_read_stops_after_a_megabyte_even_within_a_line(path: Path) -> None:
    append(path, b"a" * 3_000_000)
    reader = SpoolReader(path)
    assert reader.read() == [] and not reader.at_end
    assert everything(reader) == [] and reader.at_end and reader.partial
    reader.close()


def test_an_endless_line_is_cut_short_and_the_next_one_is_right(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "MAX_LINE_BYTES", 200_000)
    append(path, b'{"a": "' + b"x" * 1_000_000 + b'"}\n{"next": 1}\n')
    reader = SpoolReader(path)
    (first, end), (second, last) = everything(reader)
    assert first == b'{"a": "' + b"x" * 57, "what is left of it must be no JSON"
    assert (end, second, last) == (1_000_010, b'{"next": 1}', path.stat().st_size)
    reader.close()


async def test_growth_rings_the_bell_of_its_follower_alone(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for directory in (one, two):
        directory.mkdir()
        (directory / "out").touch()
    async with watch_spools() as watch:
        with watch.follow(one) as first, watch.follow(two) as second, trio.fail_after(HANG_SECONDS):
            append(one / "out", b"x\n")
            await first.wait()
            await waits_on(second.wait)


async def test_a_ring_before_the_wait_is_not_lost_and_rings_once() -> None:
    bell = Bell()
    bell.ring()
    bell.ring()
    with trio.fail_after(HANG_SECONDS):
        await bell.wait()
    await waits_on(bell.wait)


async def test_a_lost_event_costs_a_few_seconds(autojump_clock: trio.testing.MockClock) -> None:
    began = trio.current_time()
    await Bell().wait(600)
    assert trio.current_time() - began == pytest.approx(spool_module.SWEEP_SECONDS)
    await Bell().wait(1)
    assert trio.current_time() - began == pytest.approx(spool_module.SWEEP_SECONDS + 1)


async def test_an_idle_watch_has_no_thread_and_a_left_one_leaves_none(tmp_path: Path) -> None:
    before = threading.active_count()
    async with watch_spools() as watch:
        assert threading.active_count() == before
        with watch.follow(tmp_path):
            assert threading.active_count() > before
    assert threading.active_count() == before


def test_a_change_after_the_loop_has_ended_is_ignored(tmp_path: Path) -> None:
    """The observer's thread may still deliver while the loop is already gone."""

    async def main() -> SpoolWatch:
        return SpoolWatch(trio.lowlevel.current_trio_token())

    watch = trio.run(main)
    with watch.follow(tmp_path):
        append(tmp_path / "out", b"x\n")
        append(tmp_path / "out", b"x\n")
    watch.close()


async def test_without_a_watch_growth_is_found_by_the_coarse_look(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    autojump_clock: trio.testing.MockClock,
) -> None:
    def refuse() -> None:
        raise OSError(24, "inotify instance limit reached")

    monkeypatch.setattr(spool_module, "Observer", refuse)
    async with watch_spools() as watch:
        with watch.follow(tmp_path) as bell, trio.fail_after(6):
            await bell.wait()
    assert "inotify instance limit reached" in caplog.text


# -- what was said before a turn is taken up is told as said before, in pieces of some size --


def test_words_of_one_message_are_one_piece_and_what_is_whole_stays_so() -> None:
    events: list[TurnEvent] = []
    for said in (
        Output("m1", "text", "I need "),
        Output("m1", "text", "a shell."),
        Output("a1", "tool", "Bash: ls"),
        Output("a1", "tool", "Bash: ls"),
        Output("m2", "text", "Done."),
        Output("m3", "text", "More."),
    ):
        say_again(events, said)

    assert events == [
        Output("m1", "text", "I need a shell.", again=True),
        Output("a1", "tool", "Bash: ls", again=True),
        Output("a1", "tool", "Bash: ls", again=True),
        Output("m2", "text", "Done.", again=True),
        Output("m3", "text", "More.", again=True),
    ]


def test_a_piece_does_not_grow_without_end() -> None:
    events: list[TurnEvent] = []
    for _ in range(3):
        say_again(events, Output("m", "thinking", "x" * (PIECE_CHARACTERS // 2)))

    assert len(events) == 2


def test_what_was_not_told_before_is_not_added_to() -> None:
    live = Output("m", "text", "new")
    events: list[TurnEvent] = [live]
    say_again(events, Output("m", "text", "old"))

    assert events == [live, Output("m", "text", "old", again=True)]
