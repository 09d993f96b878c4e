"""The history of commands: 7 days, durable before anything runs, honest after a kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
import trio.testing

from podiumd.projects.commands import Bounds
from podiumd.projects.errors import StorageFailed
from podiumd.projects.records import CommandRecord, Shelf
from podiumd.tools.process.processes import carriers
from tests.projects.book import NOON, Bench

ROOT = Path(__file__).resolve().parents[2]


def record(number: int, **changes: object) -> CommandRecord:
    """A finished run."""
    values: dict[str, object] = {
        "command_session_id": f"cmd-00000000-0000-4000-8000-{number:012}",
        "command_id": "build",
        "shell_command": "make build",
        "working_directory": "/project",
        "timestamp": f"2026-03-01T11:00:00.{number:03}Z",
        "exit_code": 0,
        "duration_ms": 5,
        **changes,
    }
    return msgspec.convert(values, CommandRecord)


def stored(directory: Path, *records: CommandRecord) -> Shelf:
    shelf = Shelf(directory)
    shelf.open()
    for one in records:
        os.close(shelf.begin(one))
    return shelf


async def test_the_history_is_newest_first_of_one_directory_or_all_up_to_a_limit(
    bench: Bench,
) -> None:
    stored(bench.state, *(record(n, working_directory=f"/p{n % 2}") for n in (3, 1, 2, 4)))
    async with bench.book() as book:

        def numbers(directory: str | None, limit: int = 50) -> list[int]:
            return [int(one.command_session_id[-3:]) for one in book.history(directory, limit)]

        assert numbers(None) == [4, 3, 2, 1]
        assert numbers("/p1") == [3, 1]
        assert numbers("/elsewhere") == []
        assert numbers(None, 2) == [4, 3]
        assert numbers(None, 0) == numbers(None, -1) == []


async def test_the_preview_is_text_of_at_most_200_characters_and_never_null(bench: Bench) -> None:
    bench.make(long="printf '%0300d' 7; printf '\\303\\244%.0s' 1", silent="true")
    async with bench.book() as book:
        long = await bench.over(await book.start(str(bench.project), "long"))
        silent = await bench.over(await book.start(str(bench.project), "silent"))
        await book.start(str(bench.project), "silent")
        rows = msgspec.to_builtins(book.history())
    assert long.output_preview == "0" * 200
    assert silent.output_preview == ""
    assert [row["output_preview"] for row in rows] == ["", "", "0" * 200]
    assert set(rows[0]) == {
        "command_session_id", "command_id", "shell_command", "working_directory", "timestamp",
        "exit_code", "duration_ms", "output_preview",
    }  # fmt: skip


async def test_the_history_outlives_the_daemon(bench: Bench) -> None:
    bench.make(hello="echo hello")
    async with bench.book() as book:
        over = await bench.over(await book.start(str(bench.project), "hello"))
    async with bench.book() as book:
        assert book.history() == [over]
        assert await book.output(over.command_session_id) == (over, "hello\n")


async def test_runs_older_than_seven_days_are_forgotten_at_the_start(bench: Bench) -> None:
    stored(bench.state, record(1, timestamp="2026-02-22T12:00:00.004Z"),
           record(2, timestamp="2026-02-22T12:00:00.005Z"))  # fmt: skip
    async with bench.book() as book:
        await trio.testing.wait_all_tasks_blocked()
        assert [one.command_session_id[-1] for one in book.history()] == ["2"]
    async with bench.book():
        names = {path.name[-6:] for path in bench.state.iterdir()}
    assert names == {"2.json", "02.log"}


async def test_and_each_day(bench: Bench, mock_clock: trio.testing.MockClock) -> None:
    stored(bench.state, record(1))
    async with bench.book() as book:
        await trio.testing.wait_all_tasks_blocked()
        assert len(book.history()) == 1
        bench.now = NOON + timedelta(days=7)
        mock_clock.jump(24 * 60 * 60)
        await trio.testing.wait_all_tasks_blocked()
        assert book.history() == []


async def test_the_number_of_runs_is_limited_too(bench: Bench) -> None:
    bench.bounds = Bounds(most=2)
    stored(bench.state, *(record(n) for n in range(5)))
    async with bench.book() as book:
        await trio.testing.wait_all_tasks_blocked()
        assert [one.command_session_id[-1] for one in book.history()] == ["4", "3"]


def test_one_damaged_record_costs_no_other_and_half_made_files_are_cleared(tmp_path: Path) -> None:
    shelf = stored(tmp_path, record(1), record(2))
    name = record(3).command_session_id
    (tmp_path / f"{name}.json").write_bytes(b'{"command_session_id": ')
    (tmp_path / f"{record(4).command_session_id}.log").write_bytes(b"no record")
    (tmp_path / f"{record(1).command_session_id}.json.new").write_bytes(b"half")
    (tmp_path / f"{record(5).command_session_id}.json").write_bytes(msgspec.json.encode(record(1)))
    (tmp_path / "notes.log").write_bytes(b"a person's")
    assert shelf.open() == [record(1), record(2)]
    left = {path.name for path in tmp_path.iterdir()}
    assert "notes.log" in left
    assert not any(one.endswith((".new", "4.log")) for one in left)


@pytest.mark.parametrize("timestamp", ["", "yesterday", "2026-03-01T11:00:00"])
async def test_a_record_without_its_time_keeps_no_book_from_opening(
    bench: Bench, timestamp: str
) -> None:
    stored(bench.state, record(1, timestamp=timestamp, exit_code=None), record(2))
    async with bench.book() as book:
        await trio.testing.wait_all_tasks_blocked()
        assert book.history() == [record(2)]


async def test_a_disk_that_fails_at_a_commands_end_costs_its_preview_and_nothing_else(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Shelf, "preview", broken)
    bench.make(hello="echo hello")
    async with bench.book() as book:
        over = await bench.over(await book.start(str(bench.project), "hello"))
        assert (over.exit_code, over.output_preview) == (0, "")
        monkeypatch.setattr(Shelf, "output", broken)
        with pytest.raises(StorageFailed, match="cannot be read: Input/output error"):
            await book.output(over.command_session_id)


def test_what_cannot_be_deleted_stays_for_another_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shelf = stored(tmp_path, record(1))

    def busy(self: Path, missing_ok: bool = False) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(Path, "unlink", busy)
    shelf.remove(record(1).command_session_id)
    monkeypatch.undo()
    assert "could not be deleted: Device or resource busy" in caplog.text
    assert shelf.open() == [record(1)]


def test_the_history_is_for_its_owner_alone(tmp_path: Path) -> None:
    shelf = stored(tmp_path / "commands", record(1))
    assert (tmp_path / "commands").stat().st_mode & 0o777 == 0o700
    assert shelf.log_path(record(1).command_session_id).stat().st_mode & 0o777 == 0o600


def test_a_run_that_cannot_be_stored_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = stored(tmp_path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        shelf.begin(record(1))
    monkeypatch.undo()
    assert shelf.open() == []
    assert list(tmp_path.iterdir()) == []


DAEMON = """
import sys
from pathlib import Path
import trio
from podiumd.projects.commands import CommandOutput, open_command_book
from tests.projects.book import environment

