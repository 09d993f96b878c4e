"""What the sessions cost, however many there are: by counts of what is read and listed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podiumd.sessions.index import compare, sweep_pause, table
from podiumd.sessions.index.compare import Changes
from podiumd.sessions.index.tree import Root
from podiumd.sessions.log import reading
from tests.sessions.service import Home, Service
from tests.sessions.support import append, line, session_id

SIZES = (10, 200)
A_PROJECT = 5


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Counts bytes of transcripts that were read, and directories that were listed."""
    counts: Counter[str] = Counter()
    read, listed = reading._read, os.scandir

    def reads(fd: int, size: int, offset: int) -> bytes:
        data = read(fd, size, offset)
        counts["bytes"] += len(data)
        return data

    def lists(path: Any) -> Any:
        counts["listings"] += 1
        return listed(path)

    monkeypatch.setattr(reading, "_read", reads)
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", lists)
        yield counts


def fill(home: Home, sessions: int) -> None:
    for number in range(1, sessions + 1):
        home.write(line(1) + line(2), number, project=f"-app-{number // A_PROJECT}")
        beside = home.path(number, f"-app-{number // A_PROJECT}").with_suffix("") / "subagents"
        beside.mkdir(parents=True)
        (beside / "agent-1.jsonl").write_bytes(b"{}\n")


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize("sessions", SIZES)
async def test_a_look_at_what_is_as_it_was_reads_nothing_lists_once_and_keeps_nothing(
    home: Home, done: Counter[str], monkeypatch: pytest.MonkeyPatch, sessions: int
) -> None:
    monkeypatch.setattr(sweep_pause, "UNWATCHED_SWEEP_SECONDS", 3600.0)
    fill(home, sessions)
    directories = 1 + sum(path.is_dir() for path in home.projects.rglob("*"))
    async with home.running() as service:
        done.clear()
        known = await service.index.ask(table.known)
        found, changes = compare.look([Root("claude", home.projects)], known, 1, lambda: None)
    assert done == {"listings": directories}
    assert (changes, found.sessions, found.companions) == (Changes(), [], [])
    assert len(found.same) == len(found.same_companions) == sessions


@pytest.mark.usefixtures("unwatched")
async def test_an_append_costs_as_much_among_many_sessions_as_among_few(
    tmp_path: Path, done: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_pause, "UNWATCHED_SWEEP_SECONDS", 3600.0)
    costs = []
    for sessions in SIZES:
        home = Home(tmp_path / str(sessions))
        fill(home, sessions)
        async with home.running() as service:
            costs.append(await grow(service, done))
    assert costs[0] == costs[1]


async def grow(service: Service, done: Counter[str]) -> tuple[Counter[str], int]:
    """What is read and listed for a line more in a session, and how many rows are written."""
    await service.page()
    path = Path((await service.row()).path)
    assert path.stem == session_id()
    connection = service.index._connection
    done.clear()
    before = connection.total_changes
    append(path, line(3))
    await service.take(path)
    assert service.opened().last_seq == 3
    return Counter(done), connection.total_changes - before
