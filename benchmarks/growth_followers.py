"""What a step costs by how many follow it: a run of a real daemon, heard by clients that keep up.

CPU is the daemon's own, all its threads. Beside it stands what this system takes to send one line
to each of as many sockets: a daemon that sends each event by itself cannot be below that.
"""

from __future__ import annotations

import argparse
import selectors
import socket
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import NamedTuple

from benchmarks.growth import Growth
from benchmarks.growth_long import AGAIN, ROUNDS, cpu_ms, scripted_daemon
from benchmarks.measure import CannotMeasure, median_ratio
from tests.patience import HANG_SECONDS
from tests.real_daemon import RealDaemon

FOLLOWERS = (1, 100, 240)
"""At once; a daemon lets 248 in."""
ROUNDS_OF_EACH = 8
STEPS = 25
"""Over which a cost is taken, after as many as ``SETTLE``."""
SETTLE = 4
LINE_BYTES = 400
"""About what an event takes."""
SENDS = 50
_SUBSCRIBE = b'{"jsonrpc":"2.0","id":1,"method":"events.subscribe"}\n'
_STEP = b'"type":"edge.taken"'


class Cost(NamedTuple):
    """What a step took: the daemon's CPU in ms, and the events that all followers were told."""

    cpu: float
    told: float


class Crowd:
    """Clients that follow everything and read at once what comes."""

    def __init__(self, daemon: RealDaemon) -> None:
        self._path = str(daemon.home / "podium.sock")
        self._selector = selectors.DefaultSelector()
        self._sockets: list[socket.socket] = []
        self.told = 0

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *_failure: object) -> None:
        self.become(0)
        self._selector.close()

    def become(self, many: int) -> None:
        """Have so many follow."""
        while len(self._sockets) > many:
            gone = self._sockets.pop()
            self._selector.unregister(gone)
            gone.close()
        while len(self._sockets) < many:
            follower = socket.socket(socket.AF_UNIX)
            follower.connect(self._path)  # waits while too many others knock
            self._sockets.append(follower)
            follower.sendall(_SUBSCRIBE)
            self._selector.register(follower, selectors.EVENT_READ)

    def steps(self) -> Iterator[int]:
        """Read on; yields the count of steps whenever the first follower heard of one more."""
        steps = 0
        while True:
            ready = self._selector.select(HANG_SECONDS)
            if not ready:
                raise CannotMeasure("no event came")
            ended = 0
            for key, _events in ready:
                data = key.fileobj.recv(1 << 20)  # type: ignore[union-attr]
                self.told += data.count(b"\n")
                if key.fileobj is self._sockets[0]:
                    ended = data.count(_STEP)
            for _ in range(ended):
                steps += 1
                yield steps


def _cost(pid: int, crowd: Crowd, steps: Iterator[int]) -> Cost:
    """What each of the next steps takes, once those who have come are served."""
    for _ in range(SETTLE):
        next(steps)
    cpu, told = cpu_ms(pid), crowd.told
    for _ in range(STEPS):
        next(steps)
    return Cost((cpu_ms(pid) - cpu) / STEPS, (crowd.told - told) / STEPS)


def _costs() -> dict[int, list[Cost]]:
    """The costs for each number of followers, taken in turn."""
    found: dict[int, list[Cost]] = {many: [] for many in FOLLOWERS}
    with scripted_daemon("rounds", ROUNDS, AGAIN) as (daemon, directory), Crowd(daemon) as crowd:
        crowd.become(1)
        daemon.result("runs.start", recipe="rounds", agent="scripted", working_directory=directory)
        steps = crowd.steps()
        for _ in range(ROUNDS_OF_EACH):
            for many, taken in found.items():
                crowd.become(many)
                taken.append(_cost(daemon.process.pid, crowd, steps))
    return found


def _floor_us(many: int) -> float:
    """CPU of sending a line to one of so many sockets, with nothing else to do."""
    line, taken = b"x" * LINE_BYTES, []
    with ExitStack() as stack:
        pairs = [[stack.enter_context(end) for end in socket.socketpair()] for _ in range(many)]
        reader = stack.enter_context(ThreadPoolExecutor(1))
        for _ in range(SENDS):
            read = reader.submit(_read, [theirs for _ours, theirs in pairs])
            began = time.thread_time()
            for ours, _theirs in pairs:
                ours.send(line)
            taken.append(time.thread_time() - began)
            read.result()
    return statistics.median(taken) * 1e6 / many


def _read(sockets: list[socket.socket]) -> None:
    """Read a line from each."""
    left = len(sockets) * LINE_BYTES
    with selectors.DefaultSelector() as selector:
        for one in sockets:
            selector.register(one, selectors.EVENT_READ, one)
        while left:
            left -= sum(len(key.data.recv(LINE_BYTES)) for key, _ in selector.select())


def measure(_options: argparse.Namespace) -> list[Growth]:
    """CPU of a step and of a delivery, at each number of followers."""
    found = _costs()
    alone = found[FOLLOWERS[0]]
    cpu = statistics.median(one.cpu for one in alone)
    step = {
        str(many): cpu * median_ratio([one.cpu for one in each], [one.cpu for one in alone])
        for many, each in found.items()
    }
    delivery = {
        str(many): statistics.median(
            (one.cpu - first.cpu) * 1000 / (one.told - first.told)
            for one, first in zip(each, alone, strict=True)
        )
        for many, each in found.items()
        if each is not alone
    }
    told = {
        str(many): statistics.median(one.told for one in each) / many
        for many, each in found.items()
    }
    floor = {many: _floor_us(int(many)) for many in delivery}
    return [
        Growth("a step that is followed", "CPU ms", step, 1.5),
        Growth("a delivery", "CPU us", delivery, most=10.0),
        Growth("events a step and follower", "", told),
        Growth("a send of a line, bare", "CPU us", floor),
    ]
