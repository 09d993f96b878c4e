"""Whole runs as their events, made up: what each step did, on a clock of its own."""

from __future__ import annotations

import time
from typing import Any

from tests.client.fake_daemon import RUN_ID, SESSION_ID
from tests.client.stories import ended_run

Json = Any

BEGAN = 1_777_629_600.0
"""2026-05-01T10:00:00Z."""


def stamp(seconds: float) -> str:
    """So many seconds after the run began."""
    whole, thousandths = divmod(round((BEGAN + seconds) * 1000), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{thousandths:03}Z"


class Journey:
    """A run that is told as it goes: every method adds what the daemon would tell."""

    def __init__(self, **start: Any) -> None:
        self.events: list[Json] = []
        self.now = 0.0
        self.cost = 0.0
        self.visits: dict[str, int] = {}
        self.step = ""
        self.steps = 0
        self.turns = 0
        self.prompted_at = 0.0
        first = {
            "run_id": RUN_ID,
            "kind": "recipe",
            "recipe": "fix-it",
            "label": "Fix it",
            "agent": "claude",
            "params": {"issue": "7"},
            "limits": {"max_total_steps": 70, "max_retries": 3},
        }
        self.tell("run.started", **(first | start))

    def tell(self, kind: str, /, **data: Any) -> Journey:
        seq = len(self.events) + 1
        told = {"seq": seq, "pos": seq + 100, "type": kind, "at": stamp(self.now)}
        self.events.append({**told, "run_id": RUN_ID, "session_id": SESSION_ID, "data": data})
        return self

    def wait(self, seconds: float) -> Journey:
        self.now += seconds
        return self

    def enter(self, step: str) -> Journey:
        self.step = step
        self.steps += 1
        self.visits[step] = self.visits.get(step, 0) + 1
        visit = self.visits[step]
        return self.tell(
            "step.entered", step=step, visit=visit, step_count=self.steps, session_id="s"
        )

    def prompt(self, prompt: str = "Do it.", **more: Any) -> Journey:
        self.turns += 1
        self.prompted_at = self.now
        turn = {"turn_id": f"turn-{self.turns}", "prompt": prompt, "purpose": "step", "attempt": 1}
        return self.tell("turn.intended", **(turn | {"agent": "claude", "model": None} | more))

    def reply(
        self, words: str = "Done.", cost: float = 0.25, seconds: float | None = None, **report: Any
    ) -> Journey:
        """The turn's end; ``seconds`` of work passed before it, all of them if none is given."""
        self.cost += cost
        return self.tell(
            "turn.ended",
            turn_id=f"turn-{self.turns}",
            text=words,
            seconds=self.now - self.prompted_at if seconds is None else seconds,
            cost_usd=cost,
            report={"kind": "done", "detail": "", **report},
        )

    def turn(self, seconds: float, words: str = "Done.", cost: float = 0.25) -> Journey:
        return self.prompt().wait(seconds).reply(words, cost)

    def parsed(self, outcome: str, **more: Any) -> Journey:
        said = {"source": "structured", "repaired": False, "attempt": 1, "description": None}
        return self.tell("outcome.parsed", step=self.step, outcome=outcome, **(said | more))

    def check(self, seconds: float, passed: bool, tail: str = "") -> Journey:
        return self.wait(seconds).tell(
            "check.ended",
            step=self.step,
            index=0,
            run=["make", "test"],
            passed=passed,
            exit_status=0 if passed else 2,
            seconds=seconds,
            tail=tail,
            log="" if passed else "/state/checks/1.log",
        )

    def ask(self, name: str, text: str = "Go on?", /, **more: Any) -> Journey:
        said = {"question_id": name, "kind": "gate", "text": text, "detail": ""}
        choices = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
        return self.tell("question.opened", **(said | {"choices": choices} | more))

    def answer(self, name: str, answer: str | None, **more: Any) -> Journey:
        said = {"closed": "answered", "by": "local", "note": None}
        return self.tell("question.closed", question_id=name, answer=answer, **(said | more))

    def leave(self, outcome: str, to: str | None = None, **more: Any) -> Journey:
        said = {"source": "structured", "attempts": 1, "description": None, "exit": None}
        visit = self.visits[self.step]
        return self.tell(
            "edge.taken", step=self.step, visit=visit, outcome=outcome, to=to, **(said | more)
        )

    def over(self, kind: str = "completed", **more: Any) -> Journey:
        return self.tell("run.ended", run=self.run(kind), **more)

    def run(self, kind: str = "completed", **more: Any) -> Json:
        """The run as ``runs.get`` tells it."""
        told = {
            "step": self.step,
            "step_count": self.steps,
            "turns": self.turns,
            "limits": {"max_total_steps": 70, "max_retries": 3},
            "cost_usd": self.cost,
            "visits": self.visits,
            "started_at": stamp(0.0),
            "ended_at": stamp(self.now),
        }
        return ended_run(kind, **(told | more))


def stalled() -> Journey:
    """Two reviews that find the same in the same tree, then a limit."""
    journey = Journey()
    for visit in (1, 2):
        journey.enter("fix").turn(5).leave("complete", "review")
        journey.enter("review").turn(3, "It is wrong.").leave("issues-found", "fix")
        if visit == 2:
            tree = {"head": "c0ffee", "digest": "d1"}
            data = {"step": "review", "visit": 2, "since": 1, "outcome": "issues-found"}
            journey.tell("progress.stalled", **data, tree=tree)
    return journey.tell("limit.hit", limit="max-step-visits-exceeded:fix", count=2).over(
        "guardrail"
    )


def short() -> Journey:
    """One step, one turn."""
    journey = Journey(label="One step")
    journey.enter("fix").turn(62, "Fixed the thing.").parsed("complete")
    return journey.leave("complete", exit="changes-committed").over()


def varied() -> Journey:
    """Something of all: retries, checks, questions, waiting through a night, a pause, a limit."""
    journey = Journey(label="Fix, test, review and commit").wait(1)
    journey.ask("q-dirty", "The working tree has changes. Start anyway?").wait(40)
    journey.answer("q-dirty", "yes").enter("implement")
    journey.prompt("Fix issue 7.\n\nDo not commit.").wait(120)
    journey.ask(
        "q-tool", "May the agent use Bash?", kind="approval", tool="Bash", input={"command": "ls"}
    )
    journey.wait(35).answer("q-tool", "allow", by="phone").wait(80)
    journey.reply("I changed `src/slug.py`; the tests are next.", 0.41, 200)
    journey.tell(
        "outcome.invalid", error="no-json", message="There is no JSON block.", attempt=1, excerpt=""
    )
    journey.prompt("Please respond again.", purpose="retry", attempt=2).wait(9)
    journey.reply('{"outcome": "complete"}', 0.03).parsed(
        "complete", source="text", attempt=2, repaired=True
    )
    journey.check(31, False, "2 failed, 40 passed\ntest_slug.py:9: assert 'a--b' == 'a-b'")
    journey.leave("checks-failed", "implement", source="check", attempts=2).enter("implement")
    journey.turn(150, "One hyphen for a run of other characters now.", 0.3).parsed("complete")
    journey.check(29, True, "42 passed").leave("complete", "review").enter("review")
    journey.prompt("Review it.").wait(70)
    journey.tell("steer.intended", uuid="u", text="Look at the docs too.", turn_id="turn-4")
    journey.wait(60).reply("The docs still say otherwise.", 0.2)
    journey.parsed("issues-found").leave("issues-found", "fix").enter("fix")
    journey.turn(95, "The docs now agree.", 0.18).parsed("complete").leave("complete", "review")
    journey.tell("run.paused", why="requested").wait(300).tell("run.resumed").enter("review")
    journey.turn(88, "No issues.", 0.16).parsed("no-issues").leave("no-issues", "commit")
    journey.ask("q-commit", "Commit?").wait(30_000).answer("q-commit", "yes", note="at last")
    journey.enter("commit").turn(20, 'Committed as "Add URL slugs".', 0.05).parsed("committed")
    return journey.leave("committed", exit="changes-committed").over()


def long(rounds: int = 15) -> Journey:
    """Four visits a round; with the fifteen given, sixty."""
    journey = Journey(label="Implement and review all", recipe="implement-and-review-all")
    for one in range(rounds):
        journey.enter("implement").turn(100 + 37 * one % 160, f"Task {one + 1} is done.")
        journey.parsed("complete")
        if one % 5 == 3:
            journey.check(25, False, "1 failed").leave("checks-failed", "fix", source="check")
        else:
            journey.check(25, True).leave("complete", "code-review")
            journey.enter("code-review").turn(60 + 17 * one % 50).parsed("issues-found")
            journey.leave("issues-found", "fix")
        journey.enter("fix").turn(45 + 29 * one % 90).parsed("complete")
        if one % 5 == 3:
            journey.leave("complete", "code-review").enter("code-review").turn(50)
            journey.parsed("no-issues").leave("no-issues", "commit")
        else:
            journey.leave("complete", "commit")
        if one == 8:
            journey.tell("run.parked", until=stamp(journey.now + 9000)).wait(9000)
            journey.tell("run.resumed", why="limit")
        journey.enter("commit").turn(15).parsed("committed")
        last = one == rounds - 1
        journey.leave(
            "committed", None if last else "@restart", exit="max-restarts" if last else None
        )
        if not last:
            journey.visits = {}
    return journey.over("guardrail")
