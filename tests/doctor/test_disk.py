"""Room, latency, and databases that are read without a trace."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import uuid
from collections import namedtuple
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

import msgspec
import pytest
from msgspec.structs import replace

from podiumd.doctor import disk, leftovers
from podiumd.doctor.disk import reading
from podiumd.doctor.subject import Daemon, Subject
from podiumd.observe.checks import Check
from podiumd.store.facts import open_store
from podiumd.store.index import open_index
from podiumd.store.records import NewFact
from podiumd.store.schema import MIGRATIONS
from tests.doctor.patient import only, snapshot, subject
from tests.store.recorded import recorded
from tests.store.support import AT, a_fact, a_run

Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(
    ("free", "state"), [(50 << 20, "broken"), (500 << 20, "warn"), (5 << 30, "ok")]
)
def test_room_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, state: str
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(10 << 30, 0, free))
    assert only(disk.space(subject(tmp_path))).state == state


def test_a_disk_that_takes_no_more_files_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.statvfs(tmp_path)
    full = os.statvfs_result([*real[:5], 1000, 0, 0, *real[8:10]])
    monkeypatch.setattr("os.statvfs", lambda path: full)
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(10 << 30, 0, 5 << 30))
    found = only(disk.space(subject(tmp_path)))
    assert found.state == "broken" and "no more files" in found.message


def test_latency_is_measured_in_a_file_without_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = subject(tmp_path)
    before = snapshot(tmp_path)
    assert only(disk.latency(patient)).message.endswith(" ms a commit")
    monkeypatch.setattr(disk, "_SLOW_SECONDS", 0.0)
    assert only(disk.latency(patient)).state == "warn"
    assert snapshot(tmp_path) == before


def test_a_disk_that_cannot_be_written_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> float:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(disk, "_sync_seconds", refused)
    found = only(disk.latency(subject(tmp_path)))
    assert found.state == "warn" and "Read-only file system" in found.message


def facts(patient: Subject) -> Check:
    return disk.databases(patient)[0]


def index(patient: Subject) -> Check:
    return disk.databases(patient)[1]


async def test_databases_of_a_daemon_that_is_down_are_checked_and_left_as_they_are(
    tmp_path: Path,
) -> None:
    patient = subject(tmp_path)
    assert [one.state for one in disk.databases(patient)] == ["ok", "ok"]
    async with open_store(patient.places.state) as store:
        await store.append(a_run(), [a_fact(1)])
    open_index(patient.places.state)[0].close()
    before = snapshot(tmp_path)
    assert facts(patient).message.startswith("sound: ")
    assert facts(patient).message.endswith(f" MiB, runs: 1, schema {len(MIGRATIONS)}")
    assert index(patient).message == "sound, sessions: 0"
    assert snapshot(tmp_path) == before


async def test_what_a_killed_daemon_left_in_the_log_is_read_from_a_copy(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    state = patient.places.state
    async with open_store(state) as store:
        await store.append(a_run(), [a_fact(1)])
        data, log = ((state / name).read_bytes() for name in ("facts.db", "facts.db-wal"))
        running = replace(patient, daemon=Daemon(pid=7))
        assert "runs: 1" in facts(running).message
    (state / "facts.db").write_bytes(data)
    (state / "facts.db-wal").write_bytes(log)
    before = snapshot(tmp_path)
    assert "runs: 1" in facts(patient).message
    assert snapshot(tmp_path) == before


def test_a_damaged_or_strange_database_is_broken(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    path = patient.places.state / "facts.db"
    path.write_bytes(b"no database" * 1000)
    assert facts(patient).state == "broken"
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE t (x)")
    assert facts(patient).message == f"{path} is a database of another program"


async def test_a_database_of_a_newer_release_is_told(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    async with open_store(patient.places.state):
        pass
    path = patient.places.state / "facts.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    assert facts(patient).state == "broken" and "has schema 99" in facts(patient).message


async def test_damage_inside_is_found(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    async with open_store(patient.places.state) as store:
        for number in range(200):
            await store.append(a_run(f"run-{number}"), [a_fact("x" * 500)])
    path = patient.places.state / "facts.db"
    data = bytearray(path.read_bytes())
    for page in range(4096, len(data), 4096):
        data[page : page + 64] = bytes(range(64))
    data[4096 * 2 : 4096 * 3] = b"\xff" * 4096
    path.write_bytes(data)
    assert facts(patient).state == "broken"


def test_a_bad_index_is_made_anew_and_so_no_more_than_a_warning(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    path = patient.places.state / "index.db"
    path.write_bytes(b"no database" * 1000)
    assert index(patient).state == "warn"
    path.unlink()
    connection, _ = open_index(patient.places.state)
    with closing(connection):
        connection.execute("PRAGMA user_version = 1")
    found = index(patient)
    assert found.state == "ok" and "makes it anew" in found.message


def test_a_database_too_large_to_check_in_time_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = subject(tmp_path)
    open_index(patient.places.state)[0].close()
    monkeypatch.setattr(disk, "_CHECK_SECONDS", -1.0)
    monkeypatch.setattr(disk, "_STEPS", 1)
    assert index(patient).message == "too large to check through, sessions: 0"


def test_what_the_state_takes_is_told_by_part_the_largest_first(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    state = patient.places.state
    (state / "facts.db.schema-2").write_bytes(bytes(3 * 1024 * 1024))
    (state / "turns" / "t").mkdir(parents=True)
    (state / "turns" / "t" / "spool").write_bytes(bytes(1024 * 1024))
    (check,) = disk.storage(patient)
    assert check.state == "ok"
    assert f"4.0 MiB at {state}: copies 3.0 MiB, turns 1.0 MiB" in check.message


# -- processes, spools and working trees without their run: named, and left alone ------------


class Carry(Protocol):
    def __call__(self, marker: str, stdin: int | None = None) -> int: ...


@pytest.fixture
def carry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Carry]:
    """Start a process that carries a turn's mark; returns its pid. Others are not looked at."""
    started: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(leftovers, "pids", lambda: [child.pid for child in started])

    def start(marker: str, stdin: int | None = None) -> int:
        child = subprocess.Popen(
            [sys.executable, "-c", "import signal; print(1, flush=True); signal.pause()"],
            stdin=stdin,
            stdout=subprocess.PIPE,
            env={"PODIUM_TURN": marker},
        )
        started.append(child)
        assert child.stdout is not None and child.stdout.readline() == b"1\n"
        return child.pid

    yield start
    for child in started:
        child.kill()
        child.communicate()


