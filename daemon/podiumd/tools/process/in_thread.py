"""Runs a short program in one thread, which starts it, reads what it prints and collects it.

Trio's own way takes a thread to start it, and a task and a wake-up for each of its pipes and for
its end. Where many programs run that are over in some milliseconds that is most of what they cost.
"""

from __future__ import annotations

import contextlib
import io
import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import outcome
import trio

from podiumd.tools.process.memory import bound_data

Result = subprocess.CompletedProcess[bytes]

TERMINATE_SECONDS: Final = 2.0
PIECE: Final = 32768
MOST_PRINTED: Final = 64 * 1024**2
"""Bytes that a program may print: all of it is held in memory at once."""
MOST_SAID: Final = 1024**2
"""Bytes that are kept of its standard error, the last ones: why it failed stands at its end."""


class PrintedTooMuchError(Exception):
    """A program printed more than ``MOST_PRINTED``; what it printed is not kept."""


class Printed:
    """The first ``most`` bytes of a program's output."""

    def __init__(self, most: int) -> None:
        self._room = most
        self._kept = io.BytesIO()  # it gives out what it holds without a copy
        self.too_much = False

    def add(self, piece: bytes) -> None:
        """Keep a piece, as far as there is room."""
        self.too_much = self.too_much or len(piece) > self._room
        self._room -= self._kept.write(piece[: self._room])

    def all(self) -> bytes:
        """Return what is kept."""
        return self._kept.getvalue()


class Said:
    """The last ``MOST_SAID`` bytes of a program's standard error."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def add(self, piece: bytes) -> None:
        """Keep a piece, and let go of the oldest bytes where there are too many."""
        self._kept += piece
        del self._kept[: max(0, len(self._kept) - MOST_SAID)]

    def all(self) -> bytes:
        """Return what is kept."""
        return bytes(self._kept)


class Program:
    """A program that was started, in a session of its own, with what it has written so far."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        stdin: bytes = b"",
        *,
        memory: int | None = None,
        beginning: int | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        """Start it, in another thread: ``result`` reports a failure of that.

        It gets ``memory`` bytes at most, and inherits ``pass_fds``. Of its output so many bytes are
        wanted as its ``beginning`` is long; by default all, up to ``MOST_PRINTED``.
        """
        self._command, self._environment, self._stdin = command, environment, stdin
        self._memory, self._pass_fds = memory, pass_fds
        self._left, self._leave = os.pipe()  # its thread waits at it too: closed, it goes
        self._process: subprocess.Popen[bytes] | None = None
        self._given_up = False
        self.printed, self._said = Printed(MOST_PRINTED if beginning is None else beginning), Said()
        self._begun, self._enough = trio.Event(), trio.Event()
        self._over = trio.Event()
        self._outcome: outcome.Outcome[Result] | None = None
        self._trio = trio.lowlevel.current_trio_token()
        trio.lowlevel.start_thread_soon(self._run, self._tell, "program")

    async def begun(self) -> None:
        """Wait until it has begun, with what it inherits, or could not be started."""
        await self._begun.wait()

    async def over(self) -> None:
        """Wait until it has ended and no process can write to its output.

        The wait is over too when it has printed too much; it goes on then, until it is ended.
        """
        await self._enough.wait()

    def result(self) -> Result:
        """Return its result, once it is over.

        Raises ``OSError`` where it could not be started, and ``PrintedTooMuchError``.
        """
        if self.printed.too_much:  # it may not even have died of SIGKILL
            raise PrintedTooMuchError
        assert self._outcome is not None
        return self._outcome.unwrap()

    async def end(self) -> None:
        """End it with all of its process group, politely first: it may have locks to remove.

        A process that has left the group and keeps the output open is not waited for, as its output
        is not read then.
        """
        self._given_up = True  # the thread sees it, where it is just about to start it
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self._over.is_set():
                self._send(number)
                with trio.move_on_after(TERMINATE_SECONDS):
                    await self._over.wait()
        self._let_go()

    def _let_go(self) -> None:
        if self._leave >= 0:
            os.close(self._leave)
            self._leave = -1

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _run(self) -> Result:
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE if self._stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment,
                start_new_session=True,  # a Ctrl-C meant for the daemon is not for it
                pass_fds=self._pass_fds,
            )
            if self._pass_fds:
                self._call(self._begun.set)
            if self._memory is not None:
                bound_data(process.pid, self._memory)
            self._process = process
            if self._given_up:
                self._send(signal.SIGTERM)
            left = self._talk(process)
            # A process that does not even die of SIGKILL (its disk is gone) is not waited for.
            status = process.poll() if left else process.wait()
            status = -signal.SIGKILL if status is None else status
            return Result(self._command, status, self.printed.all(), self._said.all())
        finally:
            os.close(self._left)

    def _talk(self, process: subprocess.Popen[bytes]) -> bool:
        """Give it its input and read its output, until no process can write any more.

        It also ends when the other end of ``_left`` is closed, and returns whether it was that.
        What is printed after too much is read and dropped, so that nothing waits to write it while
        it is ended.
        """
        assert process.stdout is not None and process.stderr is not None
        with contextlib.ExitStack() as stack:
            selector = stack.enter_context(selectors.PollSelector())
            for pipe, into in ((process.stdout, self.printed), (process.stderr, self._said)):
                selector.register(stack.enter_context(pipe), selectors.EVENT_READ, into)
            if process.stdin is not None:
                os.set_blocking(process.stdin.fileno(), False)
                given = stack.enter_context(process.stdin)
                selector.register(given, selectors.EVENT_WRITE, memoryview(self._stdin))
            selector.register(self._left, selectors.EVENT_READ)
            told = False
            while len(selector.get_map()) > 1:
                for key, _ in selector.select():
                    if key.fd == self._left:
                        return True
                    _go_on(selector, key)
                if self.printed.too_much and not told:
                    told = True
                    self._call(self._enough.set)
        return False

    def _tell(self, done: outcome.Outcome[Result]) -> None:
        self._call(self._hear, done)

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        with contextlib.suppress(trio.RunFinishedError):  # no task is left to receive it
            self._trio.run_sync_soon(function, *arguments)

    def _hear(self, done: outcome.Outcome[Result]) -> None:
        self._outcome = done
        self._begun.set()
        self._over.set()
        self._enough.set()
        self._let_go()


def _go_on(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    """Read or write what there is at one pipe, and close it where that was the last."""
    if isinstance(key.data, Printed | Said):
        piece = os.read(key.fd, PIECE)
        key.data.add(piece)
        over = not piece
    else:
        rest = b""  # who reads no more needs no more
        with contextlib.suppress(BrokenPipeError):
            rest = key.data[os.write(key.fd, key.data) :]
        over = not rest
        if rest:
            selector.modify(key.fileobj, selectors.EVENT_WRITE, rest)
    if over:
        selector.unregister(key.fileobj)
        assert isinstance(key.fileobj, io.IOBase)
        key.fileobj.close()
