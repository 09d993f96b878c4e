"""Pruning that is killed in the middle: what is removed is removed whole, and the next goes on."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.runtime.maintenance import storage
from podiumd.store.facts import Store, open_store
from podiumd.store.records import Ledger
from tests.long import sampled
from tests.runtime.harness import Machine
from tests.runtime.test_session_list import listed, ready, write
from tests.runtime.test_storage import aged, marked, storage_of, transcript
from tests.store.support import a_fact, a_run

SESSIONS = [str(uuid.uuid5(uuid.NAMESPACE_OID, str(number))) for number in range(3)]
MARKS = [f"mark-{number:03}" for number in range(storage.AT_ONCE + 1)]


async def _marks(machine: Machine) -> None:
    async with open_store(machine.state) as store:
        await marked(store, "kept", of_run=True)
        run = a_run("run", session_id=None)
        async with trio.open_nursery() as nursery:
            for name in MARKS:
                nursery.start_soon(partial_append, store, run, name)


async def partial_append(store: Store, run: Any, name: str) -> None:
    await store.append(run, [], mark=(name, b"{}"))


async def _marks_left(machine: Machine) -> int:
    async with open_store(machine.state) as store:
        assert await store.mark("kept") == b"{}"
        return len([name for name in MARKS if await store.mark(name)])


async def _files(machine: Machine) -> None:
    for number, session in enumerate(SESSIONS):
        transcript(machine, session, 31 if number else 1)


async def _files_left(machine: Machine) -> int:
    assert (machine.state / "sessions" / f"{SESSIONS[0]}.jsonl").read_bytes() == b"12345"
    return len(list((machine.state / "sessions").iterdir())) - 1


async def _gone(machine: Machine) -> None:
    paths = [write(machine, number) for number in (1, 2, 3)]
    async with ready(machine):
        pass
    for path in paths[1:]:
        path.unlink()


async def _gone_left(machine: Machine) -> int:
    async with ready(machine) as daemon:
        assert "1" in await listed(daemon)
        return len(await listed(daemon)) - 1


async def _pages(machine: Machine) -> None:
    async with open_store(machine.state) as store:
        for number in range(8):
            await store.append(a_run(f"run-{number}", status="ended"), [a_fact("x" * 500_000)])
        await store.append(a_run("last"), [a_fact()])
        await store.save_ledgers([Ledger("kept", 1, b"12")])
        await store.forget_runs([f"run-{number}" for number in range(8)])


async def _pages_left(machine: Machine) -> int:
    async with open_store(machine.state) as store:
        assert len(await store.events("last")) == 1 and await store.ledger("kept") is not None
        return (await store.unused())[0]


async def _locks(machine: Machine) -> None:
    machine.locks.mkdir(mode=0o700)
    for number in range(3):
        aged(machine.locks / f"session-{number}.lock", 31 if number else 1)


async def _locks_left(machine: Machine) -> int:
    assert (machine.locks / "session-0.lock").exists()
    return len(list(machine.locks.iterdir())) - 1


Make = Callable[[Machine], Awaitable[None]]
Left = Callable[[Machine], Awaitable[int]]
KILLS: dict[str, tuple[Make, Left, tuple[str, ...]]] = {
    "prune.after-lock": (_locks, _locks_left, ("locks",)),
    "prune.after-marks": (_marks, _marks_left, ("marks",)),
    "prune.after-path": (_files, _files_left, ("transcripts",)),
    "prune.after-session": (_gone, _gone_left, ("gone",)),
    "prune.after-pages": (_pages, _pages_left, ("runs",)),
}
PRUNES = """
import sys, trio
from pathlib import Path
from tests.runtime import test_storage_kills as t
trio.run(t.pruned, Path(sys.argv[1]), *sys.argv[2:])
"""


async def pruned(root: Path, *what: str) -> None:
    """Prune parts, in a process that a failpoint may kill."""
    async with ready(Machine(root)) as daemon:
        await storage_of(daemon, transcripts_days=30).prune(what, vacuum=True)


@pytest.mark.parametrize("point", sampled(KILLS))
async def test_pruning_that_was_killed_lost_nothing_but_what_may_go_and_goes_on(
    tmp_path: Path, point: str
) -> None:
    machine = Machine(tmp_path)
    make, left, what = KILLS[point]
    await make(machine)
    result = await trio.run_process(
        [sys.executable, "-c", PRUNES, str(tmp_path), *what],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PODIUM_FAILPOINT": point},
        check=False,
    )
    assert result.returncode == -signal.SIGKILL
    assert await left(machine) > 0, "it was in the middle"
    await pruned(tmp_path, *what)
    assert await left(machine) == 0
