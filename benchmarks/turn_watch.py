"""Notes what happens in a daemon's STATE directory, from outside: a process of its own.

    python benchmarks/turn_watch.py STATE PROGRAM     (Linux)

It prints ``ready``, watches with one inotify descriptor, and prints what it saw as one JSON list
of ``[seconds, what, turn]`` when its standard input is closed. The daemon and its agents are not
touched, slowed down or asked. ``what`` is one of:

- ``made``: the directory of a turn was made;
- ``line``: somebody has written into a turn's FIFO and closed it;
- ``idle``: a line in a turn's spool says that the agent is idle;
- ``closed``: a writer of a turn's spool has closed it: the last time, the agent has exited;
- ``stored``: the write-ahead log of the facts was written;
- ``program``: the agent's program was opened: at a spawn, the exec of the child.

Times are ``time.monotonic()`` when the event was read, some 0.1 ms after it happened.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import struct
import sys
import time
from pathlib import Path

IN_MODIFY, IN_CLOSE_WRITE, IN_OPEN, IN_CREATE = 0x2, 0x8, 0x20, 0x100
HEAD = struct.Struct("iIII")
IDLE = (b'"session_state_changed"', b'"idle"')


class Watch:
    """The descriptor, and what has been seen."""

    def __init__(self, state: Path, program: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor: int = self._libc.inotify_init1(os.O_CLOEXEC)
        self.events: list[tuple[float, str, str]] = []
        self._turns = state / "turns"
        self._turns.mkdir(mode=0o700, exist_ok=True)
        self._spools: dict[int, Path] = {}
        self._read: dict[int, bytes] = {}
        self._offsets: dict[int, int] = {}
        self._state = self._add(state, IN_MODIFY)
        self._made = self._add(self._turns, IN_CREATE)
        self._program = self._add(program, IN_OPEN)

    def _add(self, path: Path, mask: int) -> int:
        watch: int = self._libc.inotify_add_watch(self.descriptor, os.fsencode(path), mask)
        if watch < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))
        return watch

    def take(self) -> None:
        """Read what is there; blocks where nothing is."""
        data = os.read(self.descriptor, 1 << 16)
        now = time.monotonic()
        at = 0
        while at < len(data):
            watch, mask, _, length = HEAD.unpack_from(data, at)
            at += HEAD.size
            self._note(now, watch, mask, data[at : at + length].rstrip(b"\0").decode())
            at += length

    def _note(self, now: float, watch: int, mask: int, name: str) -> None:
        if watch == self._made:
            self.events.append((now, "made", name))
            directory = self._turns / name
            self._spools[self._add(directory, IN_MODIFY | IN_CLOSE_WRITE)] = directory
        elif watch == self._program:
            self.events.append((now, "program", ""))
        elif watch == self._state:
            if name == "facts.db-wal":
                self.events.append((now, "stored", ""))
        elif watch in self._spools:
            turn = self._spools[watch].name
            if name == "in" and mask & IN_CLOSE_WRITE:
                self.events.append((now, "line", turn))
            elif name == "out.jsonl" and mask & IN_CLOSE_WRITE:
                self.events.append((now, "closed", turn))
            elif name == "out.jsonl":
                self._read_spool(now, watch, turn)

    def _read_spool(self, now: float, watch: int, turn: str) -> None:
        try:
            with open(self._spools[watch] / "out.jsonl", "rb") as file:
                file.seek(self._offsets.get(watch, 0))
                data = file.read()
        except FileNotFoundError:  # its run is over and its files are gone
            return
        self._offsets[watch] = self._offsets.get(watch, 0) + len(data)
        *lines, rest = (self._read.get(watch, b"") + data).split(b"\n")
        self._read[watch] = rest
        if any(all(word in line for word in IDLE) for line in lines):
            self.events.append((now, "idle", turn))


def main(state: str, program: str) -> None:
    """Watch until the standard input is closed, then tell."""
    watch = Watch(Path(state), Path(program))
    poll = select.poll()
    poll.register(watch.descriptor, select.POLLIN)
    poll.register(0, select.POLLIN | select.POLLHUP)
    print("ready", flush=True)
    while True:
        ready = dict(poll.poll())
        if watch.descriptor in ready:
            watch.take()
        elif ready:
            print(json.dumps(watch.events))
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
