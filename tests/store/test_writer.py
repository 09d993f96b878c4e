"""Group commit, isolation of decisions, cancellation."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from podiumd.store import writer
from podiumd.store.errors import StoreFailed
from podiumd.store.facts import Store, open_store
from tests.store.gate import Gate
from tests.store.support import a_fact, a_run, value_of


async def test_all_that_is_queued_during_a_commit_shares_the_next_one(
    tmp_path: Path, gate: Gate
) -> None:
    async with open_store(tmp_path) as store:
        gate.open.clear()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.append, a_run("first"), [a_fact()])
            await wait_all_tasks_blocked()
            for number in range(49):
                nursery.start_soon(store.append, a_run(f"run-{number}"), [a_fact()])
            await wait_all_tasks_blocked()
            gate.open.set()
        assert await store.last_pos() == 50
    # The thread may have taken the first tasks of the fifty in one go, never in more than two.
    assert gate.commits <= 2


async def test_fifty_writers_leave_no_hole_and_no_repeat(tmp_path: Path) -> None:
    async def write(number: int) -> None:
        for value in range(10):
            [fact] = await store.append(a_run(f"run-{number % 10}"), [a_fact([number, value])])
            acknowledged.append((fact.pos, fact.run_id, fact.seq))

    acknowledged: list[tuple[int, str, int]] = []
    async with open_store(tmp_path) as store:
        async with trio.open_nursery() as nursery:
            for number in range(50):
                nursery.start_soon(write, number)
        facts = await store.events_after(0, 1000)
        assert [f.pos for f in facts] == list(range(1, 501))
        assert sorted(acknowledged) == [(f.pos, f.run_id, f.seq) for f in facts]
        for run in range(10):
            own = await store.events(f"run-{run}")
            assert [f.seq for f in own] == list(range(1, 51))
            # The order of each writer is kept.
            for number in range(run, 50, 10):
                mine = [value for who, value in map(value_of, own) if who == number]
                assert mine == list(range(10))


async def test_one_refused_decision_does_not_touch_the_others_of_its_batch(
    tmp_path: Path, gate: Gate
) -> None:
    failures: list[str] = []

    async def write_badly(run_id: str, broken: object) -> None:
        good = a_fact(1)
        bad = a_fact(2, session_id=broken)
        with pytest.raises(StoreFailed) as raised:
            await store.append(a_run(run_id), [good, bad])
        failures.append(str(raised.value))

    async with open_store(tmp_path) as store:
        gate.open.clear()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.append, a_run("first"), [a_fact()])
            await wait_all_tasks_blocked()
            nursery.start_soon(store.append, a_run("good"), [a_fact()])
            nursery.start_soon(write_badly, "bad-1", ["not", "a", "text"])
            nursery.start_soon(write_badly, "bad-2", object())
            await wait_all_tasks_blocked()
            gate.open.set()
        assert len(failures) == 2
        assert all(str(tmp_path / "facts.db") in failure for failure in failures)
        assert {r.run_id for r in await store.runs()} == {"first", "good"}
        assert [f.pos for f in await store.events_after(0, 10)] == [1, 2]
    assert gate.commits <= 2


async def test_a_caller_cancelled_before_its_decision_is_queued_stores_nothing(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path) as store:
        with trio.CancelScope() as scope:
            scope.cancel()
            await store.append(a_run(), [a_fact()])
        assert scope.cancelled_caught
        assert await store.last_pos() == 0


async def test_a_caller_cancelled_during_the_commit_learns_that_it_was_stored(
    tmp_path: Path, gate: Gate
) -> None:
    stored = []

    async def write(scope: trio.CancelScope) -> None:
        with scope:
            stored.extend(await store.append(a_run(), [a_fact(1), a_fact(2)]))
            await trio.lowlevel.checkpoint()
            raise AssertionError("the cancellation is delivered after the append")

    async with open_store(tmp_path) as store:
        gate.open.clear()
        async with trio.open_nursery() as nursery:
            scope = trio.CancelScope()
            nursery.start_soon(write, scope)
            await wait_all_tasks_blocked()
            scope.cancel()
            await wait_all_tasks_blocked()
            assert stored == []
            gate.open.set()
        assert scope.cancelled_caught
        assert await store.events("run-1") == stored
        assert len(stored) == 2


async def test_what_is_queued_when_the_store_closes_is_still_written(
    tmp_path: Path, gate: Gate
) -> None:
    async with trio.open_nursery() as nursery, AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(tmp_path))
        gate.open.clear()
        for number in range(5):
            nursery.start_soon(store.append, a_run(f"run-{number}"), [a_fact()])
        await wait_all_tasks_blocked()
        gate.open.set()
    async with open_store(tmp_path) as store:
        assert await store.last_pos() == 5


async def test_callers_over_the_limit_of_the_queue_wait_their_turn(
    tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "QUEUE_LIMIT", 2)
    monkeypatch.setattr(writer, "BATCH_LIMIT", 1)
    async with open_store(tmp_path) as store:
        gate.open.clear()
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(store.append, a_run(), [a_fact()])
            await wait_all_tasks_blocked()
            await _append_without_patience(store)
            nursery.start_soon(store.append, a_run("patient"), [a_fact()])
            await wait_all_tasks_blocked()
            gate.open.set()
        assert {r.run_id for r in await store.runs()} == {"run-1", "patient"}
    assert gate.commits == 3


async def _append_without_patience(store: Store) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.append, a_run("impatient"), [a_fact()])
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
