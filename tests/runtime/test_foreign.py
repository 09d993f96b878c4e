"""Foreign holders: who counts as one, and waiting until one is idle or gone."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from podiumd.formats.claude_transcript import LiveSession, live_session_record
from podiumd.runtime.locks import foreign_sessions
from podiumd.runtime.locks.foreign_sessions import foreign_holder, wait_idle
from podiumd.tools.process.processes import Identity, start_of
from tests.patience import HANG_SECONDS


class Person:
    """A process that plays the terminal session of a person, with its record."""

    def __init__(self, config_dir: Path) -> None:
        self.began = time.time()
        self.process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        self.pid = self.process.pid
        (config_dir / "sessions").mkdir(exist_ok=True)
        self.path = config_dir / "sessions" / f"{self.pid}.json"

    def write(self, **changes: Any) -> None:
        record = {
            "pid": self.pid,
            "procStart": str(start_of(self.pid)),
            "sessionId": "s1",
            "cwd": "/project",
            "status": "busy",
            "kind": "interactive",
            "entrypoint": "cli",
            **changes,
        }
        self.path.write_text(json.dumps(record))

    def end(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    person = Person(tmp_path)
    person.write()
    yield person
    person.end()


def test_a_living_process_with_the_session_open_is_a_foreign_holder(
    person: Person, tmp_path: Path
) -> None:
    holder = foreign_holder("s1", tmp_path, ())
    assert holder is not None
    assert (holder.kind, holder.pid, holder.status) == ("foreign", person.pid, "busy")
    assert (holder.session_id, holder.working_directory) == ("s1", "/project")
    assert holder.since is not None
    # Seconds since the system's start, which is known to the second.
    began = datetime.fromisoformat(holder.since).timestamp()
    assert person.began - 2 <= began <= time.time() + 2
    assert foreign_holder("s2", tmp_path, ()) is None


def test_a_start_time_written_as_a_number_counts_too(person: Person, tmp_path: Path) -> None:
    person.write(procStart=start_of(person.pid), status="idle")
    holder = foreign_holder("s1", tmp_path, ())
    assert holder is not None
    assert holder.status == "idle"


def test_our_own_agents_are_no_foreign_holders(person: Person, tmp_path: Path) -> None:
    assert foreign_holder("s1", tmp_path, {person.pid}) is None


def test_a_record_of_a_dead_process_is_ignored_collected_or_not(
    person: Person, tmp_path: Path
) -> None:
    descriptor = os.pidfd_open(person.pid)
    assert person.process.stdin is not None
    person.process.stdin.close()
    os.waitid(os.P_PIDFD, descriptor, os.WEXITED | os.WNOWAIT)
    os.close(descriptor)
    assert foreign_holder("s1", tmp_path, ()) is None, "a zombie"
    person.process.wait()
    assert foreign_holder("s1", tmp_path, ()) is None


def test_a_record_of_an_earlier_process_with_the_same_pid_is_ignored(
    person: Person, tmp_path: Path
) -> None:
    for start in (str((start_of(person.pid) or 0) - 1), None, "Mon Jan  1"):
        person.write(procStart=start)
        assert foreign_holder("s1", tmp_path, ()) is None


@pytest.mark.parametrize("garbage", [b"", b"{", b"\xff", b"[]", b'{"pid": "x"}'])
def test_garbage_is_skipped(person: Person, tmp_path: Path, garbage: bytes) -> None:
    person.path.write_bytes(garbage)
    assert foreign_holder("s1", tmp_path, ()) is None


def test_files_that_are_no_records_are_skipped(person: Person, tmp_path: Path) -> None:
    text = person.path.read_text()
    person.path.unlink()
    for name in (f"{person.pid}", f"{person.pid}.json.tmp", "x.json", ".json", "٣.json"):
        (tmp_path / "sessions" / name).write_text(text)
    (tmp_path / "sessions" / f"{person.pid}.json").mkdir()
    (tmp_path / "sessions" / f"{os.getpid()}.json").write_text(text)  # names another process
    assert foreign_holder("s1", tmp_path, ()) is None


def test_without_the_directory_there_is_no_holder(tmp_path: Path) -> None:
    assert foreign_holder("s1", tmp_path / "none", ()) is None


def test_of_two_processes_the_busy_one_is_named(person: Person, tmp_path: Path) -> None:
    other = Person(tmp_path)
    try:
        for idle, busy in ((person, other), (other, person)):
            idle.write(status="idle")
            busy.write(status="busy")
            holder = foreign_holder("s1", tmp_path, ())
            assert holder is not None
            assert holder.pid == busy.pid
    finally:
        other.end()


def test_a_look_in_the_middle_of_a_rewrite_is_repeated(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = live_session_record
    seen: list[bytes] = []

    def torn_at_first(data: bytes) -> LiveSession | None:
        seen.append(data)
        return real(b"" if len(seen) == 1 else data)

    monkeypatch.setattr(foreign_sessions, "live_session_record", torn_at_first)
    assert foreign_holder("s1", tmp_path, ()) is not None
    assert len(seen) == 2


def test_the_start_is_counted_in_milliseconds_where_there_is_no_proc(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("podiumd.runtime.locks.foreign_sessions.sys.platform", "darwin")
    assert foreign_sessions.started(Identity(1, 1_767_225_600_000)) == "2026-01-01T00:00:00Z"


class Waiting:
    """``wait_idle`` in a task; ``looks`` counts how often it looked and found someone busy."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tmp_path = tmp_path
        self.done = trio.Event()
        self.looked = trio.Event()
        self.looks = 0
        real = foreign_sessions._first_change

        async def counted(*arguments: Any) -> None:
            self.looks += 1
            self.looked.set()
            await real(*arguments)

        monkeypatch.setattr(foreign_sessions, "_first_change", counted)

    async def run(self) -> None:
        await wait_idle("s1", self.tmp_path, ())
        self.done.set()

    async def next_look(self) -> None:
        await self.looked.wait()
        self.looked = trio.Event()


