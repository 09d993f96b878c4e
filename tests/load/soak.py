"""The soak: a thousand phones held for half an hour, with everything told to all of them.

    python -m tests.load.soak [--phones N] [--minutes M] [--every SECONDS]     (Linux)

Every few seconds a message of 1 KB is appended to the session that all follow, and recipes are
played one after the other. After the first tenth of the time nothing may grow any more:
descriptors are constant, memory grows by at most 5 %. No phone may be dropped, or miss a message
or get one twice; every run ends well; the log has no error. When all have hung up, their
descriptors are free again. The exit status is 1 where any of this does not hold.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import trio

from podiumd.store.connection import FACTS_NAME, READERS
from tests.load.crowd import Crowd, room_for_sockets
from tests.load.ground import Ground, open_ground, percentiles, told_once

MOST_GROWTH = 1.05
SPARE_DESCRIPTORS = 256
HANG_UP_SECONDS = 10.0
MIB = 1024 * 1024


def descriptors(pid: int) -> int:
    """How many the daemon has open, the store's left out as long as they are not too many: its
    readers are opened when they are first needed, each with the database and its log."""
    open_files = list(Path(f"/proc/{pid}/fd").iterdir())
    store = [one for one in open_files if _target(one).startswith(FACTS_NAME)]
    most = 2 * (READERS + 1)
    return len(open_files) - len(store) if len(store) <= most else len(open_files)


def _target(descriptor: Path) -> str:
    try:
        return descriptor.readlink().name
    except OSError:  # closed meanwhile
        return ""


class Soak:
    """One soak; ``wrong`` says what did not hold."""

    def __init__(self, ground: Ground, crowd: Crowd, every: float) -> None:
        self.wrong: list[str] = []
        self._ground = ground
        self._crowd = crowd
        self._every = every
        self._delays: list[float] = []
        self._last: list[float] = []

    def hold(self, seconds: float) -> None:
        """Tell everybody something now and then, for so long."""
        end = time.monotonic() + seconds
        while (begun := time.monotonic()) < end:
            took = self._ground.tell(self._crowd)
            if len(took) < len(self._crowd.members):
                missing = len(self._crowd.members) - len(took)
                self.wrong.append(f"{missing} phones did not hear of a message in time")
                return
            self._delays += took
            self._last.append(max(took))
            self._ground.work.go_on()
            self._crowd.until(lambda: False, begun + self._every - time.monotonic())

    def grown(self, before: tuple[int, int]) -> None:
        """Compare descriptors and memory with those of before."""
        after = self.size()
        if after[0] != before[0]:
            self.wrong.append(f"descriptors: {before[0]} before, {after[0]} now")
        if after[1] > before[1] * MOST_GROWTH:
            self.wrong.append(f"memory: {before[1] / MIB:.1f} MiB, {after[1] / MIB:.1f} now")
        print(f"held: {after[0]} descriptors, {before[1] / MIB:.1f} to {after[1] / MIB:.1f} MiB")

    def size(self) -> tuple[int, int]:
        """Descriptors and memory while nothing is played."""
        self._ground.work.finish(self._crowd.turn)
        return descriptors(self._ground.daemon.pid), self._ground.memory

    def finish(self, own: int) -> None:
        """Look at what everybody was told; hang up, and see that the ``own`` are left."""
        if not told_once(self._crowd, self._ground.pen):
            self.wrong.append("some phone missed a message, or got one twice or out of order")
        if self._ground.dropped:
            self.wrong.append(f"phones were dropped: {sorted(set(self._ground.dropped))}")
        self.wrong += [*self._ground.work.wrong, *self._ground.failures]
        print(f"{self._ground.work.done} recipes played meanwhile")
        print(f"{len(self._last)} messages to each phone: {percentiles(self._delays)}")
        print(f"to the last phone: {percentiles(self._last)}")
        self._crowd.hang_up()
        end = time.monotonic() + HANG_UP_SECONDS
        while (left := descriptors(self._ground.daemon.pid)) > own and time.monotonic() < end:
            self._crowd.turn(0.2)
        if left != own:
            self.wrong.append(f"descriptors: {own} beside the phones', {left} after them")


async def soak(phones: int, minutes: float, every: float) -> list[str]:
    """Run it; returns what did not hold."""
    room_for_sockets(phones + SPARE_DESCRIPTORS)
    async with open_ground() as ground:
        memory = ground.memory
        began = time.monotonic()
        crowd = ground.crowd(phones)
        seconds = time.monotonic() - began
        each = (ground.memory - memory) / phones / 1024
        print(f"{phones} phones in {seconds:.1f} s, {each:.1f} KiB each")
        running = Soak(ground, crowd, every)
        running.hold(minutes * 6)
        settled = running.size()
        running.hold(minutes * 54)
        running.grown(settled)
        running.finish(settled[0] - phones)
        return running.wrong


def main(argv: list[str]) -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.soak")
    parser.add_argument("--phones", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (default 30)")
    parser.add_argument("--every", type=float, default=2.0, help="seconds between messages (2)")
    options = parser.parse_args(argv)
    wrong = trio.run(soak, options.phones, options.minutes, options.every)
    for line in wrong:
        print(f"WRONG: {line}")
    print("Something grew or got lost." if wrong else "Nothing grew, nothing was lost.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
