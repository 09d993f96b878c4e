"""Processes by pid and start time; the sweep of a turn's processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.tools.process import cgroup
from podiumd.tools.process.looks import environment
from podiumd.tools.process.processes import (
    Identity,
    alive,
    carriers,
    command_line,
    identity_of,
    marks,
    send_signal,
    settled_carriers,
    start_of,
    sweep,
    wait_gone,
)
from tests.patience import HANG_SECONDS
from tests.waits import waits_on

READY = "import sys; print('ready', flush=True); "
SLEEP = "import time; time.sleep(1000)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "


@contextmanager
def child(
    code: str = READY + SLEEP, turn: str = "", **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Run Python code that prints a line when it is ready; ended and collected at the end."""
    environment = {"PATH": os.environ["PATH"], **({"PODIUM_TURN": turn} if turn else {})}
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, **options
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def named(process: subprocess.Popen[bytes]) -> Identity:
    found = identity_of(process.pid)
    assert found is not None
    return found


def test_this_process_is_alive_and_a_later_one_of_its_pid_would_not_be_it() -> None:
    start = start_of(os.getpid())
    assert start is not None
    assert alive(Identity(os.getpid(), start))
    assert not alive(Identity(os.getpid(), start - 1))


def test_a_command_name_with_brackets_and_spaces_does_not_confuse_the_start_time() -> None:
    rename = "open('/proc/self/comm', 'w').write(') R 1 (x'); "
    with child(rename + READY + SLEEP) as odd:
        assert alive(named(odd)) and (start_of(odd.pid) or 0) >= (start_of(os.getpid()) or 0)


async def test_a_zombie_is_dead_though_its_pid_and_start_time_are_as_before() -> None:
    with child() as process:
        identity = named(process)
        process.kill()
        with trio.fail_after(HANG_SECONDS):
            await wait_gone(identity)
        os.kill(process.pid, 0)
        assert start_of(process.pid) == identity.start and not alive(identity)
        assert not send_signal(identity, signal.SIGTERM)
        with trio.fail_after(HANG_SECONDS):
            await wait_gone(identity)


async def test_waiting_for_a_process_ends_when_it_does_and_not_before() -> None:
    with child() as process:
        identity = named(process)
        await waits_on(wait_gone, identity)
        assert send_signal(identity, signal.SIGTERM)
        with trio.fail_after(HANG_SECONDS):
            await wait_gone(identity)
    with trio.fail_after(HANG_SECONDS):
        await wait_gone(identity)
    assert start_of(identity.pid) is None or not alive(identity)


async def test_a_pid_that_was_given_to_another_process_is_never_waited_for_nor_signalled() -> None:
    with child() as process:
        earlier = Identity(process.pid, named(process).start - 1)
        with trio.fail_after(HANG_SECONDS):
            await wait_gone(earlier)
        assert not send_signal(earlier, signal.SIGKILL)
        assert alive(named(process))


def test_carriers_are_those_with_exactly_this_marker() -> None:
    turn = str(uuid.uuid4())
    with child(turn=turn) as ours, child(turn=turn + "0"), child():
        assert carriers(turn) == [named(ours)]


def test_the_marks_are_those_of_living_processes_but_not_our_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other, dead = (str(uuid.uuid4()) for _ in range(3))
    with child(turn=one), child(turn=other), child(turn=dead) as third:
        third.kill()
        third.wait()
        assert marks() & {one, other, dead} == {one, other}
        first = carriers(one)[0].pid
        monkeypatch.setattr(os, "getpid", lambda: first)
        assert marks() & {one, other} == {other}


