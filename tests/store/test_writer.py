"""Group commit, isolation of decisions, cancellation."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

import podiumd
from podiumd.store import connection as connecting
from podiumd.store import writer
from podiumd.store.errors import StoreFailed, StoreFull
from podiumd.store.facts import Store, open_store
from podiumd.tools import failpoints
from tests.long import sampled
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


# -- what happens to decisions, and to the connection, when the disk does not take them ------


async def _fill(store: Store) -> int:
    """Append 50 kB facts until the store is full; how many were acknowledged."""
    for count in range(100):
        try:
            await store.append(a_run(), [a_fact("x" * 50_000)])
        except StoreFull as error:
            assert str(error).startswith(f"{store.path}: no space left")  # noqa: PT017
            return count
    raise AssertionError("the store was never full")


async def test_a_full_disk_fails_the_decision_and_later_ones_work_when_space_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite's own page limit gives the error a full disk gives."""
    usual = connecting.DURABLE_PRAGMAS
    async with open_store(tmp_path):
        pass
    monkeypatch.setattr(connecting, "DURABLE_PRAGMAS", (*usual, "max_page_count = 100"))
    async with open_store(tmp_path) as store:
        stored = await _fill(store)
        assert 0 < stored < 10
        # A small one still fits, and the large one failed whole.
        await store.append(a_run("small"), [a_fact()])
        assert len(await store.events("run-1")) == stored
        monkeypatch.setattr(connecting, "DURABLE_PRAGMAS", usual)
        with pytest.raises(StoreFull):
            await store.append(a_run(), [a_fact("x" * 500_000)])
        [fact] = await store.append(a_run(), [a_fact("x" * 500_000)])
        assert fact.seq == stored + 1
        assert await store.last_pos() == stored + 2


