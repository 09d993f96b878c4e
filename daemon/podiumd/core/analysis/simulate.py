"""A recipe walked through without an agent: every step ends as a list of outcomes says."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from podiumd.core.analysis.walk import AT, SAID, SimulationError, Walk
from podiumd.core.decide import edges
from podiumd.core.decide.decision import Decision
from podiumd.core.recipe.exits import Exit
from podiumd.core.recipe.model import CHECKS_FAILED, COMPLETE, DECLINED, OTHER, Recipe, Step
from podiumd.core.recipe.paths import Hop, checked_outcomes, outcomes_of
from podiumd.core.reply.report import TurnReport
from podiumd.core.run import commands as c
from podiumd.core.run.facts import TreeLook, TreeSeen
from podiumd.core.run.state import Claim, Question
from podiumd.core.structs import replace

_CLAIMED: Final = ("commit", "clean")

MOST_UNASKED: Final = 1000
"""Steps that may pass between two outcomes of the list: gates alone can go round for very long."""


class Trace(msgspec.Struct, frozen=True, omit_defaults=True):
    """The effect of a list of outcomes: the steps passed, and the exit where one was reached.

    ``unused`` are the outcomes that were left over at the exit.
    """

    trace: tuple[Hop, ...]
    exit: Exit | None
    unused: tuple[str, ...] = ()


class ImpossibleOutcome(SimulationError):
    """A step cannot end with the outcome that is listed for it; ``allowed`` are its own."""

    def __init__(self, step: str, outcome: str, allowed: Sequence[str], number: int) -> None:
        super().__init__(
            step,
            f"outcome {number}: step '{step}' cannot end with '{outcome[:80]}'; expected one of: "
            f"{', '.join(allowed)}",
        )
        self.outcome = outcome
        self.allowed = tuple(allowed)


class _RunOut(Exception):
    """The list has no outcome left."""


class _Listed:
    """The outcomes of the list, taken one by one."""

    def __init__(self, outcomes: Sequence[str]) -> None:
        self._outcomes = tuple(outcomes)
        self._taken = 0

    @property
    def left(self) -> tuple[str, ...]:
        """Return the outcomes that nothing has taken yet."""
        return self._outcomes[self._taken :]

    def take(self, step: str, allowed: Sequence[str]) -> str:
        """Take the next outcome, which ``step`` must allow.

        Raises:
            ImpossibleOutcome: the step cannot end so.
            _RunOut: there is no other.
        """
        if not self.left:
            raise _RunOut
        if self.left[0] not in allowed:
            raise ImpossibleOutcome(step, self.left[0], allowed, self._taken + 1)
        self._taken += 1
        return self._outcomes[self._taken - 1]

    def take_if(self, words: Sequence[str]) -> str | None:
        """Take the next outcome if it is one of ``words``."""
        if not self.left or self.left[0] not in words:
            return None
        self._taken += 1
        return self._outcomes[self._taken - 1]


class _Simulation:
    """A walk that takes its outcomes from a list."""

    def __init__(self, recipe: Recipe, outcomes: Sequence[str]) -> None:
        self.walk = Walk(recipe)
        self.listed = _Listed(outcomes)
        self._unasked = 0
        self._left = len(self.listed.left)

    def go_on(self) -> None:
        """Do one thing more.

        Raises:
            _RunOut: the list has no outcome for it.
        """
        state = self.walk.state
        # While a turn runs, nothing is due but its reply; a conversation may wait for words.
        due = state.next.kind if state.next is not None else "reply"
        if state.open_questions:
            self._answer(state.open_questions[0])
        elif due != "enter" and state.current is not None and state.current.kind == "talk":
            self._leave()
        elif due == "reply":
            self._end_turn()
        elif due == "check":
            self.walk.end_check(passed=True)
        elif due == "look":
            self.walk.do(c.Proceed(at=AT, look=TreeLook(head=SAID, commits=1)))
        elif due == "run":
            self.walk.end_command(passed=self._take() == "passed")
        elif due != "enter" and self._step.kind == "call":
            self._leave()
        else:
            self._proceed()

    @property
    def _step(self) -> Step:
        step = self.walk.state.current
        assert step is not None, "only entering the first step is done outside of one"
        return step

    def _take(self) -> str:
        allowed = [outcome for outcome in outcomes_of(self._step) if outcome != DECLINED]
        return self.listed.take(self.walk.state.step or "", allowed)

    def _proceed(self) -> None:
        if len(self.listed.left) != self._left:
            self._left, self._unasked = len(self.listed.left), 0
        self._unasked += 1
        if self._unasked > MOST_UNASKED:
            raise SimulationError(
                self.walk.state.step or "",
                f"the recipe goes round in gates: {MOST_UNASKED} steps need no outcome, the last "
                f"is '{self.walk.state.step}'",
            )
        self.walk.proceed()
        if self.walk.hops and self.walk.hops[-1].outcome == COMPLETE:
            self.listed.take_if((COMPLETE,))

    def _answer(self, question: Question) -> None:
        step = self._step
        if question.kind == "limit":
            answer = self.listed.take_if(("more", "stop")) or "stop"
        elif step.kind == "gate":
            answer = self._choose(step)
        else:
            own = step.allowed_outcomes
            words = [DECLINED, *(word for word in ("yes", "no") if word not in own)]
            answer = "no" if self.listed.take_if(words) in (DECLINED, "no") else "yes"
        self.walk.answer(question, answer)

    def _choose(self, step: Step) -> str:
        """Choose the answer to the question of a gate step."""
        if "no" in step.choices and self.listed.take_if((DECLINED,)) is not None:
            return "no"
        if "yes" in step.choices:
            return self.listed.take_if(step.choices) or "yes"
        return self._take()

    def _end_turn(self) -> None:
        outcome, checked = self._take(), checked_outcomes(self._step)
        fails = outcome == CHECKS_FAILED and bool(checked)
        untrue = outcome == CHECKS_FAILED and not checked
        said = checked[0] if fails else self._claiming() if untrue else outcome
        about = {"otherDescription": SAID} if said == OTHER else {"detail": SAID}
        structured = {"outcome": said, **about}
        self.walk.reply(TurnReport(kind="done", structured=structured, prompt_recorded=True))
        if fails:
            self.walk.end_check(passed=False)
        if untrue:
            self.walk.do(c.Proceed(at=AT, look=TreeLook(repository=False)))

    def _claiming(self) -> str:
        """Return the step's first outcome with a claim, after a look at the tree is recorded."""
        self.walk.take([TreeSeen(why="start", look=TreeLook())])
        return next(name for name, edge in self._step.on.items() if edge.claims in _CLAIMED)

    def _leave(self) -> None:
        """End a call or a conversation, neither of which is played."""
        d = Decision(self.walk.state, c.Proceed(at=AT))
        final = self._step.final
        outcome = self.listed.take_if((COMPLETE,)) or COMPLETE if final else self._take()
        edges.take(d, edges.edge_for(self._step, outcome), Claim(outcome=outcome, source="command"))
        self.walk.take(d.facts)


def simulate(recipe: Recipe, outcomes: Sequence[str]) -> Trace:
    """Walk through a recipe.

    Turns, conversations, commands and calls end with the next of ``outcomes``; the last phase of a
    conversation needs none. Gates and asks are answered with
    "yes", unless what is next in the list is an answer to them (``declined``; ``yes`` and ``no``
    where the step has no such outcome itself; the choices of an ask). A limit that asks ends the
    run, unless ``more`` is next. Checks pass, unless ``checks-failed`` is next. With too few
    outcomes the exit is ``None``.

    Raises:
        ImpossibleOutcome: a step cannot end with what is listed for it.
        SimulationError: the recipe goes round without end and needs no outcome for it.
    """
    simulation = _Simulation(recipe, outcomes)
    walk = simulation.walk
    with suppress(_RunOut):
        while walk.state.exit is None:
            simulation.go_on()
    end = walk.state.exit
    if end is None:
        return Trace(tuple(walk.hops), None)
    # The simulation's own words are no detail of anything.
    return Trace(tuple(walk.hops), replace(end, detail=None), simulation.listed.left)
