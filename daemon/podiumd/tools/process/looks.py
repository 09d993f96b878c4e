"""Looks at the environments of all processes: one look for all callers that ask meanwhile.

Every turn's end looks at every process of the machine, twice. So a look serves the callers that
asked before it began, lets others work after some processes, and a caller that looks a second time
names what it has seen the first: only what is new since then is read again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Final, NamedTuple

import trio

SLICE: Final = 64
"""Processes that are read before others may work: about a millisecond."""
_BYTES: Final = 65536
_KERNEL_THREAD: Final = 0x00200000  # PF_KTHREAD of Linux's include/linux/sched.h

Seen = tuple[int, int]
"""A process as it is listed: its pid, and on Linux the inode of its directory in ``/proc``, which
another process of that pid does not have."""


if sys.platform == "linux":

    def listed() -> list[Seen]:
        """List all processes except this one."""
        own = str(os.getpid())
        with os.scandir("/proc") as entries:
            return [
                (int(name), one.inode())
                for one in entries
                if (name := one.name).isdecimal() and name != own
            ]

    def environment(pid: int) -> bytes | None:
        """Read the environment of a process, between NUL bytes; ``None`` while that is undecided.

        In the middle of an exec a process has no environment for a moment: the new program's memory
        is there, its strings are not (``env_start`` is still 0, which it is for good only in kernel
        threads and in the dead). By the second look the exec may be over: a process that then has
        an environment was only looked at too early. Raises ``OSError`` where it may not be read.
        """
        found = _whole(f"/proc/{pid}/environ")
        if found:
            return found
        data = _whole(f"/proc/{pid}/stat")
        fields = data[data.rindex(b")") + 2 :].split()
        state, flags = fields[0], int(fields[6])
        env_start, env_end = int(fields[47]), int(fields[48])
        has_none = env_start != 0 and env_start == env_end
        settled = has_none or state in b"ZXx" or flags & _KERNEL_THREAD
        return b"" if settled else None

    def _whole(path: str) -> bytes:
        # Read so, not by open(): that would ask the system seven times, for each process.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            piece = whole = os.read(descriptor, _BYTES)
            while len(piece) == _BYTES:
                piece = os.read(descriptor, _BYTES)
                whole += piece
            return whole
        finally:
            os.close(descriptor)

else:
    import psutil

    def listed() -> list[Seen]:
        """List all processes except this one."""
        return [(pid, 0) for pid in psutil.pids() if pid != os.getpid()]

    def environment(pid: int) -> bytes | None:
        """Read the environment of a process, between NUL bytes.

        Raises ``OSError`` where it may not be read.
        """
        try:
            found = psutil.Process(pid).environ()
        except psutil.Error as error:
            raise PermissionError(str(error)) from error
        return b"\0".join(os.fsencode(f"{name}={value}") for name, value in found.items())


class Look(NamedTuple):
    """The ``pids`` that have the entry. ``undecided``: some process could have it without showing
    it at this moment, look again. ``seen``: what has shown that it does not have it."""

    pids: list[int]
    undecided: bool
    seen: frozenset[Seen]


class _Asked:
    """A request for an entry, from a caller that has ``seen`` some processes before."""

    def __init__(self, entry: bytes, seen: frozenset[Seen]) -> None:
        self.entry = entry
        self.seen = seen
        self.look: Look | None = None


class _Looks:
    """The looks of one trio run: who asks first looks, for all who have asked by then."""

    def __init__(self) -> None:
        self._asked: list[_Asked] = []
        self._looking = False
        self._over = trio.Event()

    async def look(self, entry: bytes, seen: frozenset[Seen]) -> Look:
        asked = _Asked(entry, seen)
        self._asked.append(asked)
        try:
            while asked.look is None:
                if self._looking:
                    await self._over.wait()
                else:
                    await self._look()
        finally:
            if asked in self._asked:  # cancelled, and no look for it has begun
                self._asked.remove(asked)
        return asked.look

    async def _look(self) -> None:
        batch: list[_Asked] = []
        self._looking = True
        try:
            for _ in range(2):  # who is about to ask comes along: trio's order is by chance
                await trio.lowlevel.checkpoint()
            batch, self._asked = self._asked, []
            found = await _read_all(batch)
            for one in batch:
                one.look = found[one.entry]
        finally:
            # Where who looked was cancelled, the others go on waiting, and one of them looks.
            self._asked += [one for one in batch if one.look is None]
            self._looking = False
            self._over.set()
            self._over = trio.Event()


async def _read_all(batch: Iterable[_Asked]) -> dict[bytes, Look]:
    """Read each process that not all have seen, unseen ones first: it may be gone soon."""
    common = frozenset.intersection(*(one.seen for one in batch))
    known = frozenset.union(*(one.seen for one in batch))
    pids: dict[bytes, list[int]] = {one.entry: [] for one in batch}
    own = _own()
    undecided, seen = False, set(common)
    there = [one for one in listed() if one not in common]
    for count, process in enumerate(sorted(there, key=known.__contains__)):
        if count and not count % SLICE:
            await trio.lowlevel.checkpoint()
        try:
            found = environment(process[0])
        except OSError:
            continue
        if found is None:
            undecided = True
        elif carried := [one for one in pids if has_entry(found, one)]:
            for one in carried:
                pids[one].append(process[0])
        elif found != own:  # a child of ours, which is to begin its program, looks like us
            seen.add(process)
    passed = frozenset(seen) if sys.platform == "linux" else frozenset[Seen]()
    return {entry: Look(which, undecided, passed) for entry, which in pids.items()}


def _own() -> bytes | None:
    try:
        return environment(os.getpid())
    except OSError:  # a program with rights of its own may not read even this
        return None


def has_entry(environment: bytes, entry: bytes) -> bool:
    """Return whether an environment has exactly this "NAME=value"."""
    return entry in environment and entry in environment.split(b"\0")


_LOOKS: trio.lowlevel.RunVar[_Looks] = trio.lowlevel.RunVar("process-looks")


async def look(entry: bytes, seen: frozenset[Seen] = frozenset()) -> Look:
    """Look for the processes with ``entry`` ("NAME=value") in their environment, but this one and
    those of ``seen``; costs some microseconds a process that is read."""
    try:
        looks = _LOOKS.get()
    except LookupError:
        looks = _Looks()
        _LOOKS.set(looks)
    return await looks.look(entry, seen)
