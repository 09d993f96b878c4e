"""Reading in processes of their own: the same as in a thread, whatever becomes of them."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import trio

from podiumd.formats.session_formats import FORMATS
from podiumd.sessions.index import bulk, bulk_worker, compare, follower, table
from podiumd.sessions.index.bulk import BATCH_FILES, batches_of, bulk_reader, packed, unpacked
from podiumd.sessions.index.bulk_worker import Answer, Request, framed, read_all, serve
from podiumd.sessions.index.compare import changed
from podiumd.sessions.index.database import Index
from podiumd.sessions.index.tree import Found, Known
from podiumd.sessions.index.tree import Root as TreeRoot
from podiumd.sessions.index.walk import Tree, walk
from podiumd.tools.process.processes import Identity, identity_of, wait_gone
from tests.patience import HANG_SECONDS
from tests.sessions.service import Home, bytes_path, complaints
from tests.sessions.support import append, find, line, lines, read, session_id

TOLD = "Session files are read in the daemon itself"

DIES = "pass"

DIES_IN_ITS_ANSWER = "import sys; sys.stdin.buffer.read(4); sys.stdout.buffer.write(b'\\0\\0')"

HANGS = "import signal; signal.pause()"

TALKS_NONSENSE = (
    "import sys; sys.stdin.buffer.read(4); sys.stdout.buffer.write(b'\\0\\0\\0\\x01?');"
    "sys.stdout.flush(); sys.stdin.buffer.read()"
)

NEVER_ENDS = "import sys; sys.stdin.buffer.read(4); sys.stdout.buffer.write(b'\\xff' * 99)"


def python(code: str) -> Sequence[str]:
    return [sys.executable, "-S", "-c", code]


@pytest.fixture
def work(project: Path) -> Request:
    """One new session, one that has grown, one that is damaged and one that is not there."""
    paths = [project / f"{session_id(number)}.jsonl" for number in range(1, 5)]
    append(paths[0], lines(1, 3))
    append(paths[1], lines(1, 2))
    row = read(paths[1]).row
    append(paths[1], lines(3, 2))
    append(paths[2], line(1) + b"no JSON\n" + line(2) + b'{"torn')
    append(paths[3], line(1))
    files = [find(path) for path in paths]
    paths[3].unlink()
    return [(file, row if at == 1 else None) for at, file in enumerate(files)]


def in_the_daemon(work: Request) -> Answer:
    return read_all(FORMATS, work)


# -- what is given at once -------------------------------------------------------------------


def found(number: int, size: int) -> Found:
    return Found(session_id(number), "claude", f"/{number}", 1, number, size, 1)


def test_a_batch_is_full_by_its_files_or_by_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "BATCH_FILES", 3)
    monkeypatch.setattr(bulk, "BATCH_BYTES", 100)
    monkeypatch.setattr(bulk, "LEAST_BYTES", 100)
    files = [found(number, size) for number, size in enumerate([1, 1, 1, 99, 1, 500, 7])]
    sizes = [[file.size for file in batch] for batch in batches_of(files)]
    assert sizes == [[1, 1, 1], [99, 1], [500], [7]]
    assert list(batches_of([])) == []


def test_batches_become_smaller_towards_the_end() -> None:
    """So no process is left with much to read while the others have nothing any more."""
    size = 512 * 1024
    files = [found(number, size) for number in range(1000)]
    batches = list(batches_of(files))
    sizes = [len(batch) * size for batch in batches]
    assert [file for batch in batches for file in batch] == files
    assert sizes[0] == bulk.BATCH_BYTES
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-2] == bulk.LEAST_BYTES  # the last one has what remains
    left = sum(sizes)
    for each in sizes:
        left -= each
        assert each <= max(bulk.LEAST_BYTES, left // 2)


# -- the processes ---------------------------------------------------------------------------


async def test_processes_read_what_a_thread_reads(
    work: Request, started: list[trio.Process], caplog: pytest.LogCaptureFixture
) -> None:
    with trio.fail_after(HANG_SECONDS):
        async with bulk_reader(FORMATS) as reader:
            await reader.start(2)
            answers = [await reader.read(work) for _ in range(3)]
    assert answers == [in_the_daemon(work)] * 3
    answer = answers[0]
    assert [each.row.summary.messages for each in answer] == [3, 4, 2]
    assert [each.rewritten for each in answer] == [True, False, True]
    assert [bool(each.problems) for each in answer] == [False, False, True]
    assert len(started) == 2 and complaints(caplog, TOLD) == []


async def test_processes_are_started_once(work: Request, started: list[trio.Process]) -> None:
    """What the first one to ask for them says holds."""
    async with bulk_reader(FORMATS) as reader:
        await reader.start(1)
        await reader.start(2)
        assert reader.count == len(started) == 1
        assert await reader.read(work) == in_the_daemon(work)


async def test_what_is_read_before_they_start_waits_for_them(
    work: Request, started: list[trio.Process]
) -> None:
    answers: list[Answer] = []

    async def ask(reader: bulk.BulkReader) -> None:
        answers.append(await reader.read(work))

    with trio.fail_after(HANG_SECONDS):
        async with bulk_reader(FORMATS) as reader, trio.open_nursery() as nursery:
            nursery.start_soon(ask, reader)
            await trio.testing.wait_all_tasks_blocked()
            assert answers == []
            await reader.start(1)
    assert answers == [in_the_daemon(work)]


async def test_processes_read_side_by_side(work: Request, started: list[trio.Process]) -> None:
    answers: list[Answer] = []
    with trio.fail_after(HANG_SECONDS):
        async with bulk_reader(FORMATS) as reader:
            await reader.start(2)

            async def ask() -> None:
                answers.append(await reader.read(work))

            async with trio.open_nursery() as nursery:
                for _ in range(6):
                    nursery.start_soon(ask)
    assert answers == [in_the_daemon(work)] * 6


async def test_without_a_process_a_thread_reads(
    work: Request, started: list[trio.Process], caplog: pytest.LogCaptureFixture
) -> None:
    async with bulk_reader(FORMATS) as reader:
        await reader.start(0)
        for _ in range(2):
            assert await reader.read(work) == in_the_daemon(work)
    assert started == [] and complaints(caplog, TOLD) == []


@pytest.mark.parametrize("code", [DIES, DIES_IN_ITS_ANSWER, HANGS, TALKS_NONSENSE, NEVER_ENDS])
async def test_a_process_that_fails_costs_nothing_but_itself(
    work: Request, started: list[trio.Process], caplog: pytest.LogCaptureFixture, code: str
) -> None:
    """What it was given, and what comes after, is read in a thread; it is told once."""
    patience = 0.0 if code == HANGS else HANG_SECONDS
    with trio.fail_after(HANG_SECONDS):
        async with bulk_reader(FORMATS, command=python(code), patience=patience) as reader:
            await reader.start(1)
            for _ in range(3):
                assert await reader.read(work) == in_the_daemon(work)
    assert [process.returncode is not None for process in started] == [True]
    assert len(complaints(caplog, TOLD)) == 1


async def test_one_that_fails_leaves_the_others_at_work(
    work: Request, started: list[trio.Process], caplog: pytest.LogCaptureFixture
) -> None:
    with trio.fail_after(HANG_SECONDS):
        async with bulk_reader(FORMATS) as reader:
            await reader.start(2)
            started[0].kill()
            for _ in range(4):
                assert await reader.read(work) == in_the_daemon(work)
            assert started[1].returncode is None
    assert len(complaints(caplog, TOLD)) == 1


async def test_where_none_can_be_started_a_thread_reads(
    work: Request, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    missing = [str(tmp_path / "missing")]
    async with bulk_reader(FORMATS, command=missing) as reader:
        await reader.start(2)
        assert await reader.read(work) == in_the_daemon(work)
    assert len(complaints(caplog, TOLD)) == 2


async def test_a_path_that_is_no_text_is_read_in_a_thread(
    projects: Path, started: list[trio.Process], caplog: pytest.LogCaptureFixture
) -> None:
    project = bytes_path(projects, b"\xff")
    project.mkdir()
    append(project / f"{session_id()}.jsonl", line(1))
    (file,) = walk([TreeRoot("claude", projects)]).sessions
    async with bulk_reader(FORMATS) as reader:
        await reader.start(1)
        assert len(await reader.read([(file, None)])) == 1
        assert started[0].returncode is None
    assert complaints(caplog, TOLD) == []


async def test_none_is_left_when_the_sweep_is_cancelled(
    work: Request, started: list[trio.Process]
) -> None:
    with trio.fail_after(HANG_SECONDS), trio.CancelScope() as scope:
        async with (
            bulk_reader(FORMATS, command=python(HANGS)) as reader,
            trio.open_nursery() as nursery,
        ):
            await reader.start(2)
            nursery.start_soon(reader.read, work)
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
    assert scope.cancelled_caught
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 2


DAEMON = """
import sys, trio
from podiumd.formats.session_formats import FORMATS
from podiumd.sessions.index import bulk

