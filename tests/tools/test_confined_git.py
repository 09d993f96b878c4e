"""A git that goes through a gate has the limits of any other, and its descriptors are few."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from podiumd.tools.git import process
from podiumd.tools.git.beside import Confined
from podiumd.tools.git.queries import GitError
from tests.needs import need

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")

ENVIRONMENT = {"PATH": os.environ["PATH"]}
CONFINED = Confined(("bwrap", "--bind", "/", "/", "--dev", "/dev", "--"))


def descriptors() -> set[str]:
    return {one.name for one in Path("/proc/self/fd").iterdir() if one.exists()}


def reads(pipe: Path) -> list[str]:
    """A git that reads from a pipe."""
    return ["git", "-C", f"{pipe.parent}", "config", "--file", f"{pipe}", "--list"]


async def test_one_that_waits_for_ever_is_ended_at_its_limit(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    need("bwrap")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    async def let_time_pass() -> None:
        writer = await trio.to_thread.run_sync(os.open, pipe, os.O_WRONLY)  # it has begun to read
        try:
            while not over.is_set():  # the clock stands still but for these steps
                mock_clock.jump(process.LIMIT_SECONDS)
                await trio.testing.wait_all_tasks_blocked()
        finally:
            os.close(writer)

    over = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(let_time_pass)
        with pytest.raises(GitError, match="did not end within 20 minutes, and was ended"):
            await process._run(reads(pipe), ENVIRONMENT, confined=CONFINED)
        over.set()


async def test_its_gate_is_closed_where_it_cannot_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: Any, **__: Any) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(process, "Program", no_room)
    before = descriptors()

    with pytest.raises(GitError, match=r"cannot be run \(Too many open files\)"):
        await process._run(reads(tmp_path / "pipe"), ENVIRONMENT, confined=CONFINED)

    assert descriptors() == before


async def test_one_that_waits_for_others_to_end_holds_no_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "AT_ONCE", trio.CapacityLimiter(1))
    await process.AT_ONCE.acquire()
    before = descriptors()
    async with trio.open_nursery() as nursery:

        async def run() -> None:
            await process._run(reads(tmp_path / "pipe"), ENVIRONMENT, confined=CONFINED)

        nursery.start_soon(run)
        await wait_all_tasks_blocked()
        assert process.AT_ONCE.statistics().tasks_waiting == 1
        assert descriptors() == before
        nursery.cancel_scope.cancel()
