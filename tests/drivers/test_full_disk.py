"""A disk that is full, or another fault, between the steps of starting an agent."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from podiumd.agents.claude.driver import ClaudeDriver
from podiumd.drivers import agent_process
from podiumd.drivers.base import Started, Turn, TurnEvent
from podiumd.tools import failpoints
from podiumd.tools.files.private_file import write_private
from podiumd.tools.process import cgroup
from podiumd.tools.process.processes import carriers
from tests.drivers.rig import Rig, follow

STUB = Path(__file__).with_name("stub_agent.py")


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path, command=(sys.executable, "-S", str(STUB), "idle", "--"))


@pytest.fixture
def armed() -> Iterator[Callable[[str], None]]:
    yield failpoints.arm
    failpoints.arm(None)


def no_room(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def test_a_turn_without_room_is_not_a_failed_one_and_starts_nothing(
    claude: ClaudeDriver, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = rig.request()
    monkeypatch.setattr(agent_process, "create_fifo", no_room)
    with pytest.raises(OSError, match="No space left"):
        async with claude.turn(request):
            raise AssertionError
    assert carriers(request.turn_id) == []


async def test_an_agent_whose_group_cannot_be_noted_is_looked_after_without_one(
    claude: ClaudeDriver, rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = tmp_path / "group"
    group.mkdir()
    usual = write_private

    def write(path: Path, text: str) -> None:
        if path.name == agent_process.GROUP:
            path.touch()
            no_room()
        usual(path, text)

    monkeypatch.setattr(cgroup, "create", lambda turn_id: group)
    monkeypatch.setattr("podiumd.drivers.agent_process.write_private", write)
    request = rig.request()
    async with claude.turn(request) as turn:
        await follow(turn)
    assert turn.report.kind == "done"
    assert not group.exists() and not (Path(request.directory) / agent_process.GROUP).exists()


async def test_an_agent_that_nobody_can_look_after_is_ended_at_once(
    claude: ClaudeDriver, rig: Rig, armed: Callable[[str], None]
) -> None:
    armed("turn.after-spawn:1:error")
    request = rig.request()
    async with claude.turn(request) as turn:
        await follow(turn)
        assert carriers(request.turn_id) == []
    assert turn.report.kind == "failed"


async def test_the_agent_keeps_the_leases_that_it_inherited(
    claude: ClaudeDriver, rig: Rig, tmp_path: Path
) -> None:
    paths = [tmp_path / "session.lock", tmp_path / "tree.lock"]
    ours = [locked(path) for path in paths]
    assert None not in ours
    free: list[bool] = []

    async def look(_turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, Started):  # it lives: what we hold is gone, as after a kill
            for fd in ours:
                os.close(fd or 0)
            free.extend(locked(path) is not None for path in paths)

    request = rig.request(lease_fd=ours[0], tree_fd=ours[1])
    async with claude.turn(request) as turn:
        await follow(turn, look)
    assert free == [False, False]
    for path in paths:
        fd = locked(path)
        assert fd is not None
        os.close(fd)


def locked(path: Path) -> int | None:
    """A descriptor with the lock of a file, if it is free."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd
