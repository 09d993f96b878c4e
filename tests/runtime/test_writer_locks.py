"""Sessions that another process keeps open by a lock: found before anything is prompted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio
from msgspec.structs import replace
from trio.testing import wait_all_tasks_blocked

from podiumd.runtime.errors import Busy
from podiumd.runtime.intake.start_run import hold_session
from podiumd.runtime.locks import writer_locks
from podiumd.runtime.locks.writer_locks import all_writers, wait_unlocked, writer
from tests.patience import HANG_SECONDS
from tests.plain import plain
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine, running
from tests.runtime.test_named_sessions import named

HOLD = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists locks")


@contextmanager
def locking(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the lock of a file, until its input is closed."""
    path.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-S", "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == b"locked\n"
        yield process
        process.stdin.close()


def test_the_process_that_locks_a_session_is_named(tmp_path: Path) -> None:
    with locking(tmp_path / "t1.lock") as process:
        (tmp_path / "t2.lock").touch()
        holder = writer("t1", tmp_path)
        assert holder is not None and holder.since is not None
        assert (holder.kind, holder.pid, holder.session_id) == ("foreign", process.pid, "t1")
        assert writer("t2", tmp_path) is None and writer("t\0", tmp_path) is None
        with locking(tmp_path / ".coordination.lock"), locking(tmp_path / "t3"):
            assert all_writers(tmp_path) == [holder]
    assert writer("t1", tmp_path) is None and all_writers(tmp_path) == []
    assert all_writers(tmp_path / "none") == []


def test_a_lock_whose_device_has_another_number_is_known_by_the_open_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, listed = tmp_path / "t1.lock", tmp_path / "locks"
    with locking(path) as process:
        inode = path.stat().st_ino
        monkeypatch.setattr(writer_locks, "_LOCKS", listed)
        for line, pid in {
            f"1: FLOCK  ADVISORY  WRITE {process.pid} 0:ff:{inode} 0 EOF": process.pid,
            f"1: FLOCK  ADVISORY  WRITE {os.getpid()} 0:ff:{inode} 0 EOF": None,
            f"1: -> FLOCK  ADVISORY  WRITE {process.pid} 0:ff:{inode} 0 EOF": None,
            f"1: POSIX  ADVISORY  WRITE {process.pid} 0:ff:{inode} 0 EOF": None,
            f"1: FLOCK  ADVISORY  READ {process.pid} 0:ff:{inode} 0 EOF": None,
        }.items():
            listed.write_text(f"{line}\n")
            found = writer("t1", tmp_path)
            assert (None if found is None else found.pid) == pid, line
        listed.unlink()
        assert writer("t1", tmp_path) is None


def test_a_lock_whose_process_is_not_seen_has_a_holder_without_a_pid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, listed = tmp_path / "t1.lock", tmp_path / "locks"
    path.touch()
    there = path.stat()
    device = f"{os.major(there.st_dev):x}:{os.minor(there.st_dev):x}"
    listed.write_text(f"1: FLOCK  ADVISORY  WRITE 0 {device}:{there.st_ino} 0 EOF\n")
    monkeypatch.setattr(writer_locks, "_LOCKS", listed)
    holder = writer("t1", tmp_path)
    assert holder is not None and (holder.kind, holder.pid) == ("foreign", None)
    assert trio.run(wait_unlocked, "t1", tmp_path) is False


async def test_a_lock_is_waited_for_until_its_process_ends(tmp_path: Path) -> None:
    with trio.fail_after(HANG_SECONDS), locking(tmp_path / "t1.lock") as process:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait_unlocked, "t1", tmp_path)
            await wait_all_tasks_blocked()
            assert nursery.child_tasks
            assert process.stdin is not None
            process.stdin.close()
        assert await wait_unlocked("t1", tmp_path)


async def test_a_session_that_another_agent_than_the_first_keeps_open_is_refused(
    machine: Machine, tmp_path: Path
) -> None:
    async with running(machine) as daemon:
        first = replace(daemon.context.agents["claude"], config_directory=tmp_path / "none")
        second = replace(first, config_directory=None, writer_locks=tmp_path / "locks")
        context = replace(daemon.context, agents={"claude": first, "codex": second})
        with locking(tmp_path / "locks" / "t1.lock") as process:
            with pytest.raises(Busy) as refused:
                hold_session(context, daemon.session_locks, "run", "t1", "prompt", "t1")
            assert plain(refused.value.data)["holder"]["pid"] == process.pid
        daemon.session_locks.release("run")


@pytest.fixture
def locked(machine: Machine) -> Path:
    """The directory of the locks of an agent that names its sessions and keeps others out."""
    can = replace(machine.agent.capabilities, names_sessions=True)
    machine.agent.capabilities = can
    machine.writer_locks = machine.state.parent / "thread-writer-locks"
    return machine.writer_locks


async def test_a_session_open_elsewhere_is_refused_before_anything_is_prompted(
    machine: Machine, locked: Path
) -> None:
    async with running(machine) as daemon, trio.open_nursery() as nursery:
        session, _ = await named(daemon, "thread-1")
        with locking(locked / "thread-1.lock") as process:
            with pytest.raises(Busy) as raised:
                await daemon.prompt(session_id=session)
            told = plain(raised.value.data)
            assert (told["holder"]["kind"], told["holder"]["pid"]) == ("foreign", process.pid)
            assert told["fix"] == "Close it there, or fork the session."
            (lock,) = await daemon.service.locks()
            assert (lock.session_id, lock.holder.pid) == (session, process.pid)
            with pytest.raises(Busy):
                await daemon.start(machine.one_step("one"), session_id=session)
            forked = await daemon.prompt("Beside it", session_id=session, fork=True)
            turn = await daemon.turn()
            assert (turn.prompt, turn.request.session_mode) == ("Beside it", "fork")
            turn.end(done())
            await daemon.ended(forked["run_id"])

            async def take_over() -> None:
                await daemon.prompt("Let me", session_id=session, take_over=True)

            nursery.start_soon(take_over)
            await wait_all_tasks_blocked()
            assert process.stdin is not None
            process.stdin.close()
            turn = await daemon.turn()
            assert turn.prompt == "Let me"
            turn.end(done())


async def test_a_run_whose_session_was_opened_elsewhere_meanwhile_asks_and_goes_on_once_it_is_free(
    machine: Machine, locked: Path, gated: str
) -> None:
    async with running(machine) as daemon:
        session, _ = await named(daemon, "thread-1")
        run_id, _ = await daemon.waiting(gated, session_id=session)
        with locking(locked / "thread-1.lock") as process:
            await daemon.answer(run_id, "yes")
            question = await daemon.question(run_id)
            assert question["kind"] == "recover" and f"pid {process.pid}" in question["detail"]
        await daemon.answer(run_id, "retry")
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"
