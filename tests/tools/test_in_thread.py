"""A program that one thread runs: what it says, and that it is ended with all it has started."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import trio

from podiumd.tools.process import in_thread
from podiumd.tools.process.in_thread import PrintedTooMuchError, Program
from podiumd.tools.process.memory import bounded
from tests.patience import HANG_SECONDS

ENVIRONMENT = {"PATH": os.environ["PATH"], "OWN": "own"}


def program(code: str, stdin: bytes = b"") -> Program:
    return Program(["sh", "-c", code], ENVIRONMENT, stdin)


async def test_what_it_says_and_how_it_ended() -> None:
    one = program("cat; echo $OWN; echo wrong >&2; exit 3", b"given\n" * 100_000)
    await one.over()
    done = one.result()
    assert done.stdout == b"given\n" * 100_000 + b"own\n"
    assert (done.stderr, done.returncode) == (b"wrong\n", 3)
    await one.end()  # harmless


async def test_without_input_there_is_none_to_wait_for() -> None:
    one = program("cat")
    await one.over()
    assert one.result().stdout == b""


async def test_one_that_is_not_there_is_said() -> None:
    one = Program([f"{Path(sys.executable)}-none"], ENVIRONMENT, b"")
    await one.over()
    with pytest.raises(FileNotFoundError):
        one.result()


@pytest.mark.parametrize("stubborn", [False, True])
async def test_it_is_ended_with_what_it_has_started(
    tmp_path: Path, stubborn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if stubborn:
        monkeypatch.setattr(in_thread, "TERMINATE_SECONDS", 0.0)
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    trap = "trap '' TERM; " if stubborn else ""
    one = program(f"{trap}sh -c 'echo > {begun}; exec sleep 1000' & wait")
    await trio.to_thread.run_sync(begun.read_bytes)

    await one.end()
    await one.over()  # nobody can write to its output any more
    assert one.result().returncode in (-signal.SIGTERM, -signal.SIGKILL)


async def test_one_that_is_given_up_before_it_was_started_is_ended() -> None:
    one = program("exec sleep 1000")
    await one.end()
    await one.over()
    assert one.result().returncode == -signal.SIGTERM


async def test_what_has_left_its_group_and_keeps_its_output_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_thread, "TERMINATE_SECONDS", 0.0)
    begun, end = tmp_path / "begun", tmp_path / "end"
    for pipe in (begun, end):
        os.mkfifo(pipe)
    one = program(f"setsid sh -c 'echo > {begun}; cat {end}' & wait")
    await trio.to_thread.run_sync(begun.read_bytes)

    with trio.fail_after(HANG_SECONDS):
        await one.end()
        await one.over()  # its thread does not wait for what is left either
    assert one.result().returncode in (-signal.SIGTERM, -signal.SIGKILL)

    await trio.to_thread.run_sync(end.write_bytes, b"")  # it was still there to be ended


async def test_one_that_reads_no_more_of_its_input_comes_to_its_end() -> None:
    one = program("exec <&-; echo over", b"much" * 1_000_000)
    await one.over()
    done = one.result()
    assert (done.stdout, done.returncode) == (b"over\n", 0)


@pytest.mark.skipif(sys.platform != "linux", reason="the system has no such bound")
@pytest.mark.parametrize("from_its_start", [False, True])
async def test_it_gets_no_more_memory_than_is_said(from_its_start: bool) -> None:
    most = 512 * 1024**2
    code = "import sys; sys.stdin.read(); print(len(bytes(600 * 1024**2)))"
    command = [sys.executable, "-c", code]
    line = bounded(command, most) if from_its_start else command
    one = Program(line, ENVIRONMENT, b"go", memory=None if from_its_start else most)
    await one.over()
    done = one.result()
    assert b"MemoryError" in done.stderr and done.returncode == 1


@pytest.mark.parametrize("stubborn", [False, True])
async def test_one_that_prints_too_much_is_ended_with_what_it_has_started(
    tmp_path: Path, stubborn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_thread, "MOST_PRINTED", 100_000)
    if stubborn:
        monkeypatch.setattr(in_thread, "TERMINATE_SECONDS", 0.0)
    trap = "trap '' TERM; " if stubborn else ""
    held = tmp_path / "held"
    os.mkfifo(held)
    one = program(f"{trap}exec 3> {held}; yes & wait")
    pipe = await trio.to_thread.run_sync(held.open, "rb")
    with trio.fail_after(HANG_SECONDS), pipe:
        await one.over()
        await one.end()
        await one._over.wait()  # its thread is over
        assert await trio.to_thread.run_sync(pipe.read) == b""  # and nobody is left to hold it
    with pytest.raises(PrintedTooMuchError):
        one.result()


async def test_as_much_as_it_may_print_is_kept_and_of_its_errors_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(in_thread, "MOST_PRINTED", 100_000)
    monkeypatch.setattr(in_thread, "MOST_SAID", 10)
    one = program("head -c 100000 /dev/zero; yes warning | head -c 100000 >&2; echo fatal >&2")
    await one.over()
    done = one.result()
    assert (len(done.stdout), len(done.stderr)) == (100_000, 10)
    assert done.stderr.endswith(b"fatal\n")
