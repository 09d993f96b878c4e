"""Run one check or command to its end, with its output in a file, and leave nothing behind."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Protocol

import msgspec
import trio

from podiumd.tools.process.processes import identity_of, wait_gone

TAIL_BYTES = 8 * 1024
DRAIN_SECONDS = 0.5
TERMINATE_SECONDS = 2.0
KILL_SECONDS = 2.0
_END_SECONDS = TERMINATE_SECONDS + KILL_SECONDS + 2 * DRAIN_SECONDS + 1.0


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a command.

    ``exit_status`` is the program's, negative for the signal that ended it, and ``None`` when it
    could not be started (``message`` gives the reason) or was ended at its time limit
    (``timed_out``). ``tail`` is the end of its output, at most 8 KB, as text. ``truncated``: the
    log file lacks a part of the output.
    """

    exit_status: int | None
    seconds: float = 0.0
    tail: str = ""
    truncated: bool = False
    timed_out: bool = False
    message: str = ""


class Ending(NamedTuple):
    """The end of a command; the fields are those of ``CommandResult``."""

    exit_status: int | None
    timed_out: bool = False
    message: str = ""


class Sink(Protocol):
    """Receiver of a command's output."""

    async def follow(self, process: trio.Process) -> None:
        """Read the output until no process holds it any more; may be cancelled at its end."""


async def run_command(
    argv: Sequence[str],
    *,
    cwd: str | Path,
    environment: Mapping[str, str],
    marker_env: Mapping[str, str],
    output_cap_bytes: int,
    log_file: Path,
    limit_seconds: float | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    pass_fds: Sequence[int] = (),
) -> CommandResult:
    """Run ``argv`` in a session of its own, output and errors into ``log_file``.

    It has no input, or reads the open file ``stdin``, and inherits ``pass_fds``. The whole
    environment is ``environment`` and ``marker_env``. At most ``output_cap_bytes`` go into the
    file, the rest is counted and dropped.
    After ``limit_seconds``, or when the caller cancels, its process group is terminated, and
    killed 2 s later; the same holds for what it left running in its group when it ended by
    itself. Processes that moved to another session are the caller's to sweep, by the marker.

    A command that cannot be started is a result, not an exception. Raises ``OSError`` when
    ``log_file`` cannot be made.
    """
    started = trio.current_time()
    with _Output(log_file, output_cap_bytes) as output:
        ending = await run_into(
            output,
            argv,
            cwd=cwd,
            environment={**environment, **marker_env},
            limit_seconds=limit_seconds,
            stdin=stdin,
            pass_fds=pass_fds,
        )
    if ending.exit_status is None and not ending.timed_out:
        return CommandResult(exit_status=None, message=ending.message)
    return CommandResult(
        exit_status=ending.exit_status,
        seconds=trio.current_time() - started,
        tail=output.tail(),
        truncated=output.dropped > 0,
        timed_out=ending.timed_out,
        message=ending.message,
    )


async def run_into(
    sink: Sink,
    argv: Sequence[str],
    *,
    cwd: str | Path,
    environment: Mapping[str, str],
    limit_seconds: float | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stderr: int = subprocess.STDOUT,
    pass_fds: Sequence[int] = (),
) -> Ending:
    """Run ``argv`` to its end as ``run_command`` does, its output going to ``sink``.

    ``stderr`` is ``subprocess.PIPE`` where the sink reads the errors apart.
    """
    started = trio.current_time()
    limit = math.inf if limit_seconds is None else limit_seconds
    try:
        if not argv:
            raise ValueError("the command is empty")
        process = await trio.lowlevel.open_process(
            list(argv),
            cwd=str(cwd),
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
            pass_fds=pass_fds,
        )
    except (OSError, ValueError) as error:
        return Ending(None, message=_why_not(error, argv, cwd))
    if await _see_through(process, sink, started + limit):
        return Ending(None, True, f"ended at its time limit of {limit_seconds:g} s")
    return Ending(process.returncode)


async def _see_through(process: trio.Process, sink: Sink, deadline: float) -> bool:
    """Wait for the end of the command, then of its group; returns whether the limit struck."""
    reading = trio.CancelScope(shield=True)  # output is read while the group is being ended, too
    silent = trio.Event()
    finished = False

    async def read() -> None:
        with reading:
            await sink.follow(process)
        silent.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        try:
            with trio.move_on_at(deadline) as limit:
                await _exited(process)
                finished = True
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + _END_SECONDS):
                await _end_group(process, silent, finished=finished)
            # A process that still holds the pipe is in another session and may do so for ever.
            reading.cancel()
    return not finished and limit.cancelled_caught


