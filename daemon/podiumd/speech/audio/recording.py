"""The audio of one utterance: a file that grows, read by who is quick enough and again by a retry.

It is on disk and not in memory, so that the daemon stays small and a crash loses nothing.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import trio

from podiumd.speech.api import AudioError
from podiumd.speech.audio import wav

T = TypeVar("T")

SUFFIX: Final = ".audio"
MOST_KEPT: Final = 8
"""Recordings without an answer that are kept, the newest ones."""


class Recording:
    """See the module. Made by ``Spool``; its file is open for as long as it lives."""

    def __init__(
        self, path: Path, descriptor: int, *, ours: bool, size: int, most: int, start: int = 0
    ) -> None:
        self.path = path
        self.size = size
        """Its size so far, in bytes."""
        self.finished = not ours
        """True once nothing more will come."""
        self._descriptor = descriptor
        self._ours = ours
        self._most = most
        self._start = start  # of the audio within the file
        self._changed = trio.Event()
        self._lock = trio.Lock()
        self._at_work = 0  # threads that use the descriptor
        self._let_go = False

    async def append(self, data: bytes) -> None:
        """Add to it. Raises ``AudioError`` (``too_big``, ``not_open``), and OSError where the disk
        does not take it."""
        async with self._lock:
            if self.finished:
                raise AudioError("not_open", "This recording is over; nothing can be added to it.")
            if self.size + len(data) > self._most:
                raise too_big(self._most)
            await self._on_thread(_write_all, self._descriptor, data, self._start + self.size)
            self.size += len(data)
            self._tell()

    def finish(self) -> None:
        """Finish the recording: nothing more will come."""
        self.finished = True
        self._tell()

    async def changed(self) -> None:
        """Wait until there is more of it, or it is finished."""
        await self._changed.wait()

    async def read(self, offset: int, most: int) -> bytes:
        """Read at most ``most`` bytes from ``offset`` on; waits for the first. Empty: there is no
        more, and it is finished."""
        while self.size <= offset and not self.finished:
            await self._changed.wait()
        if self.size <= offset or self._let_go:
            return b""
        wanted = min(most, self.size - offset)
        return await self._on_thread(os.pread, self._descriptor, wanted, self._start + offset)

    async def whole(self) -> bytes:
        """Return all of it, once it is finished."""
        while not self.finished:
            await self._changed.wait()
        return await self._on_thread(os.pread, self._descriptor, self.size, self._start)

    def close(self) -> None:
        """Let go of it; a file of ours is deleted. Harmless to repeat."""
        self._release()
        if self._ours:
            self.path.unlink(missing_ok=True)

    def keep(self) -> Path | None:
        """Let go of it and leave the audio where a person finds it; ``None`` where it is the
        person's own file, or none."""
        self._release()
        if not self._ours:
            return None
        try:
            return _put_by(self.path)
        except OSError:
            return None

    async def _on_thread(self, do: Callable[..., T], *arguments: object) -> T:
        self._at_work += 1
        try:
            return await trio.to_thread.run_sync(do, *arguments)
        finally:
            self._at_work -= 1
            self._close_unless_used()

    def _release(self) -> None:
        self.finished = self._let_go = True
        self._tell()
        self._close_unless_used()

    def _close_unless_used(self) -> None:
        if self._let_go and not self._at_work and self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _tell(self) -> None:
        self._changed.set()
        self._changed = trio.Event()


class Spool:
    """The directory of recordings: ``STATE/voice``, and ``STATE/voice/kept`` for those without an
    answer.

    ``most`` bytes make the largest. Recordings that an earlier daemon left half answered are kept.
    """

    def __init__(self, state: Path, most: int) -> None:
        self.directory = state / "voice"
        self.kept = self.directory / "kept"
        self._most = most

    def tidy(self) -> None:
        """Put by what an earlier daemon could not answer. Blocks; once, before the first use."""
        for left in self.directory.glob(f"*{SUFFIX}") if self.directory.is_dir() else ():
            _put_by(left)

    def create(self, format: str, sample_rate: int) -> Recording:
        """Create an empty recording; PCM16 gets a head, for a person who listens to it later.

        Raises OSError.
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        head = wav.head(0, sample_rate) if format == "pcm16" else b""
        kind = "wav" if head else format
        path = self.directory / f"{secrets.token_hex(8)}.{kind}{SUFFIX}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        recording = Recording(path, descriptor, ours=True, size=0, most=self._most, start=len(head))
        try:
            _write_all(descriptor, head, 0)
        except OSError:
            recording.close()
            raise
        return recording

    def over(self, path: Path) -> Recording:
        """Open a file of the person's as a recording that is finished.

        Raises OSError where it cannot be read, ``AudioError`` where it is no file or too big.
        """
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > self._most:
            os.close(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise AudioError("not_audio", f"{path} is no file.")
            raise too_big(self._most)
        return Recording(path, descriptor, ours=False, size=found.st_size, most=self._most)


def too_big(most: int) -> AudioError:
    """Return the error for audio of more than ``most`` bytes."""
    limit = f"{most // 1_048_576} MiB (voice.max_megabytes)"
    return AudioError("too_big", f"The audio is larger than {limit}.")


def _write_all(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def _put_by(path: Path) -> Path:
    """Move a recording to those that are kept, of which the oldest go."""
    with path.open("r+b") as file:
        head = file.read(wav.HEAD_BYTES)
        if head == wav.head(0, wav.rate_of(head)):  # ours, from before any sound came
            file.seek(0)
            length = path.stat().st_size - wav.HEAD_BYTES
            file.write(wav.head(length, wav.rate_of(head)))
    directory = path.parent / "kept"
    directory.mkdir(mode=0o700, exist_ok=True)
    target = directory / path.name.removesuffix(SUFFIX)
    path.rename(target)
    kept = sorted(directory.iterdir(), key=lambda one: one.stat().st_mtime_ns, reverse=True)
    for old in kept[MOST_KEPT:]:
        old.unlink(missing_ok=True)
    return target
