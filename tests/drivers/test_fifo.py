"""Whole lines into a named pipe, or nothing."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from podiumd.drivers import fifo as fifo_module
from podiumd.drivers.fifo import (
    MAX_LINE_BYTES,
    AgentGone,
    Fifo,
    FifoError,
    LineTooLong,
    Poisoned,
    create_fifo,
)
from tests.patience import HANG_SECONDS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "in"


@pytest.fixture
def agent(path: Path) -> Iterator[int]:
    """The agent's end: open for reading and writing, as a child would hold it."""
    descriptor = create_fifo(path)
    os.set_blocking(descriptor, False)
    yield descriptor
    os.close(descriptor)


def read_all(descriptor: int) -> bytes:
    found = b""
    while select.select([descriptor], [], [], 0)[0]:
        found += os.read(descriptor, 1 << 20)
    return found


async def test_lines_arrive_whole_and_in_order(path: Path, agent: int) -> None:
    fifo = Fifo(path)
    await fifo.send(b"one\n")
    await fifo.send(b"two\n")
    assert read_all(agent) == b"one\ntwo\n"


async def test_several_lines_go_in_at_once_though_nobody_reads_yet(path: Path, agent: int) -> None:
    """A long one behind another would have to wait for an empty pipe."""
    lines = (b"first\n", b"x" * 100_000 + b"\n")
    with trio.fail_after(HANG_SECONDS):
        await Fifo(path).send(*lines)
    assert read_all(agent) == b"".join(lines)
    with pytest.raises(LineTooLong, match="attach it as a file"):
        await Fifo(path).send(b"first\n", b"x" * (MAX_LINE_BYTES - 5) + b"\n")
    with pytest.raises(ValueError, match="exactly one newline"):
        await Fifo(path).send(b"first\n", b"second")
    assert read_all(agent) == b""


async def test_the_pipe_is_private_and_a_megabyte_large(path: Path, agent: int) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    if sys.platform == "linux":
        assert fcntl.fcntl(agent, fcntl.F_GETPIPE_SZ) == 1 << 20


@pytest.mark.parametrize("line", [b"", b"no newline", b"two\nlines\n", b"\n\n"])
async def test_what_is_not_one_line_is_refused(path: Path, agent: int, line: bytes) -> None:
    with pytest.raises(ValueError, match="exactly one newline"):
        await Fifo(path).send(line)
    assert read_all(agent) == b""


async def test_the_longest_line_passes_and_one_byte_more_is_refused(path: Path, agent: int) -> None:
    longest = b"x" * (MAX_LINE_BYTES - 1) + b"\n"
    await Fifo(path).send(longest)
    assert read_all(agent) == longest
    with pytest.raises(LineTooLong, match="attach it as a file"):
        await Fifo(path).send(b"x" + longest)
    assert read_all(agent) == b""


async def test_a_short_line_waits_until_there_is_room(
    path: Path, agent: int, autojump_clock: trio.testing.MockClock
) -> None:
    fifo = Fifo(path)
    fill(agent)
    with trio.move_on_after(1) as scope:
        await fifo.send(b"late\n")
    assert scope.cancelled_caught
    assert b"late" not in read_all(agent)


async def test_room_wakes_the_writer(path: Path, agent: int) -> None:
    fifo = Fifo(path)
    fill(agent)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fifo.send, b"late\n")
        await trio.testing.wait_all_tasks_blocked()
        found = read_all(agent)
    assert (found + read_all(agent)).endswith(b"late\n")


async def test_a_long_line_waits_until_the_pipe_is_empty(
    path: Path, agent: int, autojump_clock: trio.testing.MockClock
) -> None:
    fifo = Fifo(path)
    await fifo.send(b"first\n")
    long = b"y" * 100_000 + b"\n"
    with trio.move_on_after(10) as scope:
        await fifo.send(long)
    assert scope.cancelled_caught and read_all(agent) == b"first\n"
    await fifo.send(long)
    assert read_all(agent) == long


