"""Sweeps that read in processes of their own."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from threading import Event
from typing import Any

import pytest
import trio

from podiumd.sessions.index import bulk, compare, follower, table
from podiumd.sessions.index.compare import changed
from podiumd.sessions.index.database import Index
from podiumd.sessions.index.tree import Known
from podiumd.sessions.index.walk import Tree
from tests.patience import HANG_SECONDS
from tests.sessions.service import Home, complaints
from tests.sessions.support import line, lines


@pytest.mark.parametrize(("worthwhile", "processes"), [(1, 2), (10**9, 0)])
async def test_a_sweep_with_much_to_read_has_processes(
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    started: list[trio.Process],
    worthwhile: int,
    processes: int,
) -> None:
    monkeypatch.setattr(follower, "WORTHWHILE_BYTES", worthwhile)
    monkeypatch.setattr(follower, "process_count", lambda: 2)
    monkeypatch.setattr(bulk, "BATCH_FILES", 2)
    for number in range(1, 10):
        home.write(lines(1, number), number)
    async with home.running() as service:
        assert len(started) == processes
        for number in range(1, 10):
            assert (await service.row(number)).summary.messages == number
        await service.sweep()
        assert len(started) == processes  # nothing was left to read
    assert all(process.returncode is not None for process in started)


async def test_while_all_that_was_read_waits_to_be_stored_the_processes_read_on(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "WORTHWHILE_BYTES", 1)
    monkeypatch.setattr(follower, "process_count", lambda: 1)
    monkeypatch.setattr(bulk, "BATCH_FILES", 1)
    write, stored, waiting, enough = Index.write_aside, trio.Event(), [0], trio.Event()

    async def late(self: Index, change: Any, *args: Any) -> Any:
        if change is table.save:
            waiting[0] += 1
            if waiting[0] == 3:
                enough.set()
            await stored.wait()
        return await write(self, change, *args)

    monkeypatch.setattr(Index, "write_aside", late)
    for number in range(1, 8):
        home.write(line(1), number)
    with trio.fail_after(HANG_SECONDS):
        async with home.running(complete=False) as service:
            await enough.wait()
            stored.set()
            await service.transcripts.complete()
            assert await service.transcripts.count() == 7


async def test_the_processes_of_a_first_look_start_while_it_looks(
    home: Home, monkeypatch: pytest.MonkeyPatch, started: list[trio.Process]
) -> None:
    """A tree that is not known at all and large is all to be read: that is seen early."""
    monkeypatch.setattr(follower, "WORTHWHILE_BYTES", 1)
    monkeypatch.setattr(follower, "process_count", lambda: 1)
    running = Event()
    start = bulk._start

    async def noted(command: Sequence[str]) -> trio.Process | None:
        process = await start(command)
        running.set()
        return process

    def compared(known: Known, found: Tree) -> compare.Changes:
        if not known.sessions:  # the second look, after the first, has nothing to read
            assert running.wait(HANG_SECONDS)
        return changed(known, found)

    monkeypatch.setattr(bulk, "_start", noted)
    monkeypatch.setattr(compare, "changed", compared)
    home.write(line(1))
    async with home.running() as service:
        assert (await service.row()).summary.messages == 1
    assert [process.returncode is not None for process in started] == [True]


async def test_a_sweep_with_processes_that_cannot_store_ends_and_is_told_once(
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    started: list[trio.Process],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(follower, "WORTHWHILE_BYTES", 1)
    monkeypatch.setattr(follower, "process_count", lambda: 2)
    monkeypatch.setattr(bulk, "BATCH_FILES", 1)

    def fails(*args: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    async with home.running() as service:
        for number in range(1, 6):
            home.write(line(1), number)
        with monkeypatch.context() as patch:
            patch.setattr(table, "save", fails)
            await service.sweep()
            assert complaints(caplog, "Sessions cannot be indexed")
        await service.sweep()
        assert await service.transcripts.count() == 5
    assert all(process.returncode is not None for process in started)
