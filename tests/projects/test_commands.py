"""Commands from afar: only what was offered, live, in order, bounded, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
import trio
import trio.testing

from podiumd.projects.commands import MOST_AT_ONCE, Bounds
from podiumd.projects.errors import (
    BadPlace,
    StorageFailed,
    TooManyCommands,
    UnknownCommand,
    UnknownRun,
)
from podiumd.projects.records import CommandRecord, Shelf
from podiumd.tools.process.processes import carriers
from tests.projects.book import END, LINE, NOON, START, Bench


async def test_a_command_is_told_from_start_to_end_in_order(bench: Bench) -> None:
    bench.make(**{"say-all": "echo out; echo err >&2; printf last; exit 3"})
    async with bench.book() as book:
        record = await book.start(str(bench.project), "say.all")
        assert record.command_session_id.startswith("cmd-")
        assert (record.command_id, record.shell_command) == ("say.all", "make say-all")
        assert record.timestamp == "2026-03-01T12:00:00.005Z"
        assert (record.exit_code, record.duration_ms, record.output_preview) == (None, None, "")
        over = await bench.over(record)
        assert bench.lines("stdout") == ["out", "last"]
        assert bench.lines("stderr")[0] == "err"
        kinds = bench.kinds(record)
        assert (kinds[0], kinds[-1]) == (START, END)
        assert set(kinds[1:-1]) == {LINE}
        assert over.exit_code == 2  # make's own, for a recipe that failed
        assert over.duration_ms is not None and over.duration_ms > 0
        found, text = await book.output(record.command_session_id)
        assert found == over
        assert set(text.splitlines()) == {*bench.lines("stdout"), *bench.lines("stderr")}
        assert over.output_preview == text[:200]


async def test_a_general_command_runs_in_the_directory(bench: Bench) -> None:
    bench.project.mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=bench.project, check=True)
    (bench.project / "new").write_text("")
    async with bench.book() as book:
        over = await bench.over(await book.start("~/project", "git.status"))
        assert over.exit_code == 0
        assert over.working_directory == str(bench.project)
        assert "\tnew" in bench.lines("stdout")


@pytest.mark.parametrize(
    "command_id",
    ["build; touch pwned", "build\ntouch pwned", "$(touch pwned)", "git.commit", "git status", "",
     "make:build", "group:build", "../build", "build ", "BUILD", "docker", "-f", "x=$(id)"],
)  # fmt: skip
async def test_an_id_that_was_not_offered_is_never_run(bench: Bench, command_id: str) -> None:
    bench.make(**{"build": "true", "docker-up": "true", "docker-down": "true"})
    before = sorted(bench.project.iterdir())
    async with bench.book() as book:
        with pytest.raises(UnknownCommand, match="offers no command"):
            await book.start(str(bench.project), command_id)
        assert book.history() == []
    assert bench.events == []
    assert sorted(bench.project.iterdir()) == before


async def test_a_command_has_the_environment_of_a_command_and_none_of_our_secrets(
    bench: Bench,
) -> None:
    bench.make(env="env")
    async with bench.book() as book:
        record = await book.start(str(bench.project), "env")
        await bench.over(record)
    said = dict(line.partition("=")[::2] for line in bench.lines("stdout"))
    assert said["PODIUM_TURN"] == record.command_session_id
    assert not {"ANTHROPIC_API_KEY", "PODIUM_X"} & said.keys()


async def test_a_name_with_signs_of_the_shell_is_one_word(bench: Bench) -> None:
    bench.project.mkdir()
    (bench.project / "package.json").write_text('{"scripts": {"a; touch pwned": "x"}}')
    (bench.root / "bin").mkdir()
    npm = bench.root / "bin" / "npm"
    npm.write_text('#!/bin/sh\nfor word; do echo "[$word]"; done\n')
    npm.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(npm.parent), prepend=":")
        async with bench.book() as book:
            await bench.over(await book.start(str(bench.project), "npm:a; touch pwned"))
    assert bench.lines("stdout") == ["[run]", "[a; touch pwned]"]


async def test_a_command_that_cannot_be_started_says_why_and_ends_with_127(bench: Bench) -> None:
    bench.project.mkdir()
    (bench.project / "package.json").write_text('{"scripts": {"a": "x"}}')
    (bench.project / "pnpm-lock.yaml").write_text("")
    async with bench.book() as book:
        record = await book.start(str(bench.project), "npm:a")
        over = await bench.over(record)
        assert over.exit_code == 127
        assert over.output_preview.startswith("the program 'pnpm' was not found on PATH")
        assert bench.lines("stderr") == [over.output_preview.strip()]


async def test_a_signal_shows_in_the_exit_code_as_in_a_shell(bench: Bench) -> None:
    bench.make(die="kill -KILL $$PPID; sleep 1000")
    async with bench.book() as book:
        assert (await bench.over(await book.start(str(bench.project), "die"))).exit_code == 128 + 9


async def test_output_comes_while_the_command_runs_and_what_it_left_is_ended(
    bench: Bench,
) -> None:
    bench.make(dev="(setsid sleep 1000 &) ; echo ready; read line < gate")
    bench.project.joinpath("x").touch()
    subprocess.run(["mkfifo", bench.project / "gate"], check=True)
    async with bench.book() as book:
        record = await book.start(str(bench.project), "dev")
        await bench.said("ready")
        assert (await book.output(record.command_session_id))[1] == "ready\n"
        assert book.history()[0].exit_code is None
        async with await trio.open_file(bench.project / "gate", "w") as gate:
            await gate.write("go\n")
        assert (await bench.over(record)).exit_code == 0
        assert carriers(record.command_session_id) == []


async def test_a_start_that_is_given_up_gives_its_place_back(bench: Bench) -> None:
    """A phone that leaves while its command waits for a thread."""
    bench.make(quick="true")
    threads = trio.to_thread.current_default_thread_limiter()
    async with bench.book() as book:
        await trio.testing.wait_all_tasks_blocked()
        total, threads.total_tokens = threads.total_tokens, 1
        async with threads:
            for _ in range(MOST_AT_ONCE):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(book.start, str(bench.project), "quick")
                    while not threads.statistics().tasks_waiting:
                        await trio.lowlevel.checkpoint()
                    nursery.cancel_scope.cancel()
        threads.total_tokens = total
        assert (await bench.over(await book.start(str(bench.project), "quick"))).exit_code == 0


async def test_sixteen_run_at_once_and_one_more_is_refused(bench: Bench) -> None:
    bench.make(wait="echo here; sleep 1000", quick="true")
    async with bench.book() as book:
        for _ in range(MOST_AT_ONCE):
            await book.start(str(bench.project), "wait")
        with pytest.raises(TooManyCommands, match="16 commands are running"):
            await book.start(str(bench.project), "quick")
        assert len(book.history()) == MOST_AT_ONCE
        await bench.until(lambda _: len(bench.lines("stdout")) == MOST_AT_ONCE)
        victim = book.history()[0]
        for identity in carriers(victim.command_session_id):
            with suppress(ProcessLookupError):  # it went with the one before
                os.kill(identity.pid, signal.SIGKILL)
        await bench.over(victim)
        assert (await bench.over(await book.start(str(bench.project), "quick"))).exit_code == 0


async def test_two_starts_at_once_do_not_share_the_last_place(bench: Bench) -> None:
    bench.make(wait="sleep 1000")
    refused = 0
    async with bench.book() as book:

        async def try_one() -> None:
            nonlocal refused
            try:
                await book.start(str(bench.project), "wait")
            except TooManyCommands:
                refused += 1

        async with trio.open_nursery() as nursery:
            for _ in range(MOST_AT_ONCE + 4):
                nursery.start_soon(try_one)
    assert refused == 4


async def test_a_daemon_that_stops_ends_its_commands_and_records_it(bench: Bench) -> None:
    bench.make(
        polite="trap 'echo bye; exit 0' TERM; echo one; while :; do sleep 0.05; done",
        stubborn="trap '' TERM; echo two; while :; do sleep 1000; done",
    )
    async with bench.book() as book:
        records = [await book.start(str(bench.project), name) for name in ("polite", "stubborn")]
        await bench.said("one")
        await bench.said("two")
    assert "bye" in bench.lines("stdout")
    for record in records:
        assert carriers(record.command_session_id) == []
        assert (await bench.over(record)).exit_code == 143
    async with bench.book() as book:
        assert [one.exit_code for one in book.history()] == [143, 143]
        text = (await book.output(records[1].command_session_id))[1]
        assert text.endswith("[Podium stopped, and ended this command]\n")


async def test_what_cannot_be_recorded_is_not_started(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.make(touch="touch made")
    async with bench.book() as book:
        (bench.state / "away").mkdir()
        monkeypatch.setattr(book._shelf, "_directory", bench.state / "away" / "gone")
        for _ in range(MOST_AT_ONCE + 1):  # a failed start takes no place
            with pytest.raises(StorageFailed, match="cannot be recorded"):
                await book.start(str(bench.project), "touch")
    assert bench.events == []
    assert not (bench.project / "made").exists()


async def test_bad_places_and_unknown_runs_are_refused_in_words(bench: Bench) -> None:
    async with bench.book() as book:
        for call in (book.offer("rel"), book.start("/nowhere/x", "git.status")):
            with pytest.raises(BadPlace):
                await call
        with pytest.raises(BadPlace):
            book.history("rel")
        with pytest.raises(UnknownRun, match="no command run 'cmd-1'"):
            await book.output("cmd-1")


async def test_a_flood_of_short_lines_leaves_others_their_turn(bench: Bench) -> None:
    """20 MB of ``y``: a pass of the loop tells a piece or two, what is kept and told is bounded."""
    bench.make(flood="yes | head -c 20000000")
    most = 0
    async with bench.book() as book:
        record = await book.start(str(bench.project), "flood")
        done = trio.Event()

        async def beat() -> None:
            nonlocal most
            while not done.is_set():
                before = len(bench.events)
                await trio.lowlevel.checkpoint()
                most = max(most, len(bench.events) - before)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(beat)
            await bench.over(record)
            done.set()
        _, text = await book.output(record.command_session_id)
    assert 10_000_000 < len(text) < 10.1 * 1024 * 1024
    assert "bytes of output are left out here]" in text
    assert len(bench.lines("stdout")) == 50_000
    assert 0 < most <= 2 * 4096 // len("y\n") + 1


# -- the history of commands: 7 days, durable before anything runs, honest after a kill -9 ---


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
    for ending in ("new", "draft"):  # the first of an earlier release
        (tmp_path / f"{record(1).command_session_id}.json.{ending}").write_bytes(b"half")
    (tmp_path / f"{record(5).command_session_id}.json").write_bytes(msgspec.json.encode(record(1)))
    (tmp_path / "notes.log").write_bytes(b"a person's")
    assert shelf.open() == [record(1), record(2)]
    left = {path.name for path in tmp_path.iterdir()}
    assert "notes.log" in left
    assert not any(one.endswith((".new", ".draft", "4.log")) for one in left)


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
