"""A run without effects: the decider itself, fed with made-up events.

Every fact comes from ``workflow.decide`` and every state from ``fold.evolve``, so limits, gates,
checks, edges and exits are those of a real run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from podiumd.core.decide.workflow import decide
from podiumd.core.recipe.model import Recipe
from podiumd.core.recipe.paths import Hop
from podiumd.core.reply.report import TurnReport
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.fold import evolve
from podiumd.core.run.state import Question, RunState

AT: Final = "1970-01-01T00:00:00.000Z"
SAID: Final = "simulated"
"""Text that stands for the words of an agent or a person."""


class SimulationError(ValueError):
    """The simulation cannot go on. ``step`` is where it stands; the message says why."""

    def __init__(self, step: str, message: str) -> None:
        super().__init__(message)
        self.step = step


class Walk:
    """A run without effects: the state, and the steps passed so far."""

    def __init__(self, recipe: Recipe) -> None:
        self.hops: list[Hop] = []
        self.facts: list[f.AnyFact] = []
        self._state: RunState | None = None
        # No values were given: each variable stands for itself.
        names = (*recipe.params, *(f"ctx.{key}" for key in recipe.context))
        self.do(
            c.Start(
                at=AT,
                run_id="simulation",
                kind="recipe",
                session_id="simulation",
                working_directory="/",
                agent="simulation",
                recipe=recipe,
                params={name: f"{{{{{name}}}}}" for name in names},
            )
        )

    @property
    def state(self) -> RunState:
        """Return the state of the run."""
        assert self._state is not None
        return self._state

    def do(self, command: c.AnyCommand) -> None:
        """Decide one command as in a real run."""
        self.take(decide(self._state, command))

    def take(self, facts: Sequence[f.AnyFact]) -> None:
        """Facts become part of the run."""
        for fact in facts:
            self._state = evolve(self._state, fact, AT)
            if isinstance(fact, f.EdgeTaken):
                self.hops.append(Hop(fact.step, fact.outcome, fact.to))
        self.facts.extend(facts)

    def reply(self, report: TurnReport) -> None:
        """End the running turn."""
        turn = self.state.turn
        assert turn is not None
        self.do(c.ReportTurnEnd(at=AT, turn_id=turn.intent.turn_id, report=report))

    def answer(self, question: Question, answer: str) -> None:
        """Answer a question as a person."""
        self.do(c.Answer(at=AT, question_id=question.question_id, answer=answer))

    def proceed(self) -> None:
        """Do what is next."""
        self.do(c.Proceed(at=AT))

    def end_check(self, *, passed: bool) -> None:
        """End the check that is due."""
        assert self.state.next is not None
        self.do(
            c.ReportCheckEnd(
                at=AT, index=self.state.next.index, passed=passed, exit_status=int(not passed)
            )
        )

    def end_command(self, *, passed: bool) -> None:
        """End the step's command."""
        self.do(c.ReportCommandEnd(at=AT, passed=passed, exit_status=int(not passed)))
