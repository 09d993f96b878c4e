"""The campaign of histories: random schedules of what can befall transcripts and their reader.

    python -m tests.histories.campaign [--histories N] [--seed N] [--jobs N] [--sabotage NAME]

Each history is drawn from a seed of its own and plays on transcripts in a directory of its own,
with one service over one store: ``actions`` and ``history`` say what can happen, ``checker`` what
must hold. A history that goes wrong is shrunk and printed; the same seed draws the same steps,
though not the same moments. ``--sabotage`` breaks the service on purpose, so that it can be seen
that this is found.

Each worker is a program of its own, since it forks services and may have no threads.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import selectors
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.histories import sabotage, service
from tests.histories.actions import ACTIONS
from tests.histories.checker import Wrong
from tests.histories.history import SERVICE_ACTIONS, Step, draw, play
from tests.histories.shrink import shrink

ROOT: Final = Path(__file__).resolve().parents[2]

Json = dict[str, Any]

SABOTAGED_SECONDS = 10.0
"""For an answer of a service that was broken on purpose."""


def failure(seed: int, said: str, *, shorter: bool) -> str:
    """Tell of a history that went wrong, as short as it can be made."""
    lines = [f"FAILED seed {seed}: {said}"]
    steps: Sequence[Step] = draw(seed)
    if shorter:
        steps, again = shrink(steps, _played)
        lines.append("  shrunk to:" if again else "  and did not go wrong again:")
        lines += [f"    {step.name} {step.seed}" for step in steps]
        if again and again != said:
            lines.append(f"  which says: {again}")
    return "\n".join(lines)


def _played(steps: Sequence[Step]) -> str | None:
    try:
        play(steps)
    except Wrong as error:
        return str(error)
    return None


def work(seeds: Sequence[int], *, shorter: bool) -> None:
    """A worker: plays histories and prints what came of each, a line of JSON for each."""
    # Told to stop, it leaves no service and no directory behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for seed in seeds:
        counts: Counter[str] = Counter()
        said = None
        try:
            counts = play(draw(seed))
        except Wrong as error:
            said = failure(seed, str(error), shorter=shorter)
        print(json.dumps({"seed": seed, "counts": counts, "wrong": said}), flush=True)


class _Lines:
    """The lines of a worker, as they come."""

    def __init__(self, worker: subprocess.Popen[bytes]) -> None:
        self.worker = worker
        self.ended = False
        self._waiting = b""

    def read(self) -> list[bytes]:
        """What is there; to be called when there is something."""
        assert self.worker.stdout is not None
        data = os.read(self.worker.stdout.fileno(), 1 << 16)
        self.ended = not data
        *lines, self._waiting = (self._waiting + data).split(b"\n")
        return lines


class Campaign:
    """Shares histories out among workers and gathers what they say."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.played = 0
        self.wrong: list[str] = []

    def run(self, arguments: argparse.Namespace) -> None:
        """Play all; with ``sabotage`` until the first goes wrong."""
        workers = [self._worker(arguments, job) for job in range(arguments.jobs)]
        try:
            with selectors.DefaultSelector() as selector:
                for worker in workers:
                    assert worker.stdout is not None
                    selector.register(worker.stdout, selectors.EVENT_READ, _Lines(worker))
                while selector.get_map() and not (self.wrong and arguments.sabotage):
                    for key, _ in selector.select():
                        lines: _Lines = key.data
                        for line in lines.read():
                            self._take(json.loads(line))
                        if lines.ended:
                            selector.unregister(key.fileobj)
                            self._ended(lines.worker)
        finally:
            for worker in workers:
                worker.terminate()
                worker.communicate()  # what it still has to say must not hold it up

    def _worker(self, arguments: argparse.Namespace, job: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.histories.campaign", "--worker", str(job)]
        for name in ("histories", "seed", "jobs", "sabotage"):
            value = getattr(arguments, name)
            command += [f"--{name}", str(value)] if value is not None else []
        path = os.pathsep.join(sys.path)  # as this program found its modules
        environment = {**os.environ, "PYTHONPATH": path}
        return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=ROOT)

    def _take(self, result: Json) -> None:
        self.played += 1
        self.counts.update(result["counts"])
        if result["wrong"]:
            self.wrong.append(result["wrong"])
            print(result["wrong"], flush=True)

    def _ended(self, worker: subprocess.Popen[bytes]) -> None:
        if worker.wait():
            self.wrong.append(f"FAILED: a worker ended with {worker.returncode}")
            print(self.wrong[-1], flush=True)


def table(counts: Counter[str]) -> str:
    """What was exercised: how often each thing happened, the actions first."""
    names = [*ACTIONS, *SERVICE_ACTIONS]
    names += sorted(name for name in counts if name not in names)
    return "\n".join(f"{name:28}{counts[name]:10}" for name in names)


def never(counts: Counter[str]) -> list[str]:
    """The actions that did not happen once."""
    return [name for name in (*ACTIONS, *SERVICE_ACTIONS) if not counts[name]]


def main(argv: list[str]) -> int:
    """Run the campaign; return the exit status, 1 where anything went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.histories.campaign")
    parser.add_argument("--histories", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument("--seed", type=int, help="of the first; printed when not given")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1), help="at a time")
    parser.add_argument("--sabotage", choices=[*sabotage.KINDS], help="break the service first")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(1_000_000) * 1000
    seeds = range(arguments.seed, arguments.seed + arguments.histories)
    if arguments.sabotage:
        sabotage.KINDS[arguments.sabotage]()
        service.patience[0] = SABOTAGED_SECONDS
    if arguments.worker is not None:
        work(seeds[arguments.worker :: arguments.jobs], shorter=not arguments.sabotage)
        return 0
    print(f"{len(seeds)} histories from seed {arguments.seed}, {arguments.jobs} at a time.")
    began = time.monotonic()
    campaign = Campaign()
    campaign.run(arguments)
    print(f"\n{table(campaign.counts)}\n")
    for line in campaign.wrong[1:]:
        print(line)
    for name in never(campaign.counts):
        print(f"never happened: {name}")
    seconds = time.monotonic() - began
    print(f"{len(campaign.wrong)} went wrong of {campaign.played}, in {seconds:.0f} s")
    complete = campaign.played == len(seeds)
    return 0 if complete and not campaign.wrong else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
