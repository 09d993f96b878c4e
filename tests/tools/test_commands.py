"""Commands: output, limits, endings, and that nothing is left behind."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from podiumd.tools.process import run_command as commands
from podiumd.tools.process.processes import identity_of, wait_gone
from podiumd.tools.process.run_command import CommandResult, run_command
from tests.patience import HANG_SECONDS
from tests.tools.fresh_turn import fresh_turn

TURN = fresh_turn()
ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C"}


async def run(tmp_path: Path, *argv: str, **changes: Any) -> CommandResult:
    arguments: dict[str, Any] = {
        "cwd": tmp_path,
        "environment": ENVIRONMENT,
        "marker_env": {"PODIUM_TURN": TURN},
        "output_cap_bytes": 1_000_000,
        "log_file": tmp_path / "log",
        **changes,
    }
    return await run_command(argv, **arguments)


async def shell(tmp_path: Path, script: str, **changes: Any) -> CommandResult:
    return await run(tmp_path, "sh", "-c", script, **changes)


async def wait_for_file(path: Path) -> str:
    """What a command wrote when it was ready (its first line), through a FIFO: no polling."""
    line = ""
    while not line:  # nothing: that was the end of whoever wrote before
        async with await trio.open_file(path) as fifo:
            line = await fifo.readline()
    return line.strip()


async def test_output_and_errors_are_logged_in_order_and_the_status_is_told(tmp_path: Path) -> None:
    result = await shell(tmp_path, "echo one; echo two >&2; exit 3")
    assert result.exit_status == 3
    assert result.tail == "one\ntwo\n"
    assert (tmp_path / "log").read_text() == "one\ntwo\n"
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600
    assert not result.truncated
    assert not result.timed_out
    assert result.seconds > 0


async def test_the_environment_is_what_was_given_with_the_marker(tmp_path: Path) -> None:
    result = await run(tmp_path, "env", environment={"PATH": "/usr/bin:/bin", "A": "1"})
    assert sorted(result.tail.split()) == ["A=1", "PATH=/usr/bin:/bin", f"PODIUM_TURN={TURN}"]


async def test_the_command_runs_in_its_directory_and_session_without_input(tmp_path: Path) -> None:
    script = "import os,sys; print(os.getcwd(), os.getsid(0) == os.getpid(), sys.stdin.read())"
    result = await run(tmp_path, sys.executable, "-c", script)
    assert result.tail.split() == [str(tmp_path), "True"]


async def test_an_end_by_signal_is_a_negative_status(tmp_path: Path) -> None:
    assert (await shell(tmp_path, "kill -KILL $$")).exit_status == -signal.SIGKILL


async def test_output_over_the_cap_is_counted_and_the_tail_is_still_its_end(tmp_path: Path) -> None:
    script = "import sys; sys.stdout.write('a' * 300_000 + 'the end')"
    result = await run(tmp_path, sys.executable, "-c", script, output_cap_bytes=100_000)
    assert result.truncated
    assert result.exit_status == 0
    assert len(result.tail) == commands.TAIL_BYTES
    assert result.tail.endswith("aathe end")
    logged = (tmp_path / "log").read_text()
    assert logged.startswith("a" * 100_000 + "\n[200007 more bytes of output were dropped; ")
    assert logged.endswith("the limit is 100000 bytes]\n")


async def test_a_full_disk_does_not_fail_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("podiumd.tools.process.run_command.os.write", full)
    result = await shell(tmp_path, "echo hello")
    assert (result.exit_status, result.tail, result.truncated) == (0, "hello\n", True)


@pytest.mark.parametrize(
    ("written", "tail"),
    [
        (b"\xff\xfeok", "\ufffd\ufffdok"),
        ("é".encode() * commands.TAIL_BYTES + b"x", "é" * (commands.TAIL_BYTES // 2 - 1) + "x"),
        (b"\x80" * commands.TAIL_BYTES, "\ufffd" * (commands.TAIL_BYTES // 3)),
        (b"", ""),
    ],
)
async def test_the_tail_is_text_of_at_most_8_kb(tmp_path: Path, written: bytes, tail: str) -> None:
    (tmp_path / "in").write_bytes(written)
    result = await run(tmp_path, "cat", "in")
    assert result.tail == tail
    assert len(result.tail.encode()) <= commands.TAIL_BYTES


class Running:
    """A command under way on a mock clock: time passes only when the test says so."""

    def __init__(self, tmp_path: Path) -> None:
        self.fifo = tmp_path / "fifo"
        os.mkfifo(self.fifo)
        self.result: CommandResult | None = None

    async def start(self, tmp_path: Path, script: str, limit: float) -> None:
        self.result = await shell(tmp_path, script, limit_seconds=limit)


async def test_at_its_limit_a_command_is_ended_and_what_it_said_is_kept(
    tmp_path: Path, mock_clock: trio.testing.MockClock
) -> None:
    running = Running(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(running.start, tmp_path, "echo begun; echo > fifo; exec sleep 1000", 60)
        await wait_for_file(running.fifo)
        mock_clock.jump(61)
    result = running.result
    assert result is not None
    assert result.timed_out
    assert result.exit_status is None
    assert result.tail == "begun\n"
    assert result.seconds == 61
    assert result.message == "ended at its time limit of 60 s"


async def test_a_whole_group_is_given_2_s_to_end_itself_and_is_then_killed(
    tmp_path: Path, mock_clock: trio.testing.MockClock
) -> None:
    running = Running(tmp_path)
    os.mkfifo(tmp_path / "inner")
    stubborn = "trap '' TERM; read ready < inner; echo > fifo; sleep 1000; sleep 1000"
    polite = "trap 'echo polite; echo > fifo; exit' TERM; echo > inner; sleep 1000 & wait"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(running.start, tmp_path, f"({polite}) & {stubborn}", 60)
        await wait_for_file(running.fifo)
        mock_clock.jump(61)
        await wait_for_file(running.fifo)
        assert running.result is None
        mock_clock.jump(commands.TERMINATE_SECONDS)
    result = running.result
    assert result is not None
    assert result.timed_out
    assert "polite\n" in result.tail
    assert result.seconds == 61 + commands.TERMINATE_SECONDS


async def test_cancelling_ends_the_group_before_it_returns(tmp_path: Path) -> None:
    fifo = tmp_path / "ready"
    os.mkfifo(fifo)
    script = "sleep 1000 & echo $$ $! > ready; wait"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(shell, tmp_path, script)
        pids = [int(word) for word in (await wait_for_file(fifo)).split()]
        nursery.cancel_scope.cancel()
    assert len(pids) == 2
    for pid in pids:
        identity = identity_of(pid)
        if identity is not None:  # killed, and perhaps still on its way out
            with trio.fail_after(HANG_SECONDS):
                await wait_gone(identity)


async def test_what_a_finished_command_left_in_its_group_is_ended(tmp_path: Path) -> None:
    result = await shell(tmp_path, "sleep 1000 >/dev/null 2>&1 & echo $!")
    assert result.exit_status == 0
    left = identity_of(int(result.tail))
    if left is not None:  # killed, and perhaps not yet collected
        with trio.fail_after(HANG_SECONDS):
            await wait_gone(left)


async def test_a_survivor_in_another_session_that_keeps_the_output_open_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "TERMINATE_SECONDS", 0.1)
    monkeypatch.setattr(commands, "DRAIN_SECONDS", 0.1)
    with trio.fail_after(HANG_SECONDS):
        os.mkfifo(tmp_path / "fifo")
        apart = "setsid sh -c 'echo $$; echo > fifo; exec sleep 1000' & read ready < fifo"
        result = await shell(tmp_path, apart)
    assert result.exit_status == 0
    os.kill(int(result.tail), signal.SIGKILL)


async def test_last_words_of_a_helper_that_outlives_the_command_for_a_moment_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "DRAIN_SECONDS", 30)
    result = await shell(tmp_path, "(sleep 0.1; echo late) & echo early")
    assert result.tail == "early\nlate\n"


def test_every_reason_not_to_start_is_told(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("echo")
    (tmp_path / "lost").write_text("#!/no/such/interpreter\n")
    (tmp_path / "binary").write_bytes(b"\x01\x02")
    for name in ("lost", "binary"):
        (tmp_path / name).chmod(0o755)
    expected = {
        (): "the command is empty",
        ("no-such-program",): "'no-such-program' was not found on PATH",
        ("./absent",): "the program './absent' does not exist",
        ("./plain",): "'./plain' is not executable; run: chmod +x './plain'",
        ("./lost",): "the interpreter in the first line of './lost' is missing",
        ("./binary",): "'./binary' is no program of this machine",
        ("echo", "a\0b"): "the command cannot be run: embedded null byte",
        ("echo", "x" * 3_000_000): "'echo' cannot be run: Argument list too long",
    }

    async def check() -> None:
        for argv, message in expected.items():
            result = await run(tmp_path, *argv)
            assert result.exit_status is None
            assert message in result.message

    trio.run(check)


async def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    result = await shell(tmp_path, "true", cwd=tmp_path / "gone")
    assert result.exit_status is None
    assert result.message == f"the working directory '{tmp_path / 'gone'}' is not there"


def test_a_directory_that_cannot_be_entered_is_told() -> None:
    error = PermissionError(13, "Permission denied", "/")
    message = commands._why_not(error, ["true"], "/")
    assert message == "the working directory '/' cannot be entered: Permission denied"


async def test_a_log_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "log").symlink_to("victim")
    with pytest.raises(OSError, match="symbolic"):
        await shell(tmp_path, "echo theirs")
    assert (tmp_path / "victim").read_text() == "mine"
