"""One trial: a run, a kill, and what holds afterwards."""

from __future__ import annotations

import json
import shutil
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path

import trio

from podiumd.drivers.agent_process import SPOOL
from podiumd.drivers.spool import Line, SpoolReader, watch_spools
from tests.e2e.machine import GitRepo
from tests.fakes.model_server import ModelServer
from tests.faults import audit, books
from tests.faults.agent_scenario import AgentScenario
from tests.faults.audit import Findings
from tests.faults.emptied import emptied
from tests.faults.late import read_late
from tests.faults.lives import Lives
from tests.faults.machines import FakeMachine, machine_for
from tests.faults.person import Person
from tests.faults.scenario import AWAY_GATE, RECIPE
from tests.faults.trials import Kind, Trial
from tests.patience import HANG_SECONDS


@dataclass
class Result:
    """How a trial went.

    ``seconds`` is how long the run took, ``late`` whether it was over before its moment came.
    ``directory`` is kept where something was wrong.
    """

    trial: Trial
    findings: Findings
    seconds: float
    directory: Path | None
    late: bool = False


async def run_trial(trial: Trial, program: Path, *, undisturbed: float = 0.0) -> Result:
    """Run one trial in a directory of its own.

    Parameters:
        program: the agent's binary, where the trial's is not the fake.
        undisturbed: seconds that a run takes which nobody kills, for moments.
    """
    # Short: the path of a socket may have 107 bytes.
    root = Path(tempfile.mkdtemp(prefix="podium-crash-"))
    findings = Findings()
    with ModelServer(trial.scenario.script) as model:
        case = Case(trial, root, program, model, findings)
        try:
            with trio.fail_after(HANG_SECONDS):
                await case.run(trial.part * undisturbed)
        except Exception:  # noqa: BLE001 - a trial that fails must not end the campaign
            findings.note("ended", traceback.format_exc())
        finally:
            case.lives.kill_all()
            if findings.good:
                shutil.rmtree(root, ignore_errors=True)
    if findings.good:
        return Result(trial, findings, case.seconds, None, case.late)
    (root / "findings.txt").write_text("\n".join(findings.lines()))
    return Result(trial, findings, case.seconds, root, case.late)


