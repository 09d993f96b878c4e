"""Whole lines into an agent's stdin, which is a named pipe on disk.

The agent holds its end open for reading and writing, so it never sees an end of file and needs no
daemon; each line is written by the process that runs the turn at that moment. Half a line would end
the agent at the next newline, so a line goes in whole or not at all, also when this process is
killed in the middle of it:

- up to ``PIPE_BUF`` bytes a write is atomic by POSIX, a full pipe gives EAGAIN;
- a longer line goes in one write into an *empty* pipe that is large enough for it;
- anything longer than that is refused.
"""

from __future__ import annotations

import array
import fcntl
import os
import select
import stat
import sys
import termios
from pathlib import Path

import trio

PIPE_BYTES = 1 << 20
MARGIN_BYTES = 4096
MAX_LINE_BYTES = PIPE_BYTES - MARGIN_BYTES
_FIRST_WAIT, _LONGEST_WAIT = 0.001, 0.05


class FifoError(Exception):
    """A line did not reach the agent; the message says why."""


class LineTooLong(FifoError):
    """The line is longer than a pipe takes at once; nothing was written."""


def require_short(*lines: bytes) -> None:
    """Refuse lines that no pipe takes at once, though they are not to be written.

    Raises ``LineTooLong``.
    """
    size = sum(map(len, lines))
    if size > MAX_LINE_BYTES:
        raise LineTooLong(
            f"{size} bytes in one line, at most {MAX_LINE_BYTES} go to an agent at once: "
            "attach it as a file"
        )


class AgentGone(FifoError):
    """Signal that the agent has ended and no process reads the pipe; nothing was written."""


class Poisoned(FifoError):
    """Part of a line went in. Nothing more may be sent; the turn is to be ended."""


def create_fifo(path: Path) -> int:
    """Make the pipe (mode 0600) and open it for the child's stdin.

    Returns a blocking descriptor open for reading and writing: hand it to the child, then close
    it. It is a description of its own, so our non-blocking writes do not change the child's.
    """
    os.mkfifo(path, 0o600)
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    if sys.platform == "linux":
        try:
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        except PermissionError:
            # The user's share of pipe memory is used up: a smaller pipe takes shorter lines.
            return descriptor
    return descriptor


class Fifo:
    """The writing side of one turn's pipe; any number of tasks may send."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = trio.Lock()
        self.poisoned = False
        """Part of a line went in: the turn is to be ended."""

    async def send(self, *lines: bytes) -> None:
        """Write lines (each with its newline) whole, and all of them or none.

        Waits while the agent does not read; cancelling that wait leaves nothing written.

        Raises ``LineTooLong``, ``AgentGone`` or ``Poisoned``.
        """
        if any(line.count(b"\n") != 1 or not line.endswith(b"\n") for line in lines):
            raise ValueError("a line must hold exactly one newline, at its end")
        line = b"".join(lines)
        async with self._lock:
            if self.poisoned:
                raise Poisoned(f"{self._path}: a line was cut; nothing more is sent")
            descriptor = self._open()
            try:
                await self._write_whole(descriptor, line)
            except BrokenPipeError:
                raise AgentGone(f"{self._path}: the agent has ended") from None
            finally:
                trio.lowlevel.notify_closing(descriptor)
                os.close(descriptor)

    def _open(self) -> int:
        # ENXIO: no process has it open for reading.
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise AgentGone(f"{self._path}: the agent has ended ({error.strerror})") from None
        if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise FifoError(f"{self._path} is not a pipe")
        return descriptor

    async def _write_whole(self, descriptor: int, line: bytes) -> None:
        if len(line) > select.PIPE_BUF:
            limit = _capacity(descriptor) - MARGIN_BYTES
            if len(line) > limit:
                raise LineTooLong(
                    f"{len(line)} bytes in one line, at most {limit} go to an agent at once: "
                    "attach it as a file"
                )
            await _until_empty(descriptor)
        written = 0
        while not written:
            try:
                written = os.write(descriptor, line)
            except BlockingIOError:
                await trio.lowlevel.wait_writable(descriptor)
        if written != len(line):
            self.poisoned = True
            raise Poisoned(f"{self._path}: {written} of {len(line)} bytes were written")


def _capacity(descriptor: int) -> int:
    if sys.platform == "linux":
        return fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)
    return 65536


async def _until_empty(descriptor: int) -> None:
    """Wait until the agent has read all that is in the pipe.

    No event signals "empty": the system wakes a writer when there is room for one page. A reader
    that is awake empties the pipe within milliseconds, so this asks again after 1 ms, then at
    growing distances of at most 50 ms while it reads nothing (it is still starting).
    """
    poll = select.poll()
    poll.register(descriptor, 0)
    pause = _FIRST_WAIT
    count = array.array("i", [0])
    while True:
        fcntl.ioctl(descriptor, termios.FIONREAD, count)
        if count[0] == 0:
            return
        if poll.poll(0):
            raise AgentGone("the agent has ended")
        await trio.sleep(pause)
        pause = min(2 * pause, _LONGEST_WAIT)
