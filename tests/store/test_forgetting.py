"""Runs that are forgotten: wholly, in their order, and without a step back of any count."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from podiumd.store import reading, writing
from podiumd.store.facts import Store, open_store
from tests.store.support import a_fact, a_run

OLD, NEW, LIMIT = "2026-01-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z"


async def ended(store: Store, run_id: str, at: str) -> None:
    run = replace(a_run(run_id), status="ended", ended_at=at)
    await store.append(run, [a_fact(1)], token=("runs.start", f"token-{run_id}", "digest"))


async def old_runs(store: Store) -> list[str]:
    return await store.runs_ended_before(LIMIT, 10)


async def test_only_runs_that_ended_long_ago_are_named(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await ended(store, "old", OLD)
        await store.append(a_run("open"), [a_fact(1)])
        await ended(store, "new", NEW)
        assert await old_runs(store) == ["old"]
        assert await store.runs_ended_before(LIMIT, 0) == []


async def test_a_forgotten_run_takes_all_that_is_stored_of_it_and_nothing_else(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path) as store:
        await ended(store, "old", OLD)
        await ended(store, "new", NEW)
        await store.forget_runs(["old"])
        assert await store.run("old") is None and await store.events("old") == []
        assert await store.token("runs.start", "token-old") is None
        assert await store.token("runs.start", "token-new") is not None
        assert [fact.pos for fact in await store.events_after(0, 10)] == [2]


async def test_positions_and_the_order_of_runs_never_go_back(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await ended(store, "first", OLD)
        await ended(store, "last", OLD)
        await store.append(replace(a_run("first"), status="ended", ended_at=OLD), [a_fact(2)])
        assert await old_runs(store) == [], "one has the newest fact, one is the newest run"
        await ended(store, "next", NEW)
        assert await old_runs(store) == ["first", "last"]
        await store.forget_runs(await old_runs(store))
    async with open_store(tmp_path) as store:
        (fact,) = await store.append(a_run("after"), [a_fact(1)])
        assert fact.pos == 5
        assert [row.run_id for row in await store.runs(active=None, limit=9)] == ["after", "next"]


async def test_a_run_that_is_forgotten_while_it_is_read_is_whole_or_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at its row and its facts another connection deletes both."""
    async with open_store(tmp_path) as store:
        await ended(store, "old", OLD)
        await ended(store, "new", NEW)
        look = reading.last_seq_of

        def forgotten_meanwhile(connection: sqlite3.Connection, run_id: str) -> int:
            last_seq = look(connection, run_id)
            with closing(sqlite3.connect(store.path)) as other, other:
                writing.forget_runs(other, [run_id])
            return last_seq

        monkeypatch.setattr(reading, "last_seq_of", forgotten_meanwhile)
        assert len(await store.events("old")) == 1
        monkeypatch.undo()
        assert await store.events("old") == []
