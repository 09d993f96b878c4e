"""The agent's process: started so that it needs no daemon, or found again by a later one."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import trio

from podiumd.drivers.base import Started, TurnRequest
from podiumd.drivers.fifo import Fifo, create_fifo
from podiumd.drivers.spool import Bell
from podiumd.tools.failpoints import failpoint
from podiumd.tools.files.plain_file import open_plain
from podiumd.tools.files.private_file import write_private
from podiumd.tools.process import cgroup
from podiumd.tools.process.processes import (
    MARKER,
    Identity,
    send_signal,
    start_of,
    sweep,
    wait_gone,
)

PIPE, SPOOL, ERRORS, GROUP = "in", "out.jsonl", "err.log", "cgroup"
ERROR_TAIL_BYTES = 4096


class AgentProcess:
    """The process of one agent, ours or an earlier daemon's.

    ``gone`` is set once it has ended, by ``watch``; ``status`` is its exit status then, ``None``
    where it was not our child.
    """

    def __init__(
        self, identity: Identity, group: int, child: subprocess.Popen[bytes] | None = None
    ) -> None:
        self.identity = identity
        self.gone = trio.Event()
        self.status: int | None = None
        self._group = group
        self._child = child
        # The end of a turn is shielded from cancellation, so what it waits for is so too.
        self._watching = trio.CancelScope(shield=True)

    @property
    def started(self) -> Started:
        """Build the event that reports it."""
        return Started(self.identity.pid, self.identity.start, self._group)

    async def watch(self, bell: Bell) -> None:
        """Wait for its end, collect it if it is ours, and ring; until ``unwatch``."""
        with self._watching:
            await wait_gone(self.identity)
            if self._child is not None:
                self.status = self._child.wait()  # it has ended: this only collects it
            self.gone.set()
            bell.ring()

    def unwatch(self) -> None:
        """Wait for it no longer."""
        self._watching.cancel()

    def signal(self, number: signal.Signals) -> None:
        """Signal it, if it still lives."""
        send_signal(self.identity, number)


async def spawn(request: TurnRequest, argv: list[str], *lines: bytes) -> AgentProcess:
    """Start the agent with ``lines``, the prompt the last of them, waiting in its stdin.

    Its stdin is a pipe on disk that it holds open itself, its output goes to files: it can lose
    its daemon at any moment. It has a session of its own, inherits the lease and carries the
    turn's marker.

    Raises ``OSError`` where the program or the working directory cannot be used, ``FifoError``
    where the prompt cannot be handed over.
    """
    directory = Path(request.directory)
    for name in (PIPE, SPOOL, ERRORS, GROUP):
        # An attempt that left nothing but these was found absent: it is made once more.
        (directory / name).unlink(missing_ok=True)
    descriptors = [create_fifo(directory / PIPE)]
    try:
        descriptors += [_create(directory / SPOOL), _create(directory / ERRORS)]
        await Fifo(directory / PIPE).send(*lines)
        failpoint("turn.fifo-written")
        # Not trio's run_process, whose cancellation would end the agent; nor its open_process,
        # whose object must be waited for and so cannot be let go. Started on a thread, not
        # cancellable: either there is a process and we know it, or there is none.
        child = await trio.to_thread.run_sync(_start, request, argv, descriptors)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    try:
        failpoint("turn.after-spawn")
        with trio.CancelScope(shield=True):  # some 10 ms of the kernel's, then done
            await trio.to_thread.run_sync(_group, request.turn_id, directory, child.pid)
        start = start_of(child.pid)
        # It was not collected yet, so it has a start time even if it has ended already.
        assert start is not None
    except BaseException:  # nothing would look after it
        with trio.CancelScope(shield=True):  # bounded: killed, it has ended at once
            child.kill()
            await trio.to_thread.run_sync(child.wait)
            await end_leftovers(request.turn_id, directory)
        raise
    return AgentProcess(Identity(child.pid, start), child.pid, child)


def _group(turn_id: str, directory: Path, pid: int) -> None:
    """Move the agent into a group of its own, where that can be made. Blocks."""
    group = cgroup.create(turn_id)
    if group is None:
        return
    try:
        # Noted first: a recovery of this turn finds the group even if we end here.
        write_private(directory / GROUP, str(group))
    except OSError:  # the disk is full: a group that cannot be found is worse than none
        (directory / GROUP).unlink(missing_ok=True)
        cgroup.remove(group)
        return
    cgroup.enter(group, pid)


def _start(
    request: TurnRequest, argv: list[str], descriptors: list[int]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        stdin=descriptors[0],
        stdout=descriptors[1],
        stderr=descriptors[2],
        cwd=request.working_directory,
        env={**request.environment, MARKER: request.turn_id},
        start_new_session=True,
        pass_fds=request.inherited,
    )


async def end_leftovers(turn_id: str, directory: Path) -> tuple[str, ...]:
    """End all that still lives of a turn whose agent is gone; return the command lines.

    Takes a fraction of a second where they obey, at most 10 s. Harmless to repeat.
    """
    lines = await sweep(turn_id)
    recorded = directory / GROUP
    group = Path(recorded.read_text()) if recorded.exists() else None
    return (*lines, *await cgroup.end(group))


def error_tail(directory: Path) -> str:
    """Read the end of the agent's output to stderr, at most 4 KiB."""
    try:
        with open_plain(directory / ERRORS) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - ERROR_TAIL_BYTES))
            return file.read().decode(errors="replace").strip()
    except FileNotFoundError:
        return ""


def _create(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    return os.open(path, flags, 0o600)
