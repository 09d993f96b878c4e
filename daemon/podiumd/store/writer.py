"""The one thread that writes: everything queued meanwhile becomes one transaction.

A sync to the disk costs the same for one decision as for fifty, so what arrives while a commit is
under way waits for the next one and shares it. A savepoint around each decision keeps one that is
refused from taking the others with it.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import outcome
import trio

from podiumd.store.connection import connect_writer
from podiumd.store.errors import DATABASE_ERRORS, StoreFailed, failed, is_transient
from podiumd.tools.failpoints import failpoint

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]
Result = outcome.Value[Any] | outcome.Error

# Decisions that may wait for the disk; each holds a run's facts, so this bounds memory too.
QUEUE_LIMIT = 1024
# Decisions in one transaction: bounds how long a caller waits for others' rows.
BATCH_LIMIT = 256


class _Submission:
    """A job and the task that waits for it."""

    __slots__ = ("job", "on_stored", "task")

    def __init__(self, job: Job[Any], on_stored: Callable[[Any], None] | None) -> None:
        self.job = job
        self.on_stored = on_stored
        self.task = trio.lowlevel.current_task()


class _TransactionLost(Exception):
    """SQLite gave up the whole transaction because of one statement, which is the cause."""


class Writer:
    """Owns the writing connection and its thread, until ``aclose``."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Parameters: ``connection`` is the writer's from now on.

        Must be called in trio, in the run whose tasks will submit.
        """
        self._path = path
        self._connection: sqlite3.Connection | None = connection
        self._suspect = False
        self._jobs: queue.SimpleQueue[_Submission | None] = queue.SimpleQueue()
        self._slots = trio.Semaphore(QUEUE_LIMIT)
        self._trio = trio.lowlevel.current_trio_token()
        self._ended = trio.Event()
        self._closing = False
        # A daemon thread: a disk that hangs must not keep the process from exiting.
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
        self._thread.start()

    @property
    def queued(self) -> int:
        """Jobs that wait for the disk."""
        return self._jobs.qsize()

    async def submit(self, job: Job[T], on_stored: Callable[[T], None] | None = None) -> T:
        """Run ``job`` in a transaction on the writer's thread; durable when this returns.

        Parameters: ``job`` may be called again after a failed commit and must act on the connection
        alone. ``on_stored`` is called in the trio thread, in the order of the transactions, before
        any of their callers goes on; it must not raise. Cancellation counts until the job is
        queued; after that the call waits for its end, so a caller always knows whether it was
        stored. Raises ``StoreFull``, ``StoreFailed``, and any error of the job; nothing was stored
        then.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        try:
            self._slots.acquire_nowait()
        except trio.WouldBlock:
            await self._slots.acquire()
        try:
            if self._closing:
                raise StoreFailed(self._path, f"{self._path}: the store is closed")
            self._jobs.put(_Submission(job, on_stored))
            return cast(T, await trio.lowlevel.wait_task_rescheduled(_uncancellable))
        finally:
            self._slots.release()

    async def aclose(self) -> None:
        """Write what is queued, then end the thread and the connection.

        To be called once. The caller bounds the wait; when it gives up, the thread ends with
        the process.
        """
        self._closing = True
        self._jobs.put(None)
        await self._ended.wait()

    # Everything below runs on the writer's thread, but for _deliver.

    def _work(self) -> None:
        closing = False
        try:
            while not closing:
                batch, closing = self._next_batch()
                if batch:
                    results = self._results(batch)
                    self._tell(_deliver, list(zip(batch, results, strict=True)))
            if self._connection is not None:
                self._connection.close()
        finally:
            self._tell(self._ended.set)

    def _next_batch(self) -> tuple[list[_Submission], bool]:
        batch: list[_Submission] = []
        item = self._jobs.get()
        while item is not None:
            batch.append(item)
            if len(batch) == BATCH_LIMIT:
                return batch, False
            try:
                item = self._jobs.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _tell(self, call: Callable[..., object], *args: object) -> None:
        with suppress(trio.RunFinishedError):  # no task is left to receive it
            self._trio.run_sync_soon(call, *args)

    def _results(self, batch: list[_Submission]) -> list[Result]:
        """Return a result for each submission in any case: a waiting task cannot be cancelled."""
        try:
            results = self._transaction(batch)
        except Exception as error:  # noqa: BLE001 - each waiting task must hear of it
            self._suspect = self._suspect or is_transient(error)
            if len(batch) == 1:
                return [outcome.Error(self._named(error))]
            # One that cannot be stored (too large for what is left of the disk) must not fail
            # the others: each on its own.
            return [self._results([submission])[0] for submission in batch]
        try:
            failpoint("store.after-commit")
        except OSError as error:
            return [outcome.Error(failed(self._path, error)) for _ in batch]
        return results

    def _transaction(self, batch: list[_Submission]) -> list[Result]:
        connection = self._sound_connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            if len(batch) == 1:
                results: list[Result] = [outcome.Value(batch[0].job(connection))]
            else:
                results = [self._within_savepoint(connection, one.job) for one in batch]
            failpoint("store.before-commit")
            connection.execute("COMMIT")
            return results
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _within_savepoint(self, connection: sqlite3.Connection, job: Job[Any]) -> Result:
        connection.execute("SAVEPOINT decision")
        try:
            value = job(connection)
        except Exception as error:
            self._suspect = self._suspect or is_transient(error)
            if not connection.in_transaction:
                raise _TransactionLost from error
            connection.execute("ROLLBACK TO decision")
            connection.execute("RELEASE decision")
            return outcome.Error(self._named(error))
        connection.execute("RELEASE decision")
        return outcome.Value(value)

    def _sound_connection(self) -> sqlite3.Connection:
        """Return the connection, opened anew after an error that puts it in doubt."""
        if self._suspect and self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._connection is None:
            self._connection = connect_writer(self._path)
        self._suspect = False
        return self._connection

    def _named(self, error: Exception) -> Exception:
        if not isinstance(error, (*DATABASE_ERRORS, OSError)):
            return error
        return failed(self._path, error)


def _uncancellable(_: object) -> trio.lowlevel.Abort:
    return trio.lowlevel.Abort.FAILED


def _deliver(batch: list[tuple[_Submission, Result]]) -> None:
    """Wake the tasks of one batch, in trio's thread, with the order of the log kept."""
    woken: list[tuple[trio.lowlevel.Task, Result]] = []
    for submission, result in batch:
        told: Result = result
        if submission.on_stored is not None and isinstance(result, outcome.Value):
            heard = outcome.capture(submission.on_stored, result.value)
            told = heard if isinstance(heard, outcome.Error) else result
        woken.append((submission.task, told))
    for task, told in woken:
        trio.lowlevel.reschedule(task, told)
