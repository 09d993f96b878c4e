"""Following sessions: from an append to a transcript to the subscriber on the Unix socket.

    make bench-tail     python benchmarks/bench_tail.py [--rounds N] [--json]     (Linux)

A private daemon over 5,000 made-up transcripts; another process appends as the agent does.

- Messages of 1 KB, one at a time, 20 ms apart, each to one of 16 sessions that one connection has
  subscribed to; in turn with appends to a file that a bare process (``inotify_peer``) waits for
  and reads. The same with 1, 10 and 100 subscribers of one session, in turn.
- Ten subscribers of a session of which one does not read and its outbox is full, in turn with ten
  that all read; afterwards the tenth comes back with its last number.
- 10,000 messages as fast as they can be written, one in ten of them in two halves.
- Processor time of a minute in which nothing happens, with all those subscriptions.
- Another daemon starts without an index over 1 GB, and a client calls without a pause until all
  sessions are listed; what is listed is then compared with the tree's manifest.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import trio

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.bench_idle import SETTLE_SECONDS, cpu_ms, growth
from benchmarks.measure import CannotMeasure, Figure, Result, arguments, percentile, run
from benchmarks.session_daemon import Client, session_daemon, wait_for_index
from benchmarks.session_tree import Session, Spec, Tree, cached, make
from benchmarks.tail_work import (
    LOST_SECONDS,
    Pen,
    Received,
    audience,
    bare_delay,
    bare_inotify,
    crowd,
    subscriber,
)
from benchmarks.while_indexing import Waits, while_indexing

SMALL, LARGE = Spec(seed=3, files=5000, mb=50), Spec()
PACE_SECONDS = 0.02
LATENCY_APPENDS, AUDIENCE_APPENDS, STALLED_APPENDS, BURST_APPENDS = 400, 100, 150, 10_000
FOLLOWED = 16
"""Sessions of one connection: as many as the daemon grants it feeds."""

AUDIENCES = (1, 10, 100)
FILL_MESSAGES, FILL_SIZE = 60, 100_000
"""More than the outbox of a subscriber and the socket hold together."""

IDLE_SECONDS = 60.0
"""Long enough for one look at the whole tree."""

OURS, BARE = "append to subscriber", "bare inotify read"
ALL, NINE = "all of 10 read, each", "1 of 10 stalls, each of the 9"
LOSSES = ("lost", "misplaced")

Times = dict[str, list[float]]
T = TypeVar("T")


@dataclass
class Followed:
    """One daemon's life with subscribers.

    ``delays`` in seconds. ``lost`` and ``misplaced``: messages. ``cut_loose``: whether the
    subscriber that did not read was. ``idle_percent`` of one processor.
    """

    delays: Times = field(default_factory=dict)
    lost: int = 0
    misplaced: int = 0
    cut_loose: bool = False
    idle_percent: float = 0.0


# -- the phases -------------------------------------------------------------------------------


def paced(rounds: int, contenders: Sequence[T]) -> Iterator[T]:
    """Each in turn, so many times, at a pace that does not fall into step with anything."""
    rnd = random.Random("pace")
    for _ in range(rounds):
        for one in contenders:
            # The pace itself: appends that come singly, between which everything is at rest.
            time.sleep(PACE_SECONDS * rnd.uniform(0.75, 1.25))
            yield one


def latency(seen: Followed, socket: Path, pens: list[Pen], scratch: Path) -> None:
    """One subscriber of many sessions and the bare reader, in turn."""
    rnd = random.Random("latency")
    ours, bare = seen.delays[OURS], seen.delays[BARE] = [], []
    path = scratch / "bare.jsonl"
    path.touch()
    with ExitStack() as stack:
        peer = stack.enter_context(bare_inotify(path))
        ears = audience(stack, subscriber(stack, socket, *(pen.session_id for pen in pens)))
        for contender in paced(LATENCY_APPENDS, (OURS, BARE)):
            if contender == BARE:
                bare.append(bare_delay(peer, path, b"x" * 1000 + b"\n"))
                continue
            took = ears.hear(rnd.choice(pens))
            ours += took
            seen.lost += 1 - len(took)


def audiences(seen: Followed, socket: Path, pens: list[Pen]) -> None:
    """Sessions with more and more subscribers, in turn."""
    with ExitStack() as stack:
        groups = [
            (size, pen, crowd(stack, socket, pen, size))
            for size, pen in zip(AUDIENCES, pens, strict=True)
        ]
        for size, pen, ears in paced(AUDIENCE_APPENDS, groups):
            took = ears.hear(pen)
            seen.delays.setdefault(f"{size} subscribers, each", []).extend(took)
            if len(took) == size:
                seen.delays.setdefault(f"{size} subscribers, last", []).append(max(took))
            seen.lost += size - len(took)


def stalled(seen: Followed, socket: Path, awake: Pen, asleep: Pen) -> None:
    """Ten that read, and nine beside one that does not, in turn; then that one comes back."""
    with ExitStack() as stack:
        sleeper = subscriber(stack, socket, asleep.session_id)
        groups = [
            (name, pen, crowd(stack, socket, pen, size))
            for name, pen, size in ((ALL, awake, 10), (NINE, asleep, 9))
        ]
        for _, pen, ears in groups:
            for _ in range(FILL_MESSAGES):
                ears.hear(pen, FILL_SIZE)
        for name, pen, ears in paced(STALLED_APPENDS, groups):
            took = ears.hear(pen)
            seen.delays.setdefault(name, []).extend(took)
            seen.lost += len(ears) - len(took)
        received = Received()
        while sleeper.receive(LOST_SECONDS):
            received.take(sleeper)
        seen.cut_loose = sleeper.closed
    come_back(received, socket, asleep)
    seen.lost += received.lost(asleep)
    seen.misplaced += received.misplaced(asleep)


def come_back(received: Received, socket: Path, pen: Pen) -> None:
    """Ask for all that came after the last number."""
    with Client(socket) as client:
        after = [0, *received.seqs[pen.session_id]][-1]
        complete = False
        while not complete:
            page = client.call("sessions.messages", session_id=pen.session_id, after_seq=after)
            received.take_messages(pen.session_id, page["messages"])
            after, complete = page["next_seq"], page["complete"]


def burst(seen: Followed, client: Client, pens: list[Pen]) -> None:
    """Messages as fast as they can be written; ``client`` has subscribed to all of them."""
    rnd, received = random.Random("burst"), Received()
    before = sum(len(pen.written) for pen in pens)
    for _ in range(BURST_APPENDS):
        pen = rnd.choice(pens)
        line = pen.line()
        at = rnd.randrange(1, len(line)) if rnd.random() < 0.1 else len(line)
        pen.write(line[:at])
        if line[at:]:
            pen.write(line[at:])
        if client.receive(0):
            received.take(client)
    while received.count < BURST_APPENDS and client.receive(LOST_SECONDS):
        received.take(client)
    assert sum(len(pen.written) for pen in pens) == before + BURST_APPENDS
    seen.lost += sum(received.lost(pen) for pen in pens)
    seen.misplaced += sum(received.misplaced(pen) for pen in pens)


async def idle_percent(pid: int) -> float:
    """Let the daemon settle, then watch it; this process sleeps meanwhile: idle is what is left
    when nothing happens for a time."""
    await trio.sleep(SETTLE_SECONDS)
    before, began = cpu_ms(pid), time.monotonic()
    await trio.sleep(IDLE_SECONDS)
    return growth(before, cpu_ms(pid)) / 10 / (time.monotonic() - began)


# -- the two daemons --------------------------------------------------------------------------


async def followed(scratch: Path) -> Followed:
    """All that is measured with subscribers."""
    seen = Followed()
    tree = make(SMALL, scratch / "small")
    chosen = random.Random("chosen").sample(_sound(tree), 2 * FOLLOWED + len(AUDIENCES) + 2)
    pens = [Pen(tree, session) for session in chosen]
    async with session_daemon(tree.home) as daemon:
        socket = daemon.machine.socket
        with ExitStack() as stack:
            wait_for_index(stack.enter_context(Client(socket)), len(tree.manifest.sessions))
            few, many, (awake, asleep, *groups) = (
                pens[:FOLLOWED],
                pens[FOLLOWED : 2 * FOLLOWED],
                pens[2 * FOLLOWED :],
            )
            latency(seen, socket, few, scratch)
            audiences(seen, socket, groups)
            stalled(seen, socket, awake, asleep)
            client = subscriber(stack, socket, *(pen.session_id for pen in many))
            burst(seen, client, many)
            seen.idle_percent = await idle_percent(daemon.pid)
    return seen


def _sound(tree: Tree) -> list[Session]:
    return [one for one in tree.manifest.sessions if not one.torn]


# -- all of it --------------------------------------------------------------------------------


async def all_rounds(rounds: int) -> tuple[list[Followed], list[Waits]]:
    """Daemon after daemon."""
    lives, starts, large = [], [], cached(LARGE)
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="podium-bench-") as scratch:
            lives.append(await followed(Path(scratch)))
        starts.append(await while_indexing(large))
    return lives, starts


def measure(options: argparse.Namespace) -> Result:
    """Measure, and sum up."""
    if not sys.platform.startswith("linux"):
        raise CannotMeasure("this needs inotify and /proc, which are Linux's")
    lives, starts = trio.run(all_rounds, options.rounds)
    delays: Times = {}
    for life in lives:
        for name, times in life.delays.items():
            delays.setdefault(name, []).extend(times)
    delays["call while the index is built"] = [one for start in starts for one in start.calls]
    return Result(
        figures=_figures(delays, lives, starts),
        header=["from the append on", "p50 ms", "p99 ms", "most ms", "times"],
        rows=[
            [name, ms(took, 50), ms(took, 99), max(took) * 1000, str(len(took))]
            for name, took in delays.items()
        ],
        details={
            "delays": delays,
            "idle_percent": [life.idle_percent for life in lives],
            "cut_loose": [life.cut_loose for life in lives],
            "index_complete_seconds": [start.complete_seconds for start in starts],
        },
    )


def ms(taken: list[float], percent: int) -> float:
    """A percentile of seconds, in milliseconds."""
    return percentile(taken, percent) * 1000


def _figures(delays: Times, lives: list[Followed], starts: list[Waits]) -> list[Figure]:
    p50, bare = ms(delays[OURS], 50), ms(delays[BARE], 50)
    aside = ms(delays[NINE], 50) / ms(delays[ALL], 50)
    lost, misplaced = (sum(getattr(life, name) for life in lives) for name in LOSSES)
    idle = statistics.median(life.idle_percent for life in lives)
    wrong = max(start.wrong for start in starts)
    return [
        Figure(
            f"append to subscriber, p50 ({p50 / bare:.1f} bare reads)",
            p50,
            "ms",
            5,
            round(2 * bare, 3),
        ),
        Figure(f"lost of {BURST_APPENDS} and more", lost, "messages", 0),
        Figure("doubled or out of order", misplaced, "messages", 0),
        Figure("nine beside one that stalls, p50", aside, "of ten that read", 1.2),
        Figure("longest call while indexing", max(max(s.calls) for s in starts) * 1000, "ms", 50),
        Figure("memory (RSS) while indexing", max(s.peak_mb for s in starts), "MB", 80),
        Figure("sessions that differ from the manifest", wrong, "", 0),
        Figure("idle, one connection with 16 sessions", round(idle, 1), "% of a core", 0),
    ]


if __name__ == "__main__":
    options = arguments(__doc__, 1, "daemons, two minutes each").parse_args()
    sys.exit(run("tail", options, measure))
