"""The crash campaign: kill -9 of the daemon, of the agent, of both, and what must hold after it.

    python -m tests.faults.campaign [--short] [--seed N] [--jobs N] [--only NAME]

Each trial is a run of six steps with the real agent in a home and a repository of its own: tools
with a visible effect, an approval, a gate, a check, a steer, a wrong outcome that is asked again,
a session of its own for one step, and a commit that must not be repeated; or a conversation in
phases, or the native agent. ``scenario`` and its like say what happens in it, ``plan`` which trials
there are, ``audit`` what must hold.

Nothing here sleeps to wait for a state: it follows events. Only a kill at a random moment waits
for a time, since that is what a moment is. The seed chooses the moments; the same seed and name
give the same moment, though not the same state of the machine.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import trio

from tests.e2e.install_claude import InstallError, install
from tests.faults import plan, report
from tests.faults.plan import Trial
from tests.faults.trial import Result, run_trial

UNDISTURBED = Trial("none", "none", "daemon")
EARLIER_TIMES = 6


class Campaign:
    """Runs trials, ``jobs`` at a time."""

    def __init__(self, seed: int, claude: Path, jobs: int) -> None:
        self.results: list[Result] = []
        self._seed = seed
        self._claude = claude
        self._jobs = jobs
        self._undisturbed = 0.0

    async def run(self, trials: list[Trial]) -> None:
        """Run them all; a failure is printed at once."""
        # As many as later run side by side: a moment is a part of the time that a run takes then.
        await self._side_by_side([UNDISTURBED] * self._jobs, len(trials))
        first = [result.seconds for result in self.results]
        self._undisturbed = sum(first) / len(first)
        print(f"An undisturbed run takes {self._undisturbed:.1f} s.", flush=True)
        if all(result.findings.good for result in self.results):
            await self._side_by_side(trials, len(trials))

    async def _side_by_side(self, trials: list[Trial], total: int) -> None:
        waiting = iter(trials)

        async def work() -> None:
            for trial in waiting:
                result = await self._in_time(trial)
                self.results.append(result)
                self._tell(result, total)

        async with trio.open_nursery() as nursery:
            for _ in range(self._jobs):
                nursery.start_soon(work)

    async def _in_time(self, trial: Trial) -> Result:
        """Run a trial; again, and its kill a quarter earlier, where the run was over by then."""
        result = await run_trial(trial, self._claude, undisturbed=self._undisturbed)
        for _ in range(EARLIER_TIMES):
            if not (result.late and result.findings.good):
                break
            trial = replace(trial, part=trial.part * 0.75)
            result = await run_trial(trial, self._claude, undisturbed=self._undisturbed)
        return result

    def _tell(self, result: Result, total: int) -> None:
        if not result.findings.good:
            print(report.failure(result, self._seed), flush=True)
        elif result.trial is not UNDISTURBED:
            done = len(self.results) - self._jobs
            print(f"{done}/{total} {result.trial.name} {result.seconds:.1f} s", flush=True)


def chosen(arguments: argparse.Namespace) -> list[Trial]:
    """Return the trials that the command line asks for."""
    if arguments.only:
        begin = arguments.only
        found = [t for t in plan.every(arguments.seed) if f"{t.name}/".startswith(f"{begin}/")]
        if not found:
            raise SystemExit(f"--only {begin}: no trial is called so, such as turn.swept/daemon/1")
        return found
    return plan.short(arguments.seed) if arguments.short else plan.every(arguments.seed)


def agent() -> Path:
    """Return the agent's binary: CLAUDE_BIN, else the pinned one."""
    given = os.environ.get("CLAUDE_BIN")
    try:
        return Path(given).resolve() if given else install()
    except InstallError as error:
        raise SystemExit(f"claude is needed and could not be installed: {error}") from None


def main(argv: list[str]) -> int:
    """Run the campaign; return the exit status, 1 where anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.campaign")
    parser.add_argument("--short", action="store_true", help="each failpoint once, a few moments")
    parser.add_argument("--seed", type=int, help="chooses the moments; printed when not given")
    parser.add_argument("--jobs", type=int, default=2, help="trials at a time (default 2)")
    parser.add_argument("--only", help="a trial, or all of a point: NAME, NAME/KILL or moment/17")
    arguments = parser.parse_args(argv)
    # However it is told to stop, the daemons and agents of its trials end with it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(1_000_000)
    trials = chosen(arguments)
    print(f"{len(trials)} trials, seed {arguments.seed}, {arguments.jobs} at a time.", flush=True)
    began = time.monotonic()
    campaign = Campaign(arguments.seed, agent(), max(1, arguments.jobs))
    stopped = False
    try:
        trio.run(campaign.run, trials)
    except* KeyboardInterrupt:
        stopped = True
    print(f"\n{report.table(campaign.results)}\n")
    missing = set() if arguments.only else plan.not_tried(trials)
    for name in sorted(missing):
        print(f"FAILED {name}: no trial is about this failpoint")
    failed = [result for result in campaign.results if not result.findings.good]
    for result in failed:
        print(report.failure(result, arguments.seed))
    late = sum(result.late for result in campaign.results)
    if late:
        print(f"{late} moments came after the end of their run, so nothing was killed there.")
    if stopped:
        print("FAILED: it was stopped before its end")
    minutes = (time.monotonic() - began) / 60
    print(
        f"seed {arguments.seed}: {len(failed)} failed of {len(campaign.results)}, {minutes:.1f} min"
    )
    return 1 if failed or missing or stopped else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