async def main():
    async with bulk.bulk_reader(FORMATS) as reader:
        await reader.start(2)
        await reader.read([])  # one of them is at work
        await trio.to_thread.run_sync(input)

start = bulk._start
async def noted(command):
    process = await start(command)
    print(process.pid, flush=True)
    return process
bulk._start = noted
trio.run(main)
"""


async def test_none_outlives_a_daemon_that_is_killed() -> None:
    command = [sys.executable, "-c", DAEMON]
    environment = {"PYTHONPATH": os.pathsep.join(bulk._PACKAGES), "PATH": os.defpath}
    with (
        trio.fail_after(HANG_SECONDS),
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        ) as daemon,
    ):
        assert daemon.stdout is not None
        workers: list[Identity] = []
        for _ in range(2):
            identity = identity_of(int(daemon.stdout.readline()))
            assert identity is not None
            workers.append(identity)
        daemon.kill()
        for worker in workers:
            await wait_gone(worker)


async def test_a_process_is_nicer_than_the_daemon(started: list[trio.Process]) -> None:
    async with bulk_reader(FORMATS) as reader:
        await reader.start(1)
        await reader.read([])
        niceness = os.getpriority(os.PRIO_PROCESS, started[0].pid)
    assert niceness == min(19, os.getpriority(os.PRIO_PROCESS, 0) + bulk_worker.NICENESS)


def test_a_process_imports_little_and_has_an_environment_of_its_own() -> None:
    code = (
        "import os, sys, podiumd.sessions.index.bulk_worker;"
        "print(*sys.modules); print(*(name for name in os.environ if name != 'LC_CTYPE'))"
    )
    ran = subprocess.run(
        [*bulk.COMMAND[:-1], code],
        env=bulk._ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    modules, names = (text.split() for text in ran.stdout.splitlines())
    heavy = {"trio", "watchdog", "sqlite3", "asyncio", "logging", "subprocess", "threading"}
    heavy.add("pathlib")
    assert not heavy & set(modules)
    allocator = {"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"}
    assert set(names) == {"PYTHONPATH", "PYTHONUTF8"} | allocator


def test_it_serves_until_no_more_is_asked(work: Request) -> None:
    sink = BytesIO()
    serve(BytesIO(framed(bulk._encode(work)) * 2), sink)
    assert sink.getvalue() == framed(bulk_worker._encode(in_the_daemon(work))) * 2


def test_it_ends_when_nobody_listens(work: Request) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    requests = BytesIO(framed(bulk._encode(work)) * 2)
    with open(writing, "wb", buffering=0) as sink:
        serve(requests, sink)
    assert requests.read(1) != b""  # the second was not even read


# -- sweeps that read in processes of their own ----------------------------------------------


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
    write, stored, waiting, enough = Index.write_in_thread, trio.Event(), [0], trio.Event()

    async def late(self: Index, change: Any, *args: Any) -> Any:
        if change is table.save:
            waiting[0] += 1
            if waiting[0] == 3:
                enough.set()
            await stored.wait()
        return await write(self, change, *args)

    monkeypatch.setattr(Index, "write_in_thread", late)
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


# -- what is to be read waits for it in few bytes, not as a hundred thousand small objects ---


COUNT = 4 * BATCH_FILES


def files(name: str) -> list[Found]:
    return [
        Found(f"{number:036}", "claude", f"/{'p' * 80}/{name}{number:036}.jsonl", 1, number, 9, 5)
        for number in range(COUNT)
    ]


def test_what_waits_is_as_it_was_and_takes_no_object_a_file() -> None:
    found, batches = files("-"), list(batches_of(files("-")))
    blocks = sys.getallocatedblocks()
    packs = packed(found)
    assert found == []
    gc.collect()
    assert sys.getallocatedblocks() - blocks < -COUNT
    assert [unpacked(pack) for pack in packs] == batches


def test_a_batch_with_a_path_that_is_no_text_waits_as_it_is() -> None:
    assert [file for pack in packed(files("\udcff")) for file in unpacked(pack)] == files("\udcff")
