"""Phones: from an append to a transcript to the frame at a WebSocket, and what it costs.

    make bench-gateway     python benchmarks/bench_gateway.py [--rounds N] [--json]     (Linux)

A private daemon with its gateway over 5,000 made-up transcripts; Node's ``fs.watch`` with ``ws``
over another tree of the same. This process appends as the agent does, and is every phone.

- Messages of 1 KB, one at a time, 20 ms apart, each to one of 16 sessions that one phone follows,
  at ours and at the peer in turn.
- The same with ten phones that follow one session. The processor time of both is that of the
  whole way: watching, reading, numbering, storing, making the frame, sending it.
- Fan-out alone: the same bytes to ten clients, by the gateway's WebSockets and by the broadcast of
  the ``websockets`` library, 100 messages at a time. A row more has the frame made as well.
- Ten phones of a session of which one does not read, in turn with ten that all read.
- A hundred phones, then the same beside 50 that never read and 50 that flood.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import trio

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.bench_idle import cpu_ms, growth
from benchmarks.bench_tail import ms, paced
from benchmarks.gateway_peers import BROADCAST, READY, fan_outs, node_watcher
from benchmarks.measure import CannotMeasure, Figure, Result, arguments, interleaved, run
from benchmarks.session_daemon import Client, session_daemon, wait_for_index
from benchmarks.session_tree import Spec, Tree, make
from benchmarks.tail_work import Audience, Pen, audience
from tests.load.crowd import (
    Crowd,
    key_of,
    memory_bytes,
    port_of,
    room_for_sockets,
)
from tests.load.offenders import offenders
from tests.load.thin_phone import ThinPhone

TREE = Spec(seed=3, files=5000, mb=50)
LATENCY_APPENDS, TEN_APPENDS, STALLED_APPENDS, CROWD_APPENDS = 400, 300, 150, 100
FOLLOWED, TEN = 16, 10
FILL_MESSAGES, FILL_SIZE = 200, 100_000
"""More than the kernel and the gateway hold for a phone that does not read."""

BURST, BURSTS = 100, 40
READERS, SILENT, LOUD = 100, 50, 50
CROWD_SECONDS = 30.0

OURS, NODE = "append to phone", "Node fs.watch + ws"
OURS_TEN, NODE_TEN = "append to 10 phones, each", "Node, 10 clients, each"
ALL, NINE = "all of 10 read, each", "1 of 10 stalls, each of the 9"
CALM, BESET = "100 phones beside 50 that never read", "100 phones beside 50 floods more"

Open = Callable[[], ThinPhone]


@dataclass
class Seen:
    """One daemon's life. ``delays`` in seconds, ``cpu`` in seconds a delivery, by what was done.

    ``lost``: deliveries; ``offence_mb``: what the daemon grew by with the offenders.
    """

    delays: dict[str, list[float]] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    lost: int = 0
    offence_mb: float = 0.0

    def took(self, name: str, audience: int, delays: list[float]) -> None:
        """Keep what one append took."""
        self.delays.setdefault(name, []).extend(delays)
        self.lost += audience - len(delays)


@dataclass
class Ground:
    """Where it is measured: who opens a connection to which server, and who writes for it."""

    stack: ExitStack
    ours: Open
    node: Open
    pens: list[Pen]
    node_pens: list[Pen]
    pids: dict[str, int]

    def listeners(self, opened: Open, count: int, *pens: Pen) -> Audience:
        """So many phones that follow all of these sessions."""
        phones = [self.stack.enter_context(opened()) for _ in range(count)]
        for phone in phones:
            for pen in pens:
                phone.follow(pen.session_id)
        return audience(self.stack, *phones)


# -- the phases -------------------------------------------------------------------------------


def latency(seen: Seen, ground: Ground) -> None:
    """One phone of many sessions, and one client of the peer, in turn."""
    rnd = random.Random("latency")
    sides = []
    for name, opened, pens in (
        (OURS, ground.ours, ground.pens[:FOLLOWED]),
        (NODE, ground.node, ground.node_pens[:FOLLOWED]),
    ):
        sides.append((name, pens, ground.listeners(opened, 1, *pens)))
    for name, pens, ears in paced(LATENCY_APPENDS, sides):
        seen.took(name, 1, ears.hear(rnd.choice(pens)))


def ten(seen: Seen, ground: Ground) -> None:
    """Ten phones of one session, and ten clients of the peer, in turn."""
    sides = []
    for name, opened, pen in (
        (OURS_TEN, ground.ours, ground.pens[FOLLOWED]),
        (NODE_TEN, ground.node, ground.node_pens[FOLLOWED]),
    ):
        sides.append((name, pen, ground.listeners(opened, TEN, pen)))
    before = {name: cpu_ms(pid) for name, pid in ground.pids.items()}
    for name, pen, ears in paced(TEN_APPENDS, sides):
        seen.took(name, TEN, ears.hear(pen))
    for name, pid in ground.pids.items():
        spent = growth(before[name], cpu_ms(pid)) / 1000
        seen.cpu[name] = spent / TEN_APPENDS / TEN


def stalled(seen: Seen, ground: Ground) -> None:
    """Ten that read, and nine beside one that does not, in turn."""
    awake, asleep = ground.pens[FOLLOWED + 1 : FOLLOWED + 3]
    sleeper = ground.stack.enter_context(ground.ours())
    sleeper.follow(asleep.session_id)
    sides = [
        (name, pen, ground.listeners(ground.ours, size, pen))
        for name, pen, size in ((ALL, awake, TEN), (NINE, asleep, TEN - 1))
    ]
    for _, pen, ears in sides:
        for _ in range(FILL_MESSAGES):
            ears.hear(pen, FILL_SIZE)
    for name, pen, ears in paced(STALLED_APPENDS, sides):
        seen.took(name, len(ears), ears.hear(pen))


def beset(seen: Seen, ground: Ground, port: int, key: str, pid: int) -> None:
    """A hundred phones by themselves, then beside as many that offend."""
    pen = ground.pens[FOLLOWED + 3]
    crowd = Crowd()
    ground.stack.callback(crowd.close)
    for _ in range(READERS):
        phone = ground.stack.enter_context(ground.ours())
        phone.follow(pen.session_id)
        crowd.add(phone)
    nuisance = offenders(port, key, pen.session_id, SILENT, LOUD)
    process = ground.stack.enter_context(nuisance)
    assert process.stdin is not None
    calm = memory_bytes(pid)
    for name in (CALM, BESET):
        for _ in paced(CROWD_APPENDS, (name,)):
            began = pen.write(pen.line()) / 1e9
            heard = crowd.hears(pen.written[-1], CROWD_SECONDS)
            seen.took(name, READERS, [at - began for at in heard])
        if name == CALM:
            process.stdin.write(b"begin\n")
    seen.offence_mb = (memory_bytes(pid) - calm) / 1e6


# -- all of it --------------------------------------------------------------------------------


async def one_life(scratch: Path) -> Seen:
    """All that is measured with a daemon."""
    seen = Seen()
    tree, other = make(TREE, scratch / "ours"), make(TREE, scratch / "node")
    async with session_daemon(tree.home) as daemon:
        with ExitStack() as stack:
            peer = stack.enter_context(node_watcher(other.projects))
            client = stack.enter_context(Client(daemon.machine.socket))
            wait_for_index(client, len(tree.manifest.sessions))
            port, key = port_of(client), key_of(client)
            ground = Ground(
                stack=stack,
                ours=lambda: ThinPhone(port).log_in(key),
                node=lambda: ThinPhone(peer.port),
                pens=_pens(tree),
                node_pens=_pens(other),
                pids={OURS_TEN: daemon.pid, NODE_TEN: peer.pid},
            )
            latency(seen, ground)
            ten(seen, ground)
            stalled(seen, ground)
            beset(seen, ground, port, key, daemon.pid)
    return seen


def _pens(tree: Tree) -> list[Pen]:
    sound = [one for one in tree.manifest.sessions if not one.torn]
    return [Pen(tree, one) for one in random.Random("chosen").sample(sound, FOLLOWED + 4)]


def all_rounds(rounds: int) -> list[Seen]:
    """Daemon after daemon."""
    lives = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="podium-bench-") as scratch:
            lives.append(trio.run(one_life, Path(scratch)))
    return lives


def measure(options: argparse.Namespace) -> Result:
    """Measure, and sum up."""
    if not sys.platform.startswith("linux"):
        raise CannotMeasure("this needs Linux's /proc")
    room_for_sockets(4096)
    with fan_outs(TEN, BURST) as contenders:
        alone = interleaved(contenders, BURSTS)
    lives = all_rounds(options.rounds)
    delays = {name: [d for life in lives for d in life.delays[name]] for name in lives[0].delays}
    cpu = {name: statistics.median(life.cpu[name] for life in lives) for name in lives[0].cpu}
    cpu |= {name: statistics.median(taken) for name, taken in alone.items()}

    def us(name: str) -> str | float:
        return cpu[name] * 1e6 if name in cpu else ""

    lost, offence = sum(life.lost for life in lives), max(life.offence_mb for life in lives)
    return Result(
        figures=_figures(delays, cpu, lost, offence),
        header=["", "p50 ms", "p99 ms", "most ms", "times", "CPU us a delivery"],
        rows=[
            *(
                [name, ms(took, 50), ms(took, 99), max(took) * 1000, str(len(took)), us(name)]
                for name, took in delays.items()
            ),
            *([f"fan-out alone: {name}", "", "", "", "", us(name)] for name in alone),
        ],
        details={"delays": delays, "cpu": cpu, "fan_out": alone},
    )


def _figures(
    delays: dict[str, list[float]], cpu: dict[str, float], lost: int, offence: float
) -> list[Figure]:
    p50, node = ms(delays[OURS], 50), ms(delays[NODE], 50)
    aside = ms(delays[NINE], 50) / ms(delays[ALL], 50)
    beside = ms(delays[BESET], 99) / ms(delays[CALM], 99)
    return [
        Figure(f"append to phone, p50 ({p50 / node:.1f} of Node's)", p50, "ms", 8, round(node, 3)),
        Figure("fan-out alone to 10, CPU", cpu[READY] / cpu[BROADCAST], "of websockets'", 1.5),
        Figure("nine beside one that stalls, p50", aside, "of ten that read", 1.2),
        Figure("100 beside 100 that offend, p99", beside, "of those alone", 2),
        Figure("memory beside 100 that offend", offence, "MB more", 33.6),
        Figure("deliveries that did not come", lost, "", 0),
    ]


if __name__ == "__main__":
    options = arguments(__doc__, 1, "daemons, a minute each").parse_args()
    sys.exit(run("gateway", options, measure))
