"""Room, latency, and databases that are read without a trace."""

from __future__ import annotations

import os
import sqlite3
from collections import namedtuple
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from podiumd.doctor import disk
from podiumd.doctor.subject import Daemon, Subject
from podiumd.observe.checks import Check
from podiumd.store.facts import open_store
from podiumd.store.index import open_index
from podiumd.store.schema import MIGRATIONS
from tests.doctor.patient import only, snapshot, subject
from tests.store.support import a_fact, a_run

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
