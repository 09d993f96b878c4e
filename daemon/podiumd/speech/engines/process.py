"""A worker process: it is started, sent frames, read from, and ended.

Frames go through a task of their own, so that a job which is given up never leaves half a frame in
the pipe. A task that waits for a job learns of the process's end.
"""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

import msgspec
import trio

from podiumd.core.excerpt import end
from podiumd.observe.logs import log
from podiumd.speech.api import AudioError, EngineFailed, Heard
from podiumd.speech.engines import wire

END_SECONDS: Final = 2.0
_QUEUE: Final = 8  # frames
_LONGEST_LINE: Final = 4 * 1_048_576
_TAIL: Final = 2048


class BegunJob:
    """A job that the process has been given."""

    def __init__(self, number: int, partial: Callable[[str], None]) -> None:
        self.number = number
        self.outcome: Heard | AudioError | EngineFailed | None = None
        self._partial = partial
        self._sign = trio.Event()

    def take(self, line: wire.Line) -> None:
        """Take a line of the process about it."""
        match line:
            case wire.Partial():
                self._partial(line.text)
            case wire.Answered():
                self.settle(line.heard)
            case wire.Refused():
                self.settle(AudioError(line.code, line.message))
            case _:
                pass
        self.notify()

    def settle(self, outcome: Heard | AudioError | EngineFailed) -> None:
        """Settle the job; the first outcome holds."""
        if self.outcome is None:
            self.outcome = outcome
        self.notify()

    def notify(self) -> None:
        """Wake the tasks that wait for a sign of life."""
        self._sign.set()
        self._sign = trio.Event()

    async def sign(self) -> None:
        """Wait until the process gives a sign of life."""
        await self._sign.wait()


class WorkerProcess:
    """See the module; ``start_worker`` makes it."""

    def __init__(self, process: trio.Process, patience: float) -> None:
        self.ready = False
        self.gone = False
        self.problem: str | None = None
        self._process = process
        self._patience = patience
        self._begun: dict[int, BegunJob] = {}
        self._next = 1
        self._frames, self._outgoing = trio.open_memory_channel[bytes](_QUEUE)
        self._unwanted: list[int] = []  # jobs given up while the queue was full
        self._tail = b""
        self._life = trio.CancelScope()

    @property
    def pid(self) -> int:
        """Return its process id."""
        return self._process.pid

    @asynccontextmanager
    async def begin(self, partial: Callable[[str], None]) -> AsyncIterator[BegunJob]:
        """Begin a job of this process; a caller that leaves before its outcome cancels it."""
        begun = BegunJob(self._next, partial)
        self._next += 1
        self._begun[begun.number] = begun
        if self.gone:
            begun.settle(self._end())
        try:
            yield begun
        finally:
            del self._begun[begun.number]
            if begun.outcome is None and not self.gone:
                self._cancel(begun.number)

    async def send(self, frame: bytes) -> None:
        """Queue a frame. Raises ``EngineFailed`` where the process does not take it."""
        try:
            with trio.fail_after(self._patience):
                await self._frames.send(frame)
        except trio.TooSlowError:
            self.kill(f"The speech worker takes no audio since {self._patience:g} s.")
            raise self._end() from None
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise self._end() from None

    def kill(self, why: str) -> None:
        """End it at once."""
        self.problem = self.problem or why
        self._process.kill()

    def retire(self) -> None:
        """Retire the process: it gets the end of its input, and a moment to leave."""
        self._life.cancel()

    async def run(self) -> None:
        """Serve the process for its life, to the end; a cancelled one is ended."""
        try:
            with self._life:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._write)
                    nursery.start_soon(self._drain)
                    await self._read()
                    nursery.cancel_scope.cancel()
        finally:
            with trio.move_on_after(2 * END_SECONDS, shield=True):
                await self._bury()
            self._settle_all()

    # --- inside ------------------------------------------------------------------------------

    def _cancel(self, number: int) -> None:
        try:
            self._frames.send_nowait(wire.frame(wire.CANCEL, number, b""))
        except (trio.WouldBlock, trio.BrokenResourceError, trio.ClosedResourceError):
            self._unwanted.append(number)

    def _end(self) -> EngineFailed:
        return EngineFailed(self.problem or "The speech worker ended.")

    async def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        async with self._outgoing:
            async for frame in self._outgoing:
                try:
                    await stdin.send_all(frame)
                    while self._unwanted:
                        await stdin.send_all(wire.frame(wire.CANCEL, self._unwanted.pop(), b""))
                except trio.BrokenResourceError:
                    return

    async def _read(self) -> None:
        assert self._process.stdout is not None
        rest = bytearray()
        async for piece in self._process.stdout:
            rest += piece
            if len(rest) > _LONGEST_LINE:
                self.kill("The speech worker answers without end.")
                return
            if b"\n" not in piece:
                continue
            *lines, rest = rest.split(b"\n")
            try:
                for line in lines:
                    self._take(wire.decode_line(line))
            except msgspec.MsgspecError as error:
                self.kill(f"The speech worker answers nonsense: {error}")
                return

    def _take(self, line: wire.Line) -> None:
        if isinstance(line, wire.Ready):
            self.ready = True
            for begun in self._begun.values():
                begun.notify()
        elif isinstance(line, wire.Broken):
            self.problem = line.message
        elif line.job in self._begun:
            # Jobs that wait for their turn see that there is life.
            for begun in self._begun.values():
                begun.take(line) if begun.number == line.job else begun.notify()

    async def _drain(self) -> None:
        assert self._process.stderr is not None
        async for piece in self._process.stderr:
            self._tail = (self._tail + piece)[-_TAIL:]

    async def _bury(self) -> None:
        """Close its input, the signal to leave; kill it if it does not."""
        self.gone = True
        self._frames.close()
        assert self._process.stdin is not None
        await self._process.stdin.aclose()
        with trio.move_on_after(END_SECONDS):
            await self._process.wait()
        self._process.kill()
        await self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                await stream.aclose()

    def _settle_all(self) -> None:
        if self._begun and self.problem is None:
            self.problem = f"The speech worker ended ({_ending(self._process.returncode)})."
        if self.problem is not None:
            tail = end(self._tail.decode("utf-8", "replace").strip(), 500)
            log("Speech worker failed", "warning", reason=self.problem, said=tail)
        for begun in self._begun.values():
            begun.settle(self._end())


async def start_worker(
    command: Sequence[str], environment: Mapping[str, str], setup: wire.Setup, patience: float
) -> WorkerProcess:
    """Start a worker and send it its model; ``run`` has to follow. Raises ``EngineFailed``.

    ``patience``: seconds in which it must take what it is sent.
    """
    try:
        process = await trio.lowlevel.open_process(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd="/",
        )
    except OSError as error:
        raise EngineFailed(f"The speech worker cannot be started: {error}") from error
    worker = WorkerProcess(process, patience)
    await worker.send(wire.message(wire.SETUP, 0, setup))
    return worker


def _ending(status: int | None) -> str:
    if status is not None and status < 0:
        return f"killed by signal {-status}"
    return f"status {status}"