async def _exited(process: trio.Process) -> None:
    """Wait for the exit without collecting the process: its group's number stays taken."""
    identity = identity_of(process.pid)
    if identity is None:
        await process.wait()
    else:
        await wait_gone(identity)


async def _end_group(process: trio.Process, silent: trio.Event, *, finished: bool) -> None:
    """End what lives of the command's process group, politely first.

    ``silent`` (no process holds the output any more) shows without polling that a group is gone. A
    command that has finished gets a moment for the last output of its helpers (``tee``).
    """
    if finished:
        with trio.move_on_after(DRAIN_SECONDS):
            await silent.wait()
    if not (finished and silent.is_set()):
        _signal_group(process, signal.SIGTERM)
        with trio.move_on_after(TERMINATE_SECONDS):
            await _exited(process)
            await silent.wait()
    _signal_group(process, signal.SIGKILL)
    with trio.move_on_after(KILL_SECONDS):
        await process.wait()
    with trio.move_on_after(DRAIN_SECONDS):
        await silent.wait()


def _signal_group(process: trio.Process, number: signal.Signals) -> None:
    # Called before the leader is collected, so the number cannot be another group's. macOS
    # answers EPERM for a group of which only the dead leader is left.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


class _Output:
    """The output of a command: up to a cap in a file, the end of it in memory.

    Written in the event loop: each piece is at most 64 KiB into the page cache, and their sum is
    capped.
    """

    def __init__(self, path: Path, cap: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(path, flags, 0o600)
        self._cap = cap
        self._room = cap
        self._tail = b""
        self.dropped = 0

    def __enter__(self) -> _Output:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.dropped:
            self._write(
                f"\n[{self.dropped} more bytes of output were dropped; "
                f"the limit is {self._cap} bytes]\n".encode()
            )
        os.close(self._fd)

    async def follow(self, process: trio.Process) -> None:
        assert process.stdout is not None
        async with process.stdout as stream:
            async for piece in stream:
                self._take(bytes(piece))

    def tail(self) -> str:
        # A character may have been cut at the front: its remaining bytes are left out.
        start = 0
        while start < min(3, len(self._tail)) and self._tail[start] & 0xC0 == 0x80:
            start += 1
        text = self._tail[start:].decode("utf-8", "replace")
        return text.encode()[-TAIL_BYTES:].decode("utf-8", "ignore")

    def _take(self, piece: bytes) -> None:
        self._tail = (self._tail + piece)[-TAIL_BYTES:]
        kept = self._write(piece[: self._room])
        self._room -= kept
        if kept < len(piece):
            self.dropped += len(piece) - kept
            self._room = 0  # no hole in the middle: after a full disk nothing more is written

    def _write(self, piece: bytes) -> int:
        """Write as much of ``piece`` as the file takes; a full disk must not fail the command.

        Returns the number of bytes written.
        """
        try:
            return os.write(self._fd, piece) if piece else 0
        except OSError:
            return 0


def _why_not(error: OSError | ValueError, argv: Sequence[str], cwd: str | Path) -> str:
    """Explain why a command could not be started, and what to do."""
    if isinstance(error, ValueError):
        return f"the command cannot be run: {error}"
    program = argv[0]
    if not Path(cwd).is_dir():
        return f"the working directory '{cwd}' is not there"
    if error.filename == str(cwd):
        return f"the working directory '{cwd}' cannot be entered: {error.strerror}"
    if isinstance(error, FileNotFoundError):
        if "/" not in program:
            return f"the program '{program}' was not found on PATH; install it or name its path"
        if Path(cwd, program).exists():
            return f"the interpreter in the first line of '{program}' is missing"
        return f"the program '{program}' does not exist"
    if isinstance(error, PermissionError):
        return f"the program '{program}' is not executable; run: chmod +x '{program}'"
    if error.errno == errno.ENOEXEC:
        return f"'{program}' is no program of this machine (a script needs a first line '#!...')"
    return f"the program '{program}' cannot be run: {error.strerror}"