def test_a_process_with_the_marker_does_not_count_itself() -> None:
    turn = str(uuid.uuid4())
    begin = "from podiumd.tools.process.processes import carriers\n"
    look = f"{begin}print(carriers({turn!r}), flush=True)\n"
    daemon = Path(cgroup.__file__).parents[3]
    environment = {"PATH": os.environ["PATH"], "PODIUM_TURN": turn, "PYTHONPATH": str(daemon)}
    said = subprocess.run(
        [sys.executable, "-c", look], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout == "[]\n"


def test_a_command_line_is_shown_as_typed_and_empty_for_the_dead() -> None:
    with child("import sys; print(1, flush=True); " + SLEEP) as process:
        assert command_line(process.pid).endswith("time.sleep(1000)'")
    assert command_line(process.pid) == ""


async def test_a_sweep_ends_children_of_their_own_session_and_those_that_ignore_sigterm() -> None:
    turn = str(uuid.uuid4())
    with (
        child(turn=turn, start_new_session=True) as away,
        child(STUBBORN + READY + SLEEP, turn) as deaf,
    ):
        with trio.fail_after(HANG_SECONDS):
            ended = await sweep(turn)
        assert len(ended) == 2 and any("SIG_IGN" in line for line in ended)
        assert (
            away.wait(HANG_SECONDS) == -signal.SIGTERM
            and deaf.wait(HANG_SECONDS) == -signal.SIGKILL
        )
        assert carriers(turn) == []


async def test_a_process_in_the_middle_of_an_exec_is_looked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turn, undecided = str(uuid.uuid4()), 3
    with child(turn=turn) as agent:

        def not_at_first(pid: int) -> bytes | None:
            nonlocal undecided
            undecided -= pid == agent.pid
            return None if pid == agent.pid and undecided >= 0 else environment(pid)

        monkeypatch.setattr("podiumd.tools.process.processes.environment", not_at_first)
        assert await settled_carriers(turn) == [named(agent)]
    assert await settled_carriers(turn) == []


async def test_a_process_whose_exec_has_no_end_is_not_waited_for_without_end(
    autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podiumd.tools.process.processes.environment", lambda _pid: None)
    assert await settled_carriers(str(uuid.uuid4())) == []


async def test_a_sweep_names_what_it_first_sees_in_the_middle_of_an_exec(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turn, seen = str(uuid.uuid4()), list[int]()

    def not_at_first(pid: int) -> str:
        seen.append(pid)
        return command_line(pid) if len(seen) > 1 else ""

    monkeypatch.setattr("podiumd.tools.process.processes.command_line", not_at_first)
    with child(turn=turn), trio.fail_after(HANG_SECONDS):
        [line] = await sweep(turn)
    assert "time.sleep(1000)" in line


async def test_a_sweep_finds_what_its_victims_start_while_they_are_ended() -> None:
    turn = str(uuid.uuid4())
    breeding = (
        "import os, signal, subprocess, sys\n"
        "def again(*_):\n"
        f"    subprocess.Popen([sys.executable, '-c', {SLEEP!r}], start_new_session=True)\n"
        "    os._exit(0)\n"
        "signal.signal(signal.SIGTERM, again)\n"
        "print('ready', flush=True)\n"
        "signal.pause()\n"
    )
    with child(breeding, turn):
        with trio.fail_after(HANG_SECONDS):
            ended = await sweep(turn)
        assert len(ended) == 2 and carriers(turn) == []


async def test_a_sweep_of_nothing_is_empty_and_does_not_wait(
    autojump_clock: trio.testing.MockClock,
) -> None:
    began = trio.current_time()
    assert await sweep(str(uuid.uuid4())) == []
    assert trio.current_time() == began


async def test_a_control_group_holds_what_emptied_its_environment() -> None:
    turn = str(uuid.uuid4())
    group = cgroup.create(turn)
    if group is None:
        # A system that gives no group of its own: everything stays quiet.
        assert await cgroup.end(None) == []
        return
    hiding = (
        "import subprocess, sys\n"
        "sys.stdin.readline()\n"
        f"subprocess.Popen([sys.executable, '-c', {SLEEP!r}], env={{}}, start_new_session=True)\n"
        "print('started', flush=True)\n"
    )
    code = "print('ready', flush=True)\n" + hiding
    with child(code, turn, stdin=subprocess.PIPE) as process:
        assert cgroup.enter(group, process.pid)
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdin.close()
        process.wait()
        assert await sweep(turn) == []
        with trio.fail_after(HANG_SECONDS):
            ended = await cgroup.end(group)
        assert len(ended) == 1 and "time.sleep(1000)" in ended[0]
        assert not group.exists()


async def test_a_group_that_is_gone_is_no_error(tmp_path: Path) -> None:
    missing = tmp_path / "gone"
    assert await cgroup.end(missing) == []
    assert not cgroup.enter(missing, os.getpid())


def test_no_group_is_made_where_the_system_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "own_directory", lambda: None)
    assert cgroup.create("turn") is None and not cgroup.leave_turn_group()


def test_a_directory_that_is_no_control_group_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = tmp_path
    monkeypatch.setattr(cgroup, "own_directory", lambda: root)
    assert cgroup.create("turn") is None
    assert list(root.iterdir()) == []


def test_a_daemon_inside_a_turns_group_moves_out_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inside = tmp_path / "podium-turn-x"
    monkeypatch.setattr(cgroup, "own_directory", lambda: inside)
    assert cgroup.leave_turn_group()
    assert (inside.parent / "cgroup.procs").read_text() == str(os.getpid())


async def test_a_process_caught_in_the_middle_of_an_exec_is_swept_too() -> None:
    """For a moment it has no environment at all: that is not "no marker"."""
    for _ in range(25):
        turn = str(uuid.uuid4())
        environment = {"PATH": os.environ["PATH"], "PODIUM_TURN": turn}
        chain = "exec 1>&- 2>&-; setsid env env env env sleep 994 & exit 0"
        subprocess.run(["sh", "-c", chain], env=environment, check=True, start_new_session=True)
        with trio.fail_after(HANG_SECONDS):
            assert len(await sweep(turn)) == 1
        assert carriers(turn) == []
