"""The index's connection: one use at a time, all of a change or nothing of it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import trio
import trio.testing

from podiumd.sessions.index import database
from podiumd.sessions.index.database import COMMITS_A_CHECKPOINT, LARGE_COMMIT, Index
from podiumd.store.index import INDEX_NAME


def add(connection: sqlite3.Connection, key: str) -> str:
    connection.execute("INSERT INTO meta VALUES (?, 'x')", (key,))
    return key


def keys(connection: sqlite3.Connection) -> list[str]:
    return [key for (key,) in connection.execute("SELECT key FROM meta ORDER BY key")]


def add_and_fail(connection: sqlite3.Connection, key: str) -> None:
    add(connection, key)
    raise sqlite3.OperationalError("disk I/O error")


async def test_what_is_written_is_found_by_either_way_of_asking(index: sqlite3.Connection) -> None:
    shared = Index(index)
    assert await shared.write(add, "a") == "a"
    assert await shared.write_in_thread(add, "b") == "b"
    assert await shared.ask(keys) == await shared.ask_in_thread(keys) == ["a", "b"]


async def test_a_change_that_fails_stores_nothing_and_the_next_goes_on(
    index: sqlite3.Connection,
) -> None:
    shared = Index(index)
    for write in (shared.write, shared.write_in_thread):
        with pytest.raises(sqlite3.OperationalError):
            await write(add_and_fail, "a")
        assert await shared.ask(keys) == []
    await shared.write(add, "b")
    assert await shared.ask(keys) == ["b"]


async def test_a_change_that_finds_the_database_locked_goes_on_later(
    index: sqlite3.Connection, tmp_path: Path
) -> None:
    shared = Index(index)
    index.execute("PRAGMA busy_timeout = 0")
    with closing(sqlite3.connect(tmp_path / "state" / INDEX_NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            await shared.write(add, "a")
        other.execute("ROLLBACK")
    await shared.write(add, "a")
    assert await shared.ask(keys) == ["a"]


async def test_uses_do_not_overlap(index: sqlite3.Connection) -> None:
    """Not even those of a thread and of the event loop, while a transaction is half done."""
    shared = Index(index)
    inside = trio.Event()

    def slow(connection: sqlite3.Connection) -> None:
        add(connection, "a")
        trio.from_thread.run_sync(inside.set)
        trio.from_thread.run(trio.lowlevel.checkpoint)
        add(connection, "b")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(shared.write_in_thread, slow)
        await inside.wait()
        assert await shared.ask(keys) == ["a", "b"]


@pytest.mark.parametrize(("aside", "commits"), [(False, 3), (True, 1)])
async def test_commits_reach_the_file_itself_now_and_then(
    index: sqlite3.Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    aside: bool,
    commits: int,
) -> None:
    """Else the log beside it would grow for ever; a large commit counts for several."""
    monkeypatch.setattr(database, "COMMITS_A_CHECKPOINT", 3)
    monkeypatch.setattr(database, "LARGE_COMMIT", 3)
    shared = Index(index)
    write: Callable[..., object] = shared.write_in_thread if aside else shared.write

    def in_the_file() -> list[str]:
        copy = tmp_path / "copy.db"
        shutil.copy(tmp_path / "state" / INDEX_NAME, copy)
        with closing(sqlite3.connect(copy)) as connection:
            return keys(connection)

    for number in range(commits):
        assert in_the_file() == []
        await write(add, str(number))  # type: ignore[misc]
    assert in_the_file() == [str(number) for number in range(commits)]


async def test_while_the_log_begins_anew_who_reads_goes_on_and_who_writes_waits_outside_of_sqlite(
    index: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite would have the event loop wait, and give up in the end."""
    shared = Index(index)
    index.execute("PRAGMA busy_timeout = 0")
    begun, over = trio.Event(), trio.Event()

    def checkpoint(path: str, mode: str) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            if mode == "RESTART":
                other.execute("BEGIN IMMEDIATE")  # as SQLite does for it
                trio.from_thread.run_sync(begun.set)
                trio.from_thread.run(over.wait)
                other.execute("ROLLBACK")

    monkeypatch.setattr(database, "_checkpoint", checkpoint)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(shared.checkpoint)
        await begun.wait()
        nursery.start_soon(shared.write, add, "a")
        nursery.start_soon(shared.write_in_thread, add, "b")
        await trio.testing.wait_all_tasks_blocked()
        assert await shared.ask(keys) == []
        over.set()
    assert await shared.ask(keys) == ["a", "b"]


async def test_one_who_waits_for_his_turn_may_give_up(index: sqlite3.Connection) -> None:
    shared = Index(index)
    with trio.CancelScope() as scope:
        scope.cancel()
        await shared.write(add, "a")
    assert scope.cancelled_caught
    assert await shared.ask(keys) == []


async def test_the_log_of_many_large_changes_side_by_side_begins_anew_now_and_then(
    index: sqlite3.Connection, tmp_path: Path
) -> None:
    """It holds what was written since the last checkpoint or two, not all that ever was."""
    shared, page = Index(index), "x" * 4000
    sizes: list[int] = []

    def much(connection: sqlite3.Connection, name: str) -> None:
        rows = ((f"{name}/{number}", page) for number in range(20))
        connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)

    async def write(who: int) -> None:
        for number in range(60):
            await shared.write_in_thread(much, f"{who}/{number}")
            sizes.append((tmp_path / "state" / f"{INDEX_NAME}-wal").stat().st_size)

    async with trio.open_nursery() as nursery:
        for who in range(3):
            nursery.start_soon(write, who)
    one = sizes[0]
    assert max(sizes) < 3 * one * COMMITS_A_CHECKPOINT / LARGE_COMMIT < len(sizes) * one / 2