async def test_one_too_large_for_the_disk_does_not_fail_the_others_of_its_batch(
    tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(tmp_path):
        pass
    usual = connecting.DURABLE_PRAGMAS
    monkeypatch.setattr(connecting, "DURABLE_PRAGMAS", (*usual, "max_page_count = 100"))

    async def write_too_much() -> None:
        with pytest.raises(StoreFull):
            await store.append(a_run("large"), [a_fact("x" * 1_000_000)])

    async with open_store(tmp_path) as store:
        gate.open.clear()
        async with trio.open_nursery() as nursery:
            for number in range(10):
                nursery.start_soon(store.append, a_run(f"run-{number}"), [a_fact()])
            nursery.start_soon(write_too_much)
            await wait_all_tasks_blocked()
            gate.open.set()
        assert {r.run_id for r in await store.runs()} == {f"run-{n}" for n in range(10)}


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """The system refuses to write any file beyond this size (EFBIG) meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_write_the_system_refuses_fails_alone_and_the_connection_recovers(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path) as store:
        await store.append(a_run(), [a_fact(1)])
        used = (tmp_path / "facts.db-wal").stat().st_size
        with files_no_larger_than(used + 8192), pytest.raises(StoreFailed, match="IOERR"):
            await store.append(a_run(), [a_fact("x" * 100_000)])
        assert [value_of(f) for f in await store.events("run-1")] == [1]
        [fact] = await store.append(a_run(), [a_fact(2)])
        assert (fact.seq, fact.pos) == (2, 2)
    async with open_store(tmp_path) as store:
        assert [value_of(f) for f in await store.events("run-1")] == [1, 2]


@pytest.mark.usefixtures("failing")
async def test_a_failed_commit_stores_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.append(a_run(), [a_fact(1)])
        failpoints.arm("store.before-commit:1:error")
        with pytest.raises(StoreFailed, match=r"failpoint store.before-commit"):
            await store.append(a_run(), [a_fact(2)])
        await store.append(a_run(), [a_fact(3)])
        assert [value_of(f) for f in await store.events("run-1")] == [1, 3]


@pytest.mark.usefixtures("failing")
async def test_an_error_after_the_commit_reaches_the_caller_and_is_not_repeated(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path) as store:
        failpoints.arm("store.after-commit:1:error")
        with pytest.raises(StoreFailed, match=r"failpoint store.after-commit"):
            await store.append(a_run(), [a_fact(1)])
        assert [value_of(f) for f in await store.events("run-1")] == [1]


async def test_a_job_that_breaks_the_transaction_fails_alone(tmp_path: Path, gate: Gate) -> None:
    """As SQLite itself does on some errors: the whole transaction is gone in the middle."""

    def break_it(connection: sqlite3.Connection) -> None:
        connection.execute("ROLLBACK")
        raise sqlite3.OperationalError("the disk went away")

    async def write_badly() -> None:
        with pytest.raises(StoreFailed, match="the disk went away"):
            await store._writer.submit(break_it)

    async with open_store(tmp_path) as store:
        gate.open.clear()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.append, a_run("first"), [a_fact()])
            await wait_all_tasks_blocked()
            nursery.start_soon(store.append, a_run("before"), [a_fact()])
            nursery.start_soon(write_badly)
            nursery.start_soon(store.append, a_run("after"), [a_fact()])
            await wait_all_tasks_blocked()
            gate.open.set()
        assert {r.run_id for r in await store.runs()} == {"first", "before", "after"}
        assert await store.last_pos() == 3


async def test_a_commit_is_on_the_disk_when_it_returns_and_readers_cannot_write(
    tmp_path: Path,
) -> None:
    def durability(connection: sqlite3.Connection) -> list[object]:
        names = ("journal_mode", "synchronous", "fullfsync", "checkpoint_fullfsync")
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    def write(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM facts")

    async with open_store(tmp_path) as store:
        assert await store._writer.submit(durability) == ["wal", 2, 1, 1]
        with pytest.raises(StoreFailed, match="readonly"):
            await store._readers.run(write)


async def test_a_connection_that_cannot_be_opened_again_is_tried_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def go_wrong(connection: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    def cannot_open(path: Path) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    usual = connecting.connect_writer
    for recovers in (True, False):
        async with open_store(tmp_path) as store:
            with pytest.raises(StoreFailed, match="disk I/O error"):
                await store._writer.submit(go_wrong)
            monkeypatch.setattr(writer, "connect_writer", cannot_open)
            for _ in range(2):
                with pytest.raises(StoreFailed, match="unable to open"):
                    await store.append(a_run(), [a_fact()])
            monkeypatch.setattr(writer, "connect_writer", usual)
            if recovers:
                await store.append(a_run(), [a_fact()])
    async with open_store(tmp_path) as store:
        assert await store.last_pos() == 1


async def test_an_error_of_a_job_s_own_reaches_its_caller_unchanged(tmp_path: Path) -> None:
    def divide(connection: sqlite3.Connection) -> float:
        return 1 / 0

    async with open_store(tmp_path) as store:
        with pytest.raises(ZeroDivisionError):
            await store._writer.submit(divide)
        await store.append(a_run(), [a_fact()])


async def test_another_program_s_lock_fails_the_decision_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "LOCK_WAIT_SECONDS", 0.0)
    async with open_store(tmp_path) as store:
        other = sqlite3.connect(tmp_path / "facts.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreFailed, match="locked"):
            await store.append(a_run(), [a_fact(1)])
        other.execute("ROLLBACK")
        other.close()
        await store.append(a_run(), [a_fact(2)])
        assert [value_of(f) for f in await store.events("run-1")] == [2]


# -- kill -9 at the store's failpoints: nothing acknowledged is lost, nothing is there twice -


CHILD = Path(__file__).with_name("crash_child.py")

WRITERS = 8

Acknowledged = set[tuple[str, int, int, int]]


async def _run_until_killed(directory: Path, failpoint: str) -> Acknowledged:
    package = Path(podiumd.__file__).parent.parent
    result = await trio.run_process(
        [sys.executable, str(CHILD), str(directory), str(WRITERS), "1000000"],
        env={**os.environ, "PYTHONPATH": str(package), "PODIUM_FAILPOINT": failpoint},
        capture_stdout=True,
        check=False,
    )
    assert result.returncode == -signal.SIGKILL
    lines = (line.split() for line in result.stdout.decode().splitlines())
    return {(run, int(seq), int(pos), int(value)) for run, seq, pos, value in lines}


async def _stored(directory: Path) -> Acknowledged:
    """Everything in the log, after checking that it has neither holes nor repeats."""
    async with open_store(directory) as store:
        facts = await store.events_after(0, 1_000_000)
        assert [f.pos for f in facts] == list(range(1, len(facts) + 1))
        for number in range(WRITERS):
            own = await store.events(f"run-{number}")
            assert [f.seq for f in own] == list(range(1, len(own) + 1))
            assert [value_of(f) for f in own] == list(range(len(own)))
            assert len(own) % 2 == 0
        return {(f.run_id, f.seq, f.pos, value_of(f)) for f in facts}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "hits"),
    sampled(
        [
            ("store.before-commit", (2, 40)),
            ("store.before-commit", (1, 2, 5, 17, 40)),
            ("store.after-commit", (1, 2, 5, 17, 40)),
        ]
    ),
)
async def test_what_was_acknowledged_before_a_kill_is_there_after_it(
    tmp_path: Path, name: str, hits: tuple[int, ...]
) -> None:
    """Crashes of one state directory, each some commits further on than the last."""
    acknowledged: Acknowledged = set()
    stored: Acknowledged = set()
    for hit in hits:
        acknowledged |= await _run_until_killed(tmp_path, f"{name}:{hit}")
        stored = await _stored(tmp_path)
        assert acknowledged <= stored
        # At most the one decision of each writer that was under way is there without a word.
        assert len(stored) - len(acknowledged) <= 2 * WRITERS * 5
    if name == "store.after-commit":
        assert stored > acknowledged, "the killed commit itself was durable"
    else:
        assert len(acknowledged) > 2 * 40