class Case:
    """A trial in progress. ``seconds`` and ``late`` as in ``Result``."""

    def __init__(
        self, trial: Trial, root: Path, program: Path, model: ModelServer, findings: Findings
    ) -> None:
        self.seconds = 0.0
        self.late = False
        self._trial = trial
        self._findings = findings
        root = root.resolve()
        machine = machine_for(trial.scenario, root, program, model)
        machine.recipe(RECIPE, trial.scenario.recipe)
        self._told: Path | None = None
        if trial.point.startswith("notify."):  # else its settings are commits that others count
            self._told = root / "told.jsonl"
            machine.notify(f"cat >> '{self._told}'")
        self._model = model
        self._repo: GitRepo = machine.repository()
        self.lives = Lives(machine)
        if not trial.marks:
            self.lives.use_program("tests.faults.without_marks")
        self._person = Person(self.lives, self._repo, trial.scenario)
        self._state = machine.podium_home / "state"
        self._kills = 0
        self._threads = trio.CapacityLimiter(1)

    async def run(self, moment: float) -> None:
        """The run with its kills, then every check."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.lives.keep, self._trial.armed, self._at_failpoint)
            nursery.start_soon(self._kill_from_outside, moment)
            if isinstance(machine := self.lives.machine, FakeMachine) and machine.late.exists():
                turns = self._state / "turns"
                nursery.start_soon(read_late, machine.late, turns, self.lives.kill_daemon)
            began = trio.current_time()
            await self._person.see_to_it()
            self.seconds = trio.current_time() - began
            nursery.cancel_scope.cancel()
        self._check_kills()
        await self._look_at_what_is_left()
        self._look_at_what_was_done()

    # -- kills -------------------------------------------------------------------------------

    def _at_failpoint(self) -> None:
        """The daemon stands still at the failpoint: kill, and let it go on if it may."""
        self._kills += 1
        if not self.lives.kill_agents():
            self._findings.note("ended", "no agent lived at the failpoint")
        if self._trial.kind == "both":
            self.lives.kill_daemon()
        else:
            self.lives.wake()

    async def _kill_from_outside(self, moment: float) -> None:
        trial = self._trial
        await self.lives.begun.wait()  # the first moment of all is before that
        if trial.first is not None:
            await self._person.next_turn()
            self._kill(trial.first)
        elif trial.point == "moment":
            # A moment is a time by its nature; nothing is waited for here but it.
            with trio.move_on_after(moment):
                await self._person.ended.wait()
            await self._kill_now(trial.kind)
        elif trial.point == "away":
            await self._kill_and_stay_away()

    async def _kill_now(self, kind: Kind) -> None:
        """Kill; where no agent lives for it, as soon as one does."""
        if kind != "daemon":
            while not self.lives.kill_agents() and not self._person.ended.is_set():
                await self._person.next_turn()
        self.late = self._person.ended.is_set()
        if kind != "agent" and not self.late:
            self.lives.kill_daemon()

    def _kill(self, kind: Kind) -> None:
        if kind != "daemon":
            self.lives.kill_agents()
        if kind != "agent":
            self.lives.kill_daemon()

    async def _kill_and_stay_away(self) -> None:
        """Kill the daemon in the middle of an answer; it comes back when the agent is idle."""

        def wait() -> None:
            self._model.wait_holding(AWAY_GATE)

        await trio.to_thread.run_sync(wait, abandon_on_cancel=True, limiter=self._threads)
        self.lives.may_return = trio.Event()
        turn = self._state / "turns" / self._person.turn_id
        self.lives.kill_daemon()
        self._model.release(AWAY_GATE)
        await _idle(turn)
        self.lives.may_return.set()

    def _check_kills(self) -> None:
        trial = self._trial
        deaths = int(trial.first is not None)
        deaths += int(trial.kind != "agent" and trial.point != "none" and not self.late)
        reached = self._kills if trial.kind != "daemon" else self.lives.deaths == deaths
        if trial.hit and not reached:
            self._findings.note("ended", f"{trial.point} was not reached {trial.hit} times")
        elif self.lives.deaths != deaths:
            self._findings.note("ended", f"the daemon died {self.lives.deaths} times, not {deaths}")

    # -- afterwards --------------------------------------------------------------------------

    async def _look_at_what_is_left(self) -> None:
        """Nothing lives, and the next daemon finds nothing open and nothing held."""
        note = self._findings.note
        note("ended", *self._person.surprises)
        if self._trial.point == "away":
            taken_up = (await self.lives.rpc("daemon.status"))["taken_up"]
            if taken_up != 1:
                note("ended", f"the turn was not taken up: {taken_up}")
        if self._person.saw_the_end:
            await emptied(self._state / "turns")
        await self.lives.stop()
        note("children", *(line for _, line in self.lives.living()))
        await self.lives.start()
        status = await self.lives.rpc("daemon.status")
        opened = {
            name: status[name]
            for name in ("runs_active", "questions_open", "taken_up")
            if status[name]
        }
        if opened:
            note("ended", f"the next daemon found {opened}")
        if locks := await self.lives.rpc("sessions.locks"):
            note("children", f"still held: {json.dumps(locks)}")
        told = await self.lives.rpc("runs.events", run_id=self._person.run_id)
        if told["events"] != self._person.events:
            note("whole", "the next daemon tells another story than the person was told")
        await self.lives.stop()
        note("children", *(line for _, line in self.lives.living()))

    def _look_at_what_was_done(self) -> None:
        machine, findings = self.lives.machine, self._findings
        state = self._state
        facts = audit.stored_facts(state)
        scenario = self._trial.scenario
        if isinstance(scenario, AgentScenario):
            said = books.heard(machine, facts)
            unharmed = self._trial.kind == "daemon" and self._trial.first in (None, "daemon")
            books.check(findings, scenario, machine, facts, undisturbed=unharmed)
        else:
            said = audit.said_to_agents(machine.home, state)
        audit.check_log(findings, facts, self._person.events)
        audit.check_end(findings, facts, scenario)
        audit.check_prompts(findings, facts, said)
        audit.check_steers(findings, facts, said)
        audit.check_words(findings, facts, said)
        worked_in = Path(facts[0]["data"]["working_directory"])
        audit.check_effects(findings, scenario, worked_in, self._person.commits)
        audit.check_documents(findings, scenario, worked_in)
        if self._told is not None:
            audit.check_notifications(findings, facts, self._told)


async def _idle(turn: Path) -> None:
    """Wait until the agent of a turn has said in its spool that it is idle."""
    async with watch_spools() as watch:
        with watch.follow(turn) as bell:
            spool = SpoolReader(turn / SPOOL)
            try:
                while not any(map(_says_idle, spool.read())):
                    if spool.at_end:
                        await bell.wait()
                    else:
                        await trio.lowlevel.checkpoint()
            finally:
                spool.close()


def _says_idle(line: Line) -> bool:
    said = json.loads(line.data)
    return (said.get("subtype"), said.get("state")) == ("session_state_changed", "idle")
