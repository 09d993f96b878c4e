"""What the daemon costs while it has nothing to do: wake-ups and memory.

    make bench-idle     python benchmarks/bench_idle.py [--rounds N] [--json]     (Linux)

A private daemon is looked at from outside in four states, each for 60 seconds a round: just
started with nobody there; with one client that follows all events; with that client after a run
of six turns by the real agent (scripted model), which has loaded and started whatever work needs;
and then with a phone as well, which looks at the session of that run. Wake-ups are the context
switches of all its threads, voluntary and not. Of memory, RSS counts what it shares with other
processes in full, PSS by its share.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import trio

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import CannotMeasure, Figure, Result, arguments, run
from benchmarks.ping_pong import ping_pong
from benchmarks.private_daemon import ALWAYS_AGAIN, private_daemon
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.rpc_client import connected
from tests.load.thin_phone import ThinPhone

GOAL_WAKE_UPS, GOAL_MB, AIM_MB = 1.0, 60.0, 40.0
SETTLE_SECONDS = 12.0
"""Longer than trio keeps an idle worker thread, which is 10 seconds."""

WATCH_SECONDS = 60.0
"""Each look holds one sweep of the session files, which come once a minute."""
TURNS = 6
STATES = ("nobody there", "a client follows", "after a run", "a phone looks on")


class Idle(NamedTuple):
    """One look at an idle daemon. Memory in megabytes of 10**6 bytes."""

    wake_ups_per_second: float
    cpu_ms_per_second: float
    threads: int
    rss_mb: float
    pss_mb: float


def switches(pid: int) -> dict[str, int]:
    """Context switches of each thread so far."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        lines = (task / "status").read_text().splitlines()
        counts = [line.split()[1] for line in lines if "_ctxt_switches:" in line]
        found[task.name] = sum(int(count) for count in counts)
    return found


def cpu_ms(pid: int) -> dict[str, float]:
    """Processor time of each thread so far, from the scheduler's own nanoseconds."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return {task.name: int((task / "schedstat").read_text().split()[0]) / 1e6 for task in tasks}


def growth(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """By how much the threads that still live have gone on."""
    return sum(count - before.get(thread, 0) for thread, count in after.items())


def memory_mb(pid: int, name: str) -> float:
    """A line of the process's memory map, summed up by the kernel."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise CannotMeasure(f"/proc/{pid}/smaps_rollup has no {name}")


async def look(pid: int) -> Idle:
    """Let the daemon settle, then watch it; this process sleeps meanwhile: idle is what is left
    when nothing happens for a time."""
    await trio.sleep(SETTLE_SECONDS)
    before, used, began = switches(pid), cpu_ms(pid), time.monotonic()
    await trio.sleep(WATCH_SECONDS)
    after, used_after, seconds = switches(pid), cpu_ms(pid), time.monotonic() - began
    return Idle(
        wake_ups_per_second=growth(before, after) / seconds,
        cpu_ms_per_second=growth(used, used_after) / seconds,
        threads=len(after),
        rss_mb=memory_mb(pid, "Rss"),
        pss_mb=memory_mb(pid, "Pss"),
    )


async def work(daemon: PodiumDaemon, recipe: str, where: Path) -> str:
    """Play a run to its end; returns its session."""
    asked = {"recipe": recipe, "working_directory": str(where)}
    started = await daemon.rpc("runs.start", **asked)
    ended = await daemon.ended(started["run_id"])
    return str(ended["main_session_id"])


@asynccontextmanager
async def phone_on(daemon: PodiumDaemon, session_id: str) -> AsyncIterator[None]:
    """A phone that looks at a session, and answers when it is asked whether it is still there."""
    url = (await daemon.rpc("daemon.status"))["gateway"]["url"]
    key = (await daemon.rpc("gateway.pair"))["key"]

    async def listen(phone: ThinPhone) -> None:
        while not phone.closed:
            await trio.lowlevel.wait_readable(phone.socket)
            phone.receive(0)

    with ThinPhone(int(url.rpartition(":")[2])) as phone:
        phone.log_in(key).follow(session_id)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen, phone)
            yield
            if phone.closed:
                raise CannotMeasure("the phone was cut off")
            nursery.cancel_scope.cancel()


async def one_round() -> dict[str, Idle]:
    """One daemon's idle life."""
    found = {}
    async with private_daemon(ALWAYS_AGAIN) as daemon:
        recipe = daemon.machine.recipe("ping-pong", ping_pong(TURNS))
        where = daemon.machine.repository().path
        found[STATES[0]] = await look(daemon.pid)
        async with connected(daemon.machine.socket) as client:
            await client.call("events.subscribe", {})
            found[STATES[1]] = await look(daemon.pid)
            session_id = await work(daemon, recipe, where)
            found[STATES[2]] = await look(daemon.pid)
            async with phone_on(daemon, session_id):
                found[STATES[3]] = await look(daemon.pid)
    return found


def measure(options: argparse.Namespace) -> Result:
    """Measure, and take the medians."""
    if not Path("/proc/self/smaps_rollup").exists():
        raise CannotMeasure("this needs Linux's /proc")
    rounds = [trio.run(one_round) for _ in range(options.rounds)]
    medians = {
        state: Idle(*(statistics.median(values) for values in zip(*looks, strict=True)))
        for state in STATES
        for looks in [[one[state] for one in rounds]]
    }
    worst = Idle(*(max(values) for values in zip(*medians.values(), strict=True)))
    return Result(
        figures=[
            Figure("wake-ups, worst state", worst.wake_ups_per_second, "a second", GOAL_WAKE_UPS),
            Figure("memory (RSS), worst state", worst.rss_mb, "MB", GOAL_MB, AIM_MB),
        ],
        header=["idle daemon", "wake-ups/s", "CPU ms/s", "threads", "RSS MB", "PSS MB"],
        rows=[[state, *median] for state, median in medians.items()],
        details={"rounds": [{s: one[s]._asdict() for s in STATES} for one in rounds]},
    )


if __name__ == "__main__":
    options = arguments(__doc__, 1, "daemons, five minutes each").parse_args()
    sys.exit(run("idle", options, measure))
