"""The crash campaign: kill -9 of the daemon, of the agent, of both, and what must hold after it.

    python -m tests.faults.campaign [--short] [--seed N] [--jobs N] [--only NAME]

Each trial is a run of six steps with the real agent in a home and a repository of its own: tools
with a visible effect, an approval, a gate, a check, a steer, a wrong outcome that is asked again,
a session of its own for one step, and a commit that must not be repeated; or a conversation in
phases, or the native agent; or three turns of an agent over JSON-RPC, most of them with the kit's
fake, some with the real Codex. ``scenario`` and its like say what happens in it, ``plan`` and
``agent_plan`` which trials there are, ``audit`` and ``books`` what must hold. At the end stands a
control: a daemon that asks no agent what has arrived must double prompts, and be found out.

Nothing here sleeps to wait for a state: it follows events. Only a kill at a random moment waits
for a time, since that is what a moment is. The seed chooses the moments; the same seed and name
give the same moment, though not the same state of the machine.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import trio

from tests.e2e import install_claude, install_codex
from tests.e2e.install_claude import InstallError
from tests.faults import agent_plan, plan, report
from tests.faults.trial import Result, run_trial
from tests.faults.trials import Trial

EARLIER_TIMES = 6


class Campaign:
    """Runs trials, ``jobs`` at a time. ``programs`` are the binaries of agents, by name."""

    def __init__(self, seed: int, programs: Mapping[str, Path], jobs: int) -> None:
        self.results: list[Result] = []
        self.controls: list[Result] = []
        self._seed = seed
        self._programs = programs
        self._jobs = jobs
        self._undisturbed: dict[str, float] = {}

    async def run(self, trials: list[Trial]) -> None:
        """Run them all; a failure is printed at once."""
        for agent in dict.fromkeys(trial.scenario.measured_by for trial in trials):
            # As many as later run side by side: a moment is a part of the time that a run takes
            # then.
            undisturbed = Trial(f"none/{agent}", "none", "daemon", scenario=plan.UNDISTURBED[agent])
            first = await self._side_by_side([undisturbed] * self._jobs)
            seconds = sum(result.seconds for result in first) / len(first)
            self._undisturbed[agent] = seconds
            print(f"An undisturbed run of {agent} takes {seconds:.1f} s.", flush=True)
            self.results += first
        if all(result.findings.good for result in self.results):
            await self._side_by_side(trials, self.results)

    async def control(self, trials: list[Trial]) -> None:
        """Run trials that have to double a prompt."""
        await self._side_by_side(trials, self.controls)
        for result in self.controls:
            if result.directory is not None:
                shutil.rmtree(result.directory)

    async def _side_by_side(
        self, trials: list[Trial], into: list[Result] | None = None
    ) -> list[Result]:
        results = [] if into is None else into
        waiting, before = iter(trials), len(results)

        async def work() -> None:
            for trial in waiting:
                results.append(await self._in_time(trial))
                if trial.marks:
                    done = "" if into is None else f"{len(results) - before}/{len(trials)} "
                    self._tell(done, results[-1])

        async with trio.open_nursery() as nursery:
            for _ in range(self._jobs):
                nursery.start_soon(work)
        return results

    async def _in_time(self, trial: Trial) -> Result:
        """Run a trial; again, and its kill a quarter earlier, where the run was over by then."""
        result = await self._one(trial)
        for _ in range(EARLIER_TIMES):
            if not (result.late and result.findings.good):
                break
            trial = replace(trial, part=trial.part * 0.75)
            result = await self._one(trial)
        return result

    async def _one(self, trial: Trial) -> Result:
        program = self._programs.get(trial.scenario.name, Path())
        seconds = self._undisturbed.get(trial.scenario.measured_by, 0.0)
        return await run_trial(trial, program, undisturbed=seconds)

    def _tell(self, done: str, result: Result) -> None:
        if not result.findings.good:
            print(report.failure(result, self._seed), flush=True)
        elif done:
            print(f"{done}{result.trial.name} {result.seconds:.1f} s", flush=True)


def chosen(arguments: argparse.Namespace) -> list[Trial]:
    """Return the trials that the command line asks for."""
    trials = plan.short(arguments.seed) if arguments.short else plan.every(arguments.seed)
    if begin := arguments.only:
        trials = [trial for trial in trials if f"{trial.name}/".startswith(f"{begin}/")]
        if not trials:
            raise SystemExit(f"--only {begin}: no trial is called so, such as turn.swept/daemon/1")
    return trials


def programs(trials: list[Trial]) -> dict[str, Path]:
    """Return the agents' binaries: those that variables name, else the pinned ones."""
    needed = {trial.scenario.name for trial in trials}
    found = {}
    for name, variable, pinned in (
        ("claude", "CLAUDE_BIN", install_claude.install),
        ("real-codex", install_codex.VARIABLE, install_codex.install),
    ):
        if name not in needed:
            continue
        given = os.environ.get(variable)
        try:
            found[name] = Path(given).resolve() if given else pinned()
        except InstallError as error:
            raise SystemExit(f"{name} is needed and could not be installed: {error}") from None
    return found


def main(argv: list[str]) -> int:
    """Run the campaign; return the exit status, 1 where anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.campaign")
    parser.add_argument("--short", action="store_true", help="each failpoint once, a few moments")
    parser.add_argument("--seed", type=int, help="chooses the moments; printed when not given")
    parser.add_argument("--jobs", type=int, default=2, help="trials at a time (default 2)")
    parser.add_argument("--only", help="some of them: NAME, NAME/KILL, moment/17, codex")
    arguments = parser.parse_args(argv)
    # However it is told to stop, the daemons and agents of its trials end with it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(1_000_000)
    trials = chosen(arguments)
    print(f"{len(trials)} trials, seed {arguments.seed}, {arguments.jobs} at a time.", flush=True)
    began = time.monotonic()
    controls = [] if arguments.only else agent_plan.controls()
    campaign = Campaign(arguments.seed, programs(trials), max(1, arguments.jobs))
    stopped = False
    try:
        trio.run(campaign.run, trials)
        trio.run(campaign.control, controls)
    except* KeyboardInterrupt:
        stopped = True
    print(f"\n{report.table(campaign.results)}\n")
    missing = set() if arguments.only else plan.not_tried(trials)
    for name in sorted(missing):
        print(f"FAILED {name}: no trial is about this failpoint")
    told = report.control(campaign.controls, len(controls))
    print(told)
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
    blind = told.startswith("FAILED")
    return 1 if failed or missing or stopped or blind else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
