"""Keeping the index in step with the transcripts: what changed is looked at, read on, stored.

The watch says where something changed; a sweep compares the whole tree with the index, at the
start, now and then, and whenever the watch may have missed something. Each byte is read once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Awaitable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from time import process_time
from typing import Any, Final

import trio
from msgspec.structs import replace

from podiumd.formats.session import SessionFormat
from podiumd.formats.session_formats import FORMATS
from podiumd.observe.logs import log
from podiumd.sessions.changes import SessionChanges
from podiumd.sessions.index import compare, table, tree
from podiumd.sessions.index.bulk import (
    WORTHWHILE_BYTES,
    BulkReader,
    bulk_reader,
    command_of,
    packed,
    process_count,
    unpacked,
)
from podiumd.sessions.index.database import Index
from podiumd.sessions.index.logged_problems import LoggedProblems
from podiumd.sessions.index.logs import Changed, Logs
from podiumd.sessions.index.table import Row
from podiumd.sessions.index.tree import Found, Known, Root
from podiumd.sessions.index.update import Problem, Unreadable, Update, update
from podiumd.sessions.index.walk import Tree
from podiumd.sessions.index.watch import Changes, TreeWatch
from podiumd.sessions.log.mutexes import SessionMutexes
from podiumd.store.errors import DATABASE_ERRORS, StoreError

FOLLOWED_SECONDS = 5.0
"""Seconds between two looks at the transcripts that are followed: the watch may lose an event."""

QUICK_BYTES = 256 * 1024
"""Growth that is read in the event loop: some tenths of a millisecond."""

SWEEP_SECONDS: Final = 60.0
"""Between two looks at the whole tree, while everything is watched."""

LONGEST_SECONDS: Final = 900.0
"""Seconds at most for which a change that the watch missed stays unknown, in a transcript that is
not followed."""

UNWATCHED_SWEEP_SECONDS = 2.0
"""Between two looks while something is not watched."""

SHARE: Final = 0.005
"""Share of one processor, for looking at what the watch would have reported."""

_LIBRARY: Final[Any] = ctypes.CDLL(None)
_TRIM: Final = getattr(_LIBRARY, "malloc_trim", None)
"""glibc's alone. It keeps what a thread has freed beneath something that is still in use: after a
look at 100,000 sessions 5 to 15 MB."""

_ATTEMPTS = 5


class Follower:
    """The task that reads transcripts; one owner of every file's offset."""

    def __init__(
        self,
        roots: Sequence[Root],
        formats: Mapping[str, SessionFormat],
        index: Index,
        logs: Logs,
        watch: TreeWatch,
        problems: LoggedProblems,
    ) -> None:
        self._roots = roots
        self._formats = formats
        self._index = index
        self._logs = logs
        self._watch = watch
        self._mutexes = SessionMutexes()
        self._problems = problems
        self._sweeping = trio.Lock()
        self._complete = True
        self._cost = 0.0
        self._swept = trio.current_time()
        self.ready = trio.Event()
        """Set when the first sweep is over: the index knows every session as it was then.

        It learns of changes from then on, or meanwhile, from the watch or, until that is armed,
        from the second sweep.
        """
        self.someone_follows = trio.Event()
        self.changes = SessionChanges()
        self._turned = trio.Event()

    async def run(self) -> None:
        """Follow until cancelled."""
        await self._guarded(self._sweep())
        self.ready.set()
        await self._guarded(self._sweep())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._look_now_and_then)
            while True:
                changes = await self._watch.wait()
                await self._guarded(self._take(changes))
                self._turn()

    async def ping(self) -> None:
        """Return when the follower has come round, or on by one transcript or batch of them."""
        turned = self._turned
        self._watch.wake()
        await turned.wait()

    def _turn(self) -> None:
        self._turned.set()
        self._turned = trio.Event()

    @property
    def _pause(self) -> float:
        return pause_after(self._cost, complete=self._complete)

    async def _look_now_and_then(self) -> None:
        """Do what the watch cannot promise: ask for sweeps, look at what is followed."""
        while True:
            due = max(0.0, self._swept + self._pause - trio.current_time())
            followed = self._logs.followed
            if followed:
                await trio.sleep(min(due, FOLLOWED_SECONDS))
                for session_id in followed:
                    await self._guarded(self.look_again(session_id))
            else:
                self.someone_follows = trio.Event()
                with trio.move_on_after(due):
                    await self.someone_follows.wait()
            if trio.current_time() >= self._swept + self._pause:
                self._swept = trio.current_time()
                self._watch.want_sweep()

    # -- what changed ------------------------------------------------------------------------

    async def _take(self, changes: Changes) -> None:
        if changes.sweep:
            await self._sweep()
            return
        paths = changes.files
        if changes.directories:
            paths |= await trio.to_thread.run_sync(tree.files_below, changes.directories)
        missing: list[str] = []
        for path in sorted(paths):
            await self._guarded(self._look_at(path, missing))
        await self._miss(missing)

    async def _look_at(self, path: str, missing: list[str]) -> None:
        self._turn()
        try:
            found = tree.look(self._roots, path)
        except OSError as error:
            await self._problems.log(path, f"cannot be read: {error.strerror}")
            return
        if isinstance(found, Found):
            await self.refresh(found)
        elif found is not None:
            await self._index.write(table.save_companions, [found])
        elif tree.concerns(self._roots, path):
            missing.append(path)

    async def _miss(self, paths: Iterable[str]) -> None:
        """Take note of files that are not there, or not any more."""
        lost = False
        for path in paths:
            if await self._index.ask(table.row_of_path, path) is not None:
                lost = True
            else:
                await self._index.write(table.forget_companion, path)
        if lost:
            await self._sweep()  # it may have moved, or there may be another copy of it

    async def look_again(self, session_id: str, *, doubted: int | None = None) -> None:
        """Bring one session up to date without a report of a change.

        ``doubted``: a generation of its row in which a message was not found in its place. Where
        that is the generation still, all of them are looked for again. Raises as ``refresh``.
        """
        row = await self._index.ask(table.row, session_id)
        if row is None or row.gone:
            return
        try:
            found = tree.look(self._roots, row.path)
        except OSError as error:
            await self._problems.log(row.path, f"cannot be read: {error.strerror}")
            return
        if isinstance(found, Found):
            seen = (row.size, row.mtime_ns, row.ino)
            if row.generation == doubted or (found.size, found.mtime_ns, found.ino) != seen:
                await self.refresh(found, doubted=doubted)
        else:
            await self._sweep()  # it may have moved, or there may be another copy of it

    async def refresh(self, found: Found, *, doubted: int | None = None) -> None:
        """Read what is new in one transcript, store it and report it.

        ``doubted``: see ``look_again``. Raises ``sqlite3.Error``, ``StoreError``.
        """
        async with self.holding(found.session_id):
            for _ in range(_ATTEMPTS):
                row = await self._index.ask(table.row, found.session_id)
                if row is not None and compare.is_older_copy(found, row):
                    return
                base = row
                if row is not None and (row.gone or row.generation == doubted):
                    base = replace(row, ino=0)  # read from its start
                try:
                    await self._apply(row, await self._read(found, base))
                except Changed:
                    continue  # it was rewritten while we read: read again
                return

    async def garbled(self, session_id: str, seq: int) -> None:
        """Report that a message is not UTF-8, unless that was reported of the session before.

        Raises ``sqlite3.Error``.
        """
        async with self.holding(session_id):
            row = await self._index.ask(table.row, session_id)
            if row is not None and not row.problems & Problem.NOT_UTF8:
                row = replace(row, problems=row.problems | Problem.NOT_UTF8)
                await self._index.write(table.save, [row])
                what = f"is not UTF-8 in message {seq}; what is not is read as U+FFFD"
                _report(row, [f"{row.path} {what}"])

    async def _read(self, found: Found, row: Row | None) -> Update | Unreadable:
        opened = self._logs.get(found.session_id)
        cursor = None if opened is None else opened.state.cursor
        reads = self._formats[found.agent]
        grown = None if row is None or found.ino != row.ino else found.size - row.offset
        if grown is not None and 0 <= grown <= QUICK_BYTES:
            return update(reads, found, row, cursor=cursor)
        return await trio.to_thread.run_sync(lambda: update(reads, found, row, cursor=cursor))

    async def _apply(self, row: Row | None, result: Update | Unreadable) -> None:
        if isinstance(result, Unreadable):
            if not result.vanished:  # else its end is reported as a change of its own
                await self._problems.log(result.path, result.problem)
            return
        await self._logs.apply(result)
        if row is not None and row.gone:
            await self._logs.found_again(result.row)
        _report(result.row, result.problems)
        await self._problems.forget([result.row.path])
        self.changes.notify(result.row.session_id)

    # -- the whole tree ----------------------------------------------------------------------

    async def _sweep(self) -> None:
        # To arm the watch takes as long as the look itself. So the first look is without it, and
        # the second is for what changed before it was armed.
        watched = self.ready.is_set()
        async with self._sweeping:
            self._cost = 0.0
            try:
                if watched:
                    # A caller that waited for the first look goes first: arming keeps all threads
                    # waiting.
                    await trio.lowlevel.checkpoint()
                    with self._costing():
                        await trio.to_thread.run_sync(self._watch.arm)
                directories = await self._look_at_all()
                with self._costing():
                    if watched:
                        complete = self._watch.complete
                        self._complete = await trio.to_thread.run_sync(complete, directories)
                    await trio.to_thread.run_sync(give_back)  # all files at once take much
            finally:
                self._swept = trio.current_time()

    async def _look_at_all(self) -> Collection[int]:
        """Bring the index up to date; returns all directories, as ``TreeWatch.complete`` wants."""
        async with bulk_reader(self._formats, command=command_of(self._roots)) as reader:
            with self._costing():
                known = await self._index.ask_in_thread(table.known)
                found, changes = await self._compare(known, reader)
            for path, problem in found.problems:
                await self._problems.log(path, problem)
            if changes.companions or changes.companions_gone:
                await self._index.write_in_thread(
                    table.update_companions, changes.companions, changes.companions_gone
                )
            if not reader.started:
                much = compare.unread(known, changes.read) >= WORTHWHILE_BYTES
                await reader.start(self._processes() if much else 0)
            del known
            found.sessions.clear()
            found.companions.clear()
            changes.companions.clear()
            await self._read_all(await trio.to_thread.run_sync(packed, changes.read), reader)
        if changes.vanished:
            await self._lose(changes.vanished)
        return found.directories

    def _processes(self) -> int:
        """Return how many processes read much: they know only our own formats."""
        ours = all(
            self._formats[root.agent] is FORMATS.get(root.format_name) for root in self._roots
        )
        return process_count() if ours else 0

    async def _compare(self, known: Known, reader: BulkReader) -> tuple[Tree, compare.Changes]:
        """Look at the whole tree; if there turns out to be much to read, its readers start."""
        async with trio.open_nursery() as nursery:

            def start() -> None:
                trio.from_thread.run_sync(nursery.start_soon, reader.start, self._processes())

            found, changes = await trio.to_thread.run_sync(
                compare.look, self._roots, known, WORTHWHILE_BYTES, start
            )
        return found, changes

    async def _read_all(self, packs: Sequence[bytes | list[Found]], reader: BulkReader) -> None:
        """Bring sessions up to date."""
        batches = map(unpacked, packs)
        failures: list[Exception] = []

        async def read() -> None:
            try:
                for batch in batches:
                    await self._read_together(batch, reader)
            except (*DATABASE_ERRORS, StoreError, OSError) as error:
                failures.append(error)
                nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            # For each process one that it reads and one that waits for it or is stored meanwhile.
            for _ in range(2 * reader.count + 1):
                nursery.start_soon(read)
        for failure in failures:
            raise failure

    async def _read_together(self, batch: Sequence[Found], reader: BulkReader) -> None:
        """Bring sessions up to date in one commit; those that are in use, one by one."""
        self._turn()
        closed = (f.session_id for f in batch if self._logs.get(f.session_id) is None)
        with self._mutexes.together(closed) as ids:
            quick = [found for found in batch if found.session_id in ids]
            rows = {row.session_id: row for row in await self._index.ask(table.rows, [*ids])}
            plain = [
                (found, row)
                for found in quick
                if (row := rows.get(found.session_id)) is None or not row.gone
            ]
            updates = await reader.read(plain)
            with_logs = await self._index.ask(
                table.with_logs, [u.row.session_id for u in updates if u.rewritten]
            )
            done = [u for u in updates if u.row.session_id not in with_logs]
            await self._index.write_in_thread(table.save, [u.row for u in done])
        for each in done:
            _report(each.row, each.problems)
        await self._problems.forget(each.row.path for each in done)
        self.changes.notify(*(each.row.session_id for each in done))
        finished = {each.row.session_id for each in done}
        for found in batch:
            if found.session_id not in finished:
                await self._guarded(self.refresh(found))

    async def _lose(self, session_ids: Sequence[str]) -> None:
        """Mark sessions whose transcripts are not there any more."""
        async with AsyncExitStack() as held:
            for session_id in sorted(session_ids):
                await held.enter_async_context(self.holding(session_id))
            lost = [
                replace(row, gone=True)
                for row in await self._index.ask_in_thread(table.rows, session_ids)
                if not row.gone and tree.look(self._roots, row.path) is None
            ]
            if lost:
                await self._logs.lose(lost)
        self.changes.notify(*(row.session_id for row in lost))
        for row in lost:
            log("Session file is gone", session_id=row.session_id, path=row.path)

    @contextmanager
    def _costing(self) -> Iterator[None]:
        """Count the CPU of what each sweep does, however little there is to read."""
        began = process_time()
        try:
            yield
        finally:
            self._cost += process_time() - began

    # -- helpers -----------------------------------------------------------------------------

    def holding(self, session_id: str) -> AbstractAsyncContextManager[None]:
        """Hold a session: no other task reads its transcript on or changes its log meanwhile."""
        return self._mutexes.one(session_id)

    async def _guarded(self, work: Awaitable[None]) -> None:
        """Do work; log a failure of one file or one commit, which is tried again at its next
        change."""
        try:
            await work
        except (*DATABASE_ERRORS, StoreError, OSError) as error:
            log("Sessions cannot be indexed", "error", exception=error)


def _report(row: Row, problems: Iterable[str]) -> None:
    """Log the faults within a transcript."""
    for problem in problems:
        log(
            "Session file has a fault",
            "warning",
            session_id=row.session_id,
            path=row.path,
            problem=problem,
        )


def pause_after(cost: float, *, complete: bool) -> float:
    """Return the seconds until the next look, after one of ``cost`` seconds of CPU.

    ``complete``: everything is watched. Else the looks are all that shows changes.
    """
    if not complete:
        return UNWATCHED_SWEEP_SECONDS
    return min(max(SWEEP_SECONDS, cost / SHARE), LONGEST_SECONDS)


def give_back() -> None:
    """Give memory that is free back to the system, in about a millisecond. Blocking."""
    if _TRIM is not None:
        _TRIM(0)