@pytest.fixture
def waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Waiting:
    return Waiting(tmp_path, monkeypatch)


@pytest.mark.parametrize("how", ["idle", "another session", "removed", "ended", "killed"])
async def test_waiting_ends_when_the_holder_is_idle_elsewhere_or_gone(
    person: Person, waiting: Waiting, how: str
) -> None:
    with trio.fail_after(HANG_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(waiting.run)
            await waiting.next_look()
            assert not waiting.done.is_set()
            if how == "idle":
                person.write(status="idle")
            elif how == "another session":
                person.write(sessionId="s2")
            elif how == "removed":
                person.path.unlink()
            elif how == "ended":
                assert person.process.stdin is not None
                person.process.stdin.close()
            else:
                person.process.kill()
            await waiting.done.wait()
    assert person.process.poll() is None or how in ("ended", "killed"), "it is never ended by us"


async def test_waiting_goes_on_while_the_holder_stays_busy_and_does_not_spin(
    person: Person, waiting: Waiting
) -> None:
    with trio.fail_after(HANG_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(waiting.run)
            await waiting.next_look()
            person.write(updatedAt=2)
            await waiting.next_look()
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert not waiting.done.is_set()
            assert waiting.looks < 10, "its own reading does not wake it"
            nursery.cancel_scope.cancel()


async def test_waiting_for_nobody_ends_at_once(tmp_path: Path) -> None:
    with trio.fail_after(HANG_SECONDS):
        await wait_idle("s1", tmp_path, ())
        (tmp_path / "sessions").mkdir()
        await wait_idle("s1", tmp_path, ())


async def test_without_a_watch_the_end_of_the_process_is_still_seen(
    person: Person, waiting: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(observer: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr("podiumd.runtime.locks.foreign_sessions.Observer.start", start)
    with trio.fail_after(HANG_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(waiting.run)
            await waiting.next_look()
            person.process.kill()
