"""A run to play with: small recipes, and ``Play``, which feeds a run commands and keeps its facts.

Every command that a test plays also proves what must hold always: the fold of the stored bytes is
the live state, a run that goes on has exactly one thing to wait for, nothing but a title follows
``run.ended``, no two prompts share a uuid, and each command leads where the table says it may.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from podiumd.core.decide.workflow import MACHINE, decide
from podiumd.core.recipe.exits import ExitClass
from podiumd.core.recipe.model import Check, Edge, Limits, Recipe, Step
from podiumd.core.reply.report import EndKind, TurnReport
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.fold import evolve
from podiumd.core.run.state import Place, Question, RunState, RunStatus

Kind = TypeVar("Kind", bound=f.Fact)

RUN = "run-1"
SESSION = "session-1"
DIRECTORY = "/home/ada/project"
TREE = f.TreeMark(head="c0ffee", digest="d1")
WORKTREE = f.Worktree(repository=DIRECTORY, directory="/home/ada/tree", branch="podium/run-1")


def to(step: str) -> Edge:
    return Edge(to=step)


def leave(reason: str, class_: ExitClass | None = None, message: str | None = None) -> Edge:
    return Edge(exit=reason, class_=class_, message=message)


def a_step(prompt: str = "Do the work.", /, on: dict[str, Edge] | None = None, **more: Any) -> Step:
    """A turn step; its outcomes are the keys of ``on`` (without those nobody says)."""
    on = {"complete": leave("changes-committed")} if on is None else on
    said = tuple(name for name in on if name not in ("other", "checks-failed", "declined"))
    return Step(kind="turn", prompt=prompt, on=on, outcomes=said, **more)


def a_command(*run: str, on: dict[str, Edge] | None = None, **more: Any) -> Step:
    """A command step; one that fails ends the run unless ``on`` says more."""
    edges = {"passed": leave("changes-committed"), "failed": leave("broken", "error")}
    return Step(
        kind="command",
        run=run or ("make", "all"),
        outcomes=("passed", "failed"),
        on={**edges, **(on or {})},
        **more,
    )


def a_question(ask: str = "Which way?", /, **on: Edge) -> Step:
    """A gate step: its choices are the keys of ``on``."""
    return Step(kind="gate", ask=ask, choices=tuple(on), outcomes=tuple(on), on=on)


def a_check(*run: str) -> Check:
    return Check(run=run or ("make", "test"))


def a_recipe(
    steps: dict[str, Step] | None = None, limits: Limits | None = None, **more: Any
) -> Recipe:
    """A recipe that begins with its first step."""
    steps = steps or {"work": a_step()}
    return Recipe(
        **{
            "id": "sample",
            "label": "Sample",
            "description": "For tests",
            "initial": next(iter(steps)),
            "params": {},
            "limits": limits or Limits(),
            "context": {},
            "steps": steps,
            "digest": "0" * 64,
            **more,
        }
    )


def review_loop(limits: Limits | None = None, **more: Any) -> Recipe:
    """Work, review, fix until the review is content, commit."""
    steps = {
        "work": a_step(on={"complete": to("review"), "blocked": leave("implementation-blocked")}),
        "review": a_step("Review it.", on={"no-issues": to("commit"), "issues-found": to("fix")}),
        "fix": a_step("Fix: {{last.review.detail}}", on={"complete": to("review")}),
        "commit": a_step("Commit.", on={"committed": leave("changes-committed")}),
    }
    return a_recipe(steps, limits, **more)


class Play:
    """A run of ``recipe`` (of a plain prompt without one) that has been started."""

    def __init__(self, recipe: Recipe | None = None, **start: Any) -> None:
        self.mono = 100.0
        self.at = ""
        self.facts: list[f.AnyFact] = []
        self.stored: list[tuple[bytes, str]] = []
        self.walked: list[tuple[Place, type[c.Command], Place]] = []
        self._state: RunState | None = None
        self._folded: RunState | None = None
        self.do(
            c.Start,
            **{
                "run_id": RUN,
                "kind": "prompt" if recipe is None else "recipe",
                "session_id": SESSION,
                "working_directory": DIRECTORY,
                "agent": "claude",
                "recipe": recipe,
                "text": "Say hello." if recipe is None else None,
                **start,
            },
        )

    # What there is to see.

    def stands(self, status: RunStatus) -> bool:
        """Whether the run has this status."""
        return self.state.status == status

    @property
    def state(self) -> RunState:
        assert self._state is not None
        return self._state

    @property
    def turn(self) -> f.TurnIntended:
        """The turn that is running."""
        assert self.state.turn is not None, f"no turn is running: {self.state.status}"
        return self.state.turn.intent

    @property
    def question(self) -> Question:
        """The one question that is open."""
        (question,) = self.state.open_questions
        return question

    @property
    def reason(self) -> str:
        """Why the run has ended."""
        assert self.state.exit is not None, f"the run has not ended: {self.state.status}"
        return self.state.exit.reason

    def all(self, kind: type[Kind]) -> list[Kind]:
        """Every fact of a kind so far."""
        return [fact for fact in self.facts if isinstance(fact, kind)]

    @property
    def history(self) -> list[f.EdgeTaken]:
        """How each visit of a step ended."""
        return self.all(f.EdgeTaken)

    def last(self, kind: type[Kind]) -> Kind:
        return self.all(kind)[-1]

    # What can happen.

    def do(self, make: Callable[..., c.AnyCommand], **fields: Any) -> list[str]:
        """One command; returns the kinds of the facts that follow."""
        self.mono += 1.0
        self.at = at = f"2026-01-02T03:{int(self.mono) // 60 % 60:02}:{int(self.mono) % 60:02}.000Z"
        had_ended = self._state is not None and self._state.exit is not None
        before, command = self._state, make(at=at, mono=self.mono, **fields)
        facts = decide(before, command)
        for fact in facts:
            data = f.encode(fact)
            self.stored.append((data, at))
            self._state = evolve(self._state, fact, at)
            self._folded = evolve(self._folded, f.decode(data), at)
        self.facts += facts
        if before is not None:
            self._follows_the_table(before.place, type(command))
        told = [fact for fact in facts if not isinstance(fact, f.RunRenamed)]
        self._holds(had_ended and bool(told))
        return [f.type_of(fact) for fact in facts]

    def _follows_the_table(self, place: Place, command: type[c.Command]) -> None:
        now = self.state.place
        rule = MACHINE.rules.get((place, command))
        assert now == place or (rule is not None and now in rule.to), "no arrow leads there"
        self.walked.append((place, command, now))

    def _holds(self, spoke_after_the_end: bool) -> None:
        state = self.state
        assert self._folded == state, "the fold of what is stored is not the live state"
        assert not spoke_after_the_end, "facts after run.ended"
        if state.exit is None:
            assert state.turn is None or state.next is None, "two things to do"
            asked, words = bool(state.open_questions), state.waits_for_words
            assert state.turn or state.next or state.in_conversation, "nothing to do"
            assert (state.status == "waiting") == (asked or words)
            idle = not (state.turn or state.next or asked)
            assert not (idle and state.messages), "words wait, and nothing sends them"
        else:
            *_, last = (fact for fact in self.facts if not isinstance(fact, f.RunRenamed))
            assert isinstance(last, f.RunEnded) and not state.open_questions
        uuids = [fact.prompt_uuid for fact in self.all(f.TurnIntended)]
        assert len(set(uuids)) == len(uuids), "two prompts share a uuid"

    def wait(self, seconds: float) -> Play:
        self.mono += seconds
        return self

    def go(self, **seen: Any) -> Play:
        """Proceed until a turn or a check runs, somebody is asked, or the run stands still."""
        while self.state.ready and self.do(c.Proceed, **seen):
            pass
        return self

    def begin(self, **seen: Any) -> Play:
        """Go on to the next turn; its agent's process starts."""
        self.go(**seen)
        self.do(c.ReportTurnStart, turn_id=self.turn.turn_id, pid=4242, proc_start=7, group=4242)
        return self

    def over(
        self,
        kind: EndKind = "done",
        *,
        delivered: tuple[str, ...] = (),
        tree: f.TreeMark | None = None,
        **report: Any,
    ) -> list[str]:
        """The running turn ends."""
        fields = {"prompt_recorded": True, **report}
        return self.do(
            c.ReportTurnEnd,
            turn_id=self.turn.turn_id,
            report=TurnReport(kind=kind, **fields),
            delivered=delivered,
            tree=tree,
        )

    def reply(self, *texts: str, **report: Any) -> list[str]:
        """The agent answers in words; a turn is begun first where none is running."""
        if self.state.turn is None:
            self.begin()
        return self.over(texts=texts, result_text=texts[-1], **report)

    def say(self, outcome: str, prose: str = "Done.", **report: Any) -> list[str]:
        """The agent answers with an outcome."""
        answer = {"outcome": outcome}
        if outcome == "other":
            answer["otherDescription"] = "Something else"
        return self.reply(f"{prose}\n{json.dumps(answer)}", **report)

    def check(self, passed: bool = True, **result: Any) -> list[str]:
        """The check that is due ends."""
        move = self.state.next
        assert move is not None and move.kind == "check"
        result = {"exit_status": 0 if passed else 1, **result}
        return self.do(c.ReportCheckEnd, index=move.index, passed=passed, **result)

    def ran(self, passed: bool = True, **result: Any) -> list[str]:
        """The step's command, which is begun first, ends."""
        self.go()
        result = {"exit_status": 0 if passed else 1, **result}
        return self.do(c.ReportCommandEnd, passed=passed, **result)

    def answer(self, answer: str, **more: Any) -> list[str]:
        """A person answers the open question."""
        return self.do(c.Answer, question_id=self.question.question_id, answer=answer, **more)

    def approve(self, tool: str = "Bash", request: str = "r1", **more: Any) -> list[str]:
        """The agent asks for leave to use a tool."""
        fields = {"input": {"command": "ls"}, **more}
        return self.do(
            c.ReportApproval, turn_id=self.turn.turn_id, request_id=request, tool=tool, **fields
        )

    def delivered(self, question: Question) -> list[str]:
        """The agent has got the answer to a question."""
        effect = f"answer:{question.question_id}"
        return self.do(c.ReportEffectEnd, effect=effect, state="delivered")