async def main():
    root = Path(sys.argv[1])
    def tell(event):
        if isinstance(event, CommandOutput):
            print(event.text, flush=True)
    async with open_command_book(
        root / "commands", environment=environment, tell=tell, home=root
    ) as book:
        await book.start(str(root / "project"), "dev")
        await trio.sleep_forever()

trio.run(main)
"""


async def test_after_a_kill_the_next_daemon_ends_the_command_and_says_that_nobody_saw_its_end(
    bench: Bench,
) -> None:
    bench.make(dev="echo started; echo here >&2; setsid sleep 1000")
    path = os.pathsep.join([str(ROOT / "daemon"), str(ROOT)])
    daemon = subprocess.Popen(
        [sys.executable, "-c", DAEMON, str(bench.root)],
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path},
    )
    try:
        assert daemon.stdout is not None
        with daemon.stdout as said:
            assert {said.readline(), said.readline()} == {"started\n", "here\n"}
    finally:
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
    (before,) = Shelf(bench.state).open()
    assert before.exit_code is None
    assert carriers(before.command_session_id) != []
    async with bench.book() as book:
        over = await bench.over(before)
        assert carriers(before.command_session_id) == []
        assert over.exit_code == -1
        assert over.duration_ms is not None
        assert set(over.output_preview.split()) == {"started", "here"}
        assert book.history() == [over]
    assert Shelf(bench.state).open() == [over]


async def test_a_run_whose_process_never_came_to_be_is_recorded_as_unseen(bench: Bench) -> None:
    lost = record(1, exit_code=None, duration_ms=None)
    stored(bench.state, lost)
    Shelf(bench.state).log_path(lost.command_session_id).unlink()
    async with bench.book() as book:
        over = await bench.over(lost)
        assert (over.exit_code, over.duration_ms, over.output_preview) == (-1, 0, "")
        assert await book.output(lost.command_session_id) == (over, "")


async def test_an_end_that_cannot_be_stored_is_told_all_the_same(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bench.make(hello="echo hello")

    def full(self: Shelf, record: CommandRecord) -> None:
        raise OSError(28, "No space left on device")

    async with bench.book() as book:
        begun = await book.start(str(bench.project), "hello")
        monkeypatch.setattr(Shelf, "put", full)
        over = await bench.over(begun)
        assert book.history() == [over]
    assert "cannot be recorded: No space left on device" in caplog.text
    monkeypatch.undo()
    assert Shelf(bench.state).open() == [begun]
