"""Much to read is read in processes of its own, side by side, so that the daemon goes on answering.

They live as long as the sweep that needs them and hold nothing: one that dies, hangs or answers
nonsense is ended, and what it was given is read in a thread, as is all where none can be started.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
import trio

import podiumd
from podiumd.formats.session import SessionFormat
from podiumd.observe.logs import log
from podiumd.sessions.index.bulk_worker import LENGTH_BYTES, Answer, Request, framed, read_all
from podiumd.sessions.index.tree import Found, Root

MOST_PROCESSES: Final = 3
"""Each takes about 14 MB for itself."""

BATCH_FILES, BATCH_BYTES = 256, 32 * 1024 * 1024
"""Most files and bytes that a process is given at once, and that are stored in one commit."""

LEAST_BYTES, _SHARES = 2 * 1024 * 1024, 2 * MOST_PROCESSES
"""Towards the end a batch is one of so many shares of what is left, if it is not less than that:
so the processes end together."""

WORTHWHILE_BYTES: Final = 32 * 1024 * 1024
"""With less to read a thread is done before the processes have started."""

PATIENCE_SECONDS, SLOWEST_BYTES = 30.0, 4_000_000
"""A process may take so long for its answer, and a second more for each so many bytes."""

END_SECONDS: Final = 2.0
_ANSWER_BYTES: Final = 64 * 1024 * 1024
_RECEIVED_AT_ONCE: Final = 64 * 1024

# Their packages are found without ``site``; nothing is imported from where they happen to run.
# msgspec can do without ``typing_extensions``, and without it they start a fifth sooner. The
# objects of their modules stay, so they are not looked through for garbage.
_MAIN: Final = """
import gc, sys
gc.disable()
sys.modules["typing_extensions"] = None
from podiumd.sessions.index.bulk_worker import main
gc.freeze()
gc.enable()
main()
"""
COMMAND: Final = (sys.executable, "-S", "-P", "-c", _MAIN)
_PACKAGES: Final = {
    str(Path(package.__path__[0]).parent): None for package in (podiumd, msgspec)
}  # a set that keeps its order
# glibc gives back what is freed and asks for it anew: a third of the time of reading was the kernel
# filling the same pages with zeros for each chunk. These keep a few megabytes (others ignore them).
_ALLOCATOR: Final = {
    "MALLOC_MMAP_THRESHOLD_": "8388608",
    "MALLOC_TRIM_THRESHOLD_": "8388608",
}
_ENVIRONMENT: Final = {
    "PYTHONPATH": os.pathsep.join(_PACKAGES),
    "PYTHONUTF8": "1",
    **_ALLOCATOR,
}

_encode: Final = msgspec.msgpack.Encoder().encode
_answers: Final = msgspec.msgpack.Decoder(Answer)
_batches: Final = msgspec.msgpack.Decoder(list[Found])


def command_of(roots: Iterable[Root]) -> tuple[str, ...]:
    """Return the command that starts a process to read the sessions of these agents."""
    return (*COMMAND, *(f"{root.agent}={root.format}" for root in roots if root.format))


def batches_of(found: Sequence[Found]) -> Iterator[list[Found]]:
    """Split the files into batches that are read and stored together, in the order given."""
    batch: list[Found] = []
    size = 0
    left = sum(one.size for one in found)
    for one in found:
        batch.append(one)
        size += one.size
        left -= one.size
        if len(batch) >= BATCH_FILES or size >= min(BATCH_BYTES, max(LEAST_BYTES, left // _SHARES)):
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def packed(found: list[Found]) -> list[bytes | list[Found]]:
    """Take the files out of the list, as batches of ``batches_of`` in a fraction of their memory.

    To read 100,000 takes a minute. Lasting objects of other tasks meanwhile would lie among so many
    small objects, and keep the memory of all of them from the system. Blocking.
    """
    batches = [_packed(batch) for batch in batches_of(found)]
    found.clear()
    return batches


def _packed(batch: list[Found]) -> bytes | list[Found]:
    try:
        return _encode(batch)
    except UnicodeEncodeError:  # a path that is no text
        return batch


def unpacked(batch: bytes | list[Found]) -> list[Found]:
    """Return a batch of ``packed`` as it was."""
    return _batches.decode(batch) if isinstance(batch, bytes) else batch


class _Failed(Exception):
    """A process did not answer as it should."""


class BulkReader:
    """Reads batches, as many at once as it has processes; see ``bulk_reader``."""

    def __init__(
        self, formats: Mapping[str, SessionFormat], command: Sequence[str], patience: float
    ) -> None:
        self._formats = formats
        self._command = command
        self._patience = patience
        self.count = 0
        """How many processes were asked for."""
        self.started = False
        """True once it is known how many there are."""
        self._processes: list[trio.Process] = []
        # ``None`` stands for a process that failed: its share is read in a thread.
        self._give_back, self._idle = trio.open_memory_channel[trio.Process | None](
            MOST_PROCESSES + 1
        )

    async def start(self, count: int) -> None:
        """Start processes, unless that was done; what is read meanwhile waits for them.

        Parameters: ``count``: how many, at most ``MOST_PROCESSES``; with 0 a thread reads.
        """
        if self.started:
            return
        self.started, self.count = True, count
        if not count:
            self._add(None)
        async with trio.open_nursery() as nursery:
            for _ in range(count):
                nursery.start_soon(self._start)

    async def _start(self) -> None:
        process = await _start(self._command)
        if process is not None:
            self._processes.append(process)
        self._add(process)

    def _add(self, process: trio.Process | None) -> None:
        """Take a process that is ready for a request; ``None``: one that could not be started."""
        self._give_back.send_nowait(process)

    async def read(self, request: Request) -> Answer:
        """Bring sessions up to date, without their logs. What cannot be read is left out.

        Waits until there is a process for it, or is known to be none: see ``start``.
        """
        message = _message(request)
        process = await self._idle.receive()
        answer: Answer | None = None
        try:
            if process is not None and message is not None:
                size = sum(found.size for found, _ in request)
                with trio.fail_after(self._patience + size / SLOWEST_BYTES):
                    answer = await _ask(process, message)
        except (_Failed, OSError, ValueError, trio.BrokenResourceError, trio.TooSlowError) as error:
            _log_failure(error)
        finally:
            if process is not None and message is not None and answer is None:
                process.kill()
                process = None
            self._add(process)
        if answer is None:
            answer = await trio.to_thread.run_sync(read_all, self._formats, request)
        return answer

    async def end(self) -> None:
        """End all processes. Nothing may be asked any more."""
        for process in self._processes:
            process.kill()  # it holds nothing
        for process in self._processes:
            await process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    await stream.aclose()


def _message(request: Request) -> bytes | None:
    try:
        return framed(_encode(request))
    except UnicodeEncodeError:  # a path that is no text
        return None


async def _ask(process: trio.Process, message: bytes) -> Answer:
    assert process.stdin is not None
    assert process.stdout is not None
    await process.stdin.send_all(message)
    length = int.from_bytes(await _receive(process.stdout, LENGTH_BYTES), "big")
    if length > _ANSWER_BYTES:
        raise _Failed(f"it answers with {length} bytes")
    return _answers.decode(await _receive(process.stdout, length))


async def _receive(stream: trio.abc.ReceiveStream, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        chunk = await stream.receive_some(min(length - len(data), _RECEIVED_AT_ONCE))
        if not chunk:
            raise _Failed("it ended")
        data += chunk
    return bytes(data)


def process_count() -> int:
    """Return how many processes read at once: one for each processor we may use, up to a limit."""
    ours = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(ours, MOST_PROCESSES)


@asynccontextmanager
async def bulk_reader(
    formats: Mapping[str, SessionFormat],
    *,
    command: Sequence[str] = COMMAND,
    patience: float = PATIENCE_SECONDS,
) -> AsyncIterator[BulkReader]:
    """Have a reader, whose processes are to be started; none is left when this ends, however.

    Parameters:
        formats: how files are read in a thread; the processes have ``FORMATS``, and those that
            ``command`` names.
        patience: in seconds; see ``PATIENCE_SECONDS``.
    """
    reader = BulkReader(formats, command, patience)
    try:
        yield reader
    finally:
        with trio.move_on_after(END_SECONDS, shield=True):
            await reader.end()


async def _start(command: Sequence[str]) -> trio.Process | None:
    try:
        return await trio.lowlevel.open_process(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT,
            cwd="/",
        )
    except OSError as error:
        _log_failure(error)
        return None


def _log_failure(error: Exception) -> None:
    log("Session files are read in the daemon itself", "warning", reason=repr(error))
