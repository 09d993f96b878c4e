"""Processes, spools and working trees without their run: named, and left alone."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import msgspec
import pytest
from msgspec.structs import replace

from podiumd.doctor import leftovers
from podiumd.doctor.disk import reading
from podiumd.doctor.subject import Daemon, Subject
from podiumd.observe.checks import Check
from podiumd.store.facts import open_store
from podiumd.store.records import NewFact
from tests.doctor.patient import snapshot, subject
from tests.store.recorded import recorded
from tests.store.support import AT, a_run


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
    assert leftovers._listed(map(str, range(7))) == "0, 1, 2, 3, 4 and 2 more"


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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By SQLite's own count of its instructions."""
    taken = []
    for count in (3, 60):
        (tmp_path / str(count)).mkdir()
        patient = subject(tmp_path / str(count))
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