async def with_turn(patient: Subject, turn_id: str, status: str = "running") -> None:
    """A run whose turn is open, or has ended."""
    run = replace(a_run(f"run-{turn_id}"), status=status)
    kinds = ["turn.intended", *(["turn.ended"] if status == "ended" else [])]
    data = msgspec.json.encode({"turn_id": turn_id})
    async with open_store(patient.places.state) as store:
        await store.append(run, [NewFact(kind, 1, AT, None, data) for kind in kinds])


def found(patient: Subject, word: str) -> list[Check]:
    return [one for one in leftovers.leftovers(patient) if word in one.message]


async def test_a_process_of_an_open_turn_is_at_work_and_one_of_an_ended_turn_is_left_over(
    tmp_path: Path, carry: Carry
) -> None:
    patient = subject(tmp_path)
    busy, over = str(uuid.uuid4()), str(uuid.uuid4())
    await with_turn(patient, busy)
    await with_turn(patient, over, "ended")
    working, orphan = carry(busy), carry(over)
    (check,) = found(patient, "with the mark")
    assert check.state == "warn" and "'kill PID'" in check.fix
    assert f"{orphan} (" in check.message and f"{working} (" not in check.message


async def test_a_check_and_a_phones_command_are_at_work_too(tmp_path: Path, carry: Carry) -> None:
    patient = subject(tmp_path)
    turn, check_mark, command = str(uuid.uuid4()), str(uuid.uuid4()), f"cmd-{uuid.uuid4()}"
    await with_turn(patient, turn)
    logs = patient.places.state / "checks" / f"run-{turn}"
    logs.mkdir()
    (logs / f"{check_mark}.log").touch()
    records = patient.places.state / "commands"
    records.mkdir()
    (records / f"{command}.json").write_text(json.dumps({"exit_code": None}))
    (records / "cmd-bad.json").write_text("{")
    mine = {carry(check_mark), carry(command), carry(f"name-{uuid.uuid4()}")}
    mine.add(carry(f"worktree-run-{turn}"))
    running = replace(patient, daemon=Daemon(pid=1))
    listed = " ".join(one.message for one in found(running, "with the mark"))
    assert not any(f"{pid} (" in listed for pid in mine)
    down = " ".join(one.message for one in found(patient, "with the mark"))
    assert sum(f"{pid} (" in down for pid in mine) == 2, "no daemon waits for those any more"


