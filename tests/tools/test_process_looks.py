"""Looks at the environments of all processes, shared by who asks at once."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import trio
from trio.testing import MockClock

from podiumd.tools.process import looks as process_looks
from podiumd.tools.process import processes as process
from podiumd.tools.process.looks import Look, environment, listed, look
from podiumd.tools.process.processes import sweep
from tests.patience import HANG_SECONDS
from tests.tools.test_process import READY, SLEEP, child, named

SWEEPS = 20

EXEC = """
import os, sys
print("ready", flush=True)
sys.stdin.readline()
os.execve("/bin/sh", ["sh", "-c", "echo changed; exec sleep 1000"], {name: value})
"""


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, Counter[int]]]:
    """One process is all that there is: its pid, and how often it was read, and all listed (0)."""
    count = Counter[int]()

    def read(pid: int) -> bytes | None:
        count[pid] += 1
        return environment(pid)

    def list_all() -> list[process_looks.Seen]:
        count[0] += 1
        return [one for one in listed() if one[0] == stranger.pid]

    with child() as stranger:
        monkeypatch.setattr(process_looks, "environment", read)
        monkeypatch.setattr(process_looks, "listed", list_all)
        yield stranger.pid, count


async def test_a_sweep_of_nothing_reads_each_process_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as (stranger, count):
        assert await sweep(str(uuid.uuid4())) == []
    assert count[0] == 2
    assert count[stranger] == (1 if sys.platform == "linux" else 2)


async def test_turns_that_end_together_share_their_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as (stranger, count), trio.fail_after(HANG_SECONDS):
        async with trio.open_nursery() as nursery:
            for _ in range(SWEEPS):
                nursery.start_soon(sweep, str(uuid.uuid4()))
    assert count[0] == 2
    assert count[stranger] == (1 if sys.platform == "linux" else 2)


async def test_each_of_many_finds_its_own() -> None:
    mine, others = str(uuid.uuid4()), str(uuid.uuid4())
    ended: dict[str, int] = {}

    async def swept(turn: str) -> None:
        ended[turn] = len(await sweep(turn))

    with child(turn=mine), child(turn=others), child(turn=others), trio.fail_after(HANG_SECONDS):
        async with trio.open_nursery() as nursery:
            for turn in (mine, others, str(uuid.uuid4())):
                nursery.start_soon(swept, turn)
    assert sorted(ended.values()) == [0, 1, 2] and (ended[mine], ended[others]) == (1, 2)


async def test_where_who_looks_is_cancelled_another_of_those_who_wait_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turn = str(uuid.uuid4())
    entry = f"PODIUM_TURN={turn}".encode()
    first, found = trio.CancelScope(), list[int]()

    def cancelling(pid: int) -> bytes | None:
        first.cancel()
        return environment(pid)

    async def look_first() -> None:
        with first:
            await look(b"PODIUM_TURN=nobody")
        assert first.cancelled_caught

    async def look_second() -> None:
        found.extend((await look(entry)).pids)

    monkeypatch.setattr(process_looks, "environment", cancelling)
    monkeypatch.setattr(process_looks, "SLICE", 1)
    with child(turn=turn) as ours, trio.fail_after(HANG_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look_first)
            nursery.start_soon(look_second)
    assert found == [ours.pid]


async def test_who_is_cancelled_while_others_look_is_not_looked_for() -> None:
    async def cancelled() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            await look(b"PODIUM_TURN=nobody")

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(cancelled)
    assert (await look(b"PODIUM_TURN=nobody")).pids == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing counts as seen")
async def test_what_looks_like_this_process_may_be_a_child_before_its_exec() -> None:
    block = environment(os.getpid())
    assert block
    variables = dict(one.split(b"=", 1) for one in block.split(b"\0") if b"=" in one)
    twin = subprocess.Popen([sys.executable, "-c", READY + SLEEP], env=variables, stdout=-1)
    try:
        assert twin.stdout is not None
        twin.stdout.readline()
        with child() as stranger:
            seen = {pid for pid, _ in (await look(b"PODIUM_TURN=nobody")).seen}
            assert stranger.pid in seen and twin.pid not in seen
    finally:
        twin.kill()
        twin.communicate()


async def test_a_process_that_may_not_read_its_own_environment_reads_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def not_mine(pid: int) -> bytes | None:
        if pid == os.getpid():
            raise PermissionError(pid)
        return environment(pid)

    monkeypatch.setattr(process_looks, "environment", not_mine)
    turn = str(uuid.uuid4())
    with child(turn=turn) as ours:
        assert (await look(f"PODIUM_TURN={turn}".encode())).pids == [ours.pid]


@pytest.mark.parametrize(
    ("name", "begins_with"), [("PODIUM_TURN", ""), ("OTHER", "with"), ("PODIUM_TURN", "with")]
)
async def test_an_exec_changes_whose_a_process_is_and_the_next_sweep_sees_it(
    name: str, begins_with: str
) -> None:
    """A process is known by what it has in its environment now, whatever it had before."""
    turn = str(uuid.uuid4())
    code = EXEC.replace("name", repr(name), 1).replace("value", repr(turn), 1)
    with child(code, turn if begins_with else "", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        if not begins_with:
            assert await sweep(turn) == []
        process.stdin.write(b"\n")
        process.stdin.close()
        assert process.stdout.readline() == b"changed\n"
        with trio.fail_after(HANG_SECONDS):
            ended = await sweep(turn)
        assert len(ended) == (1 if name == "PODIUM_TURN" else 0)
        if not ended:
            assert process.poll() is None


async def test_a_long_environment_is_read_to_its_end() -> None:
    turn = str(uuid.uuid4())
    padding = {f"P{n}": "x" * 60_000 for n in range(4)}
    variables = {"PATH": os.environ["PATH"], **padding, "PODIUM_TURN": turn}
    process = subprocess.Popen([sys.executable, "-c", READY + SLEEP], env=variables, stdout=-1)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        assert (await look(f"PODIUM_TURN={turn}".encode())).pids == [named(process).pid]
    finally:
        process.kill()
        process.communicate()


async def test_a_sweep_that_cannot_decide_gives_up_though_the_tests_clock_stands_still(
    mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0

    async def in_mid_exec(*_: object) -> Look:
        nonlocal looks
        looks += 1
        return Look([], undecided=True, seen=frozenset())

    monkeypatch.setattr(process, "look", in_mid_exec)
    with trio.fail_after(HANG_SECONDS):  # by this clock it would never come to that
        assert await sweep("nobody") == []
    assert looks == process.MOST_UNDECIDED + 2
    assert mock_clock.current_time() == 0