async def test_many_senders_never_mix_their_lines(path: Path, agent: int) -> None:
    fifo = Fifo(path)
    found: list[bytes] = []

    async def reader() -> None:
        while b"".join(found).count(b"\n") < 20:
            await trio.lowlevel.wait_readable(agent)
            found.append(os.read(agent, 30_000))

    with trio.fail_after(HANG_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reader)
            for number in range(20):
                size = 50_000 if number % 2 else 10
                nursery.start_soon(fifo.send, bytes([65 + number]) * size + b"\n")
    lines = b"".join(found).splitlines()
    assert sorted(line[:1] for line in lines) == [bytes([65 + n]) for n in range(20)]
    assert all(len(set(line)) == 1 for line in lines)


async def test_an_agent_that_never_was_or_has_ended_is_over(tmp_path: Path, path: Path) -> None:
    with pytest.raises(AgentGone):
        await Fifo(tmp_path / "missing").send(b"x\n")
    os.close(create_fifo(path))
    with pytest.raises(AgentGone):
        await Fifo(path).send(b"x\n")


async def test_an_agent_that_ends_while_we_wait_is_over(path: Path) -> None:
    for line in (b"short\n", b"z" * 10_000 + b"\n"):
        agent = create_fifo(path)
        os.set_blocking(agent, False)
        fill(agent)
        with trio.fail_after(HANG_SECONDS):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(expect_over, Fifo(path), line)
                await trio.testing.wait_all_tasks_blocked(0.005)
                os.close(agent)
        path.unlink()


async def expect_over(fifo: Fifo, line: bytes) -> None:
    with pytest.raises(AgentGone):
        await fifo.send(line)


async def test_a_cut_line_poisons_the_pipe_for_good(
    path: Path, agent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo = Fifo(path)
    real = os.write
    monkeypatch.setattr("podiumd.drivers.fifo.os.write", lambda fd, data: real(fd, data[:3]))
    with pytest.raises(Poisoned, match="3 of 8 bytes"):
        await fifo.send(b"poison!\n")
    monkeypatch.undo()
    with pytest.raises(Poisoned):
        await fifo.send(b"more\n")
    assert fifo.poisoned and read_all(agent) == b"poi"


async def test_a_file_in_the_pipes_place_is_not_written_to(path: Path) -> None:
    path.write_bytes(b"")
    with pytest.raises(FifoError, match="is not a pipe"):
        await Fifo(path).send(b"x\n")
    assert path.read_bytes() == b""


async def test_a_refused_pipe_size_leaves_a_smaller_pipe_that_takes_shorter_lines(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fcntl.fcntl

    def refuse(descriptor: int, command: int, *rest: int) -> int:
        if command == fcntl.F_SETPIPE_SZ:
            raise PermissionError("over the user's share")
        return real(descriptor, command, *rest)

    monkeypatch.setattr("podiumd.drivers.fifo.fcntl.fcntl", refuse)
    agent = create_fifo(path)
    try:
        with pytest.raises(LineTooLong, match="at most 61440"):
            await Fifo(path).send(b"x" * 70_000 + b"\n")
        await Fifo(path).send(b"x" * 60_000 + b"\n")
    finally:
        os.close(agent)


@pytest.mark.slow
def test_a_writer_killed_at_any_moment_leaves_a_whole_line_or_none(path: Path, agent: int) -> None:
    """Kill the writer at moments spread over its write: no line may be cut."""
    code = (
        "import sys, trio\n"
        "from pathlib import Path\n"
        "from podiumd.drivers.fifo import Fifo\n"
        "async def main():\n"
        "    fifo = Fifo(Path(sys.argv[1]))\n"
        "    line = b'k' * 1_000_000 + b'\\n'\n"
        "    print('ready', flush=True)\n"
        "    while True:\n"
        "        await fifo.send(line)\n"
        "trio.run(main)\n"
    )
    daemon = str(Path(fifo_module.__file__).parents[2])
    rest = b""
    for _ in range(2):
        writer = subprocess.Popen(
            [sys.executable, "-c", code, str(path)],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": daemon},
            stdout=subprocess.PIPE,
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        for _ in range(3):
            select.select([agent], [], [], 5)
            rest += os.read(agent, 1 << 20)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        rest += read_all(agent)
        lines = rest.split(b"\n")
        assert {len(line) for line in lines[:-1]} <= {1_000_000} and lines[-1] == b""
        rest = b""


def fill(descriptor: int) -> None:
    """Write into the pipe until not one byte more goes in."""
    for size in (65536, 4096, 1):
        try:
            while True:
                os.write(descriptor, b"\n" * size)
        except BlockingIOError:
            continue