async def test_a_turn_of_another_daemon_is_not_ours_to_name(tmp_path: Path, carry: Carry) -> None:
    turn = str(uuid.uuid4())
    spool = tmp_path / "elsewhere/state/turns" / turn / "spool"
    spool.parent.mkdir(parents=True)
    with spool.open("w") as file:
        pid = carry(turn, file.fileno())
        listed = " ".join(one.message for one in found(subject(tmp_path), "with the mark"))
    assert f"{pid} (" not in listed


async def test_spools_and_working_trees_without_a_run_are_named_and_kept(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    state = patient.places.state
    await with_turn(patient, "known")
    for name in ("turns/known", "turns/lost", "worktrees/run-known", "worktrees/run-lost"):
        (state / name).mkdir()
    before = snapshot(tmp_path)
    (spool,) = found(patient, "spools of")
    (tree,) = found(patient, "working trees of")
    assert spool.message == f"spools of no run: {state / 'turns/lost'}"
    assert tree.message == f"working trees of no run: {state / 'worktrees/run-lost'}"
    assert "'git worktree remove PATH'" in tree.fix
    assert snapshot(tmp_path) == before


def test_many_are_counted_and_some_are_named() -> None:
    assert leftovers._listed([*"0123456"]) == "0, 1, 2, 3, 4 and 2 more"


def test_without_the_facts_nothing_is_called_an_orphan(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    (patient.places.state / "facts.db").write_bytes(b"no database" * 1000)
    (check,) = leftovers.leftovers(patient)
    assert check.state == "warn" and check.message.startswith("not looked for: facts.db: ")


async def test_a_database_of_an_earlier_release_is_not_asked(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    recorded(patient.places.state)
    (check,) = leftovers.leftovers(patient)
    assert check.message == "not looked for: facts.db is of an earlier release"
    async with open_store(patient.places.state):
        pass
    (check,) = leftovers.leftovers(patient)
    assert "earlier release" not in check.message


async def test_no_more_is_read_of_a_long_history_than_of_a_short_one(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By SQLite's own count of its instructions."""
    taken = []
    for count in (3, 60):
        # The place of a socket has 107 bytes at most: a test's own directory has a long name.
        patient = subject(tmp_path_factory.mktemp("h"))
        for number in range(count):
            await with_turn(patient, f"{number:03}", "ended" if number else "running")
        (patient.places.state / "turns" / "lost").mkdir()
        steps = [0]

        @contextmanager
        def counted(
            path: Path, daemon_runs: bool, steps: list[int] = steps
        ) -> Iterator[sqlite3.Connection]:
            def step() -> None:
                steps[0] += 1

            with reading(path, daemon_runs) as connection:
                connection.set_progress_handler(step, 1)
                yield connection

        with monkeypatch.context() as patch:
            patch.setattr(leftovers, "reading", counted)
            found(patient, "spools of")
        taken.append(steps[0])
    assert taken[1] <= taken[0] + 20
