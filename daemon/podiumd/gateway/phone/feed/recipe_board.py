"""The recipes that phones show: kept in step with the events of runs. Pure.

Phones know a recipe by the session in which a person started it. A run may work in other sessions
too (a step with a fresh one), and a restart gives it a new one: the board knows which is shown.
"""

from __future__ import annotations

from typing import Final, assert_never

import msgspec

from podiumd.core.recipe.exits import Exit
from podiumd.core.recipe.model import RESTART
from podiumd.core.run import facts as f
from podiumd.wire.event import begun
from podiumd.wire.runs import Run

Told = (
    f.RunStarted
    | f.StepEntered
    | f.EdgeTaken
    | f.OutcomeInvalid
    | f.QuestionOpened
    | f.QuestionClosed
    | f.RunPaused
    | f.RunResumed
    | f.RunParked
    | f.TurnEnded
    | f.RunEnded
)
"""Facts that are reported to phones."""

RESTARTED: Final = Exit(
    reason="restart-new-session",
    category="completed",
    class_="completed",
    message="The recipe goes on in a new session",
)
"""Exit reported in a session whose recipe goes on in a new one."""


class Shown(msgspec.Struct):
    """A recipe that runs, as phones show it.

    ``session_id`` is where a person looks at it, ``next_session`` the one of the restart to come.
    """

    run_id: str
    session_id: str
    recipe_id: str
    label: str
    first_prompt: str
    step: str = ""
    step_count: int = 0
    max_total_steps: int | None = None
    next_session: str = ""


class Started(msgspec.Struct, frozen=True):
    """A recipe runs, and this is where it stands now; sent again at each step."""

    shown: Shown


class Moved(msgspec.Struct, frozen=True):
    """A step is over and another comes."""

    shown: Shown
    before: str
    after: str


class Retried(msgspec.Struct, frozen=True):
    """The agent's answer held no usable outcome; it is asked again."""

    shown: Shown
    step: str
    error: str


class Ended(msgspec.Struct, frozen=True):
    """A recipe is over in its session. ``exit`` is that of the run."""

    shown: Shown
    exit: Exit


Change = Started | Moved | Retried | Ended


class RecipeBoard:
    """The recipes that run."""

    def __init__(self) -> None:
        self._runs: dict[str, Shown] = {}

    def restore(self, run: Run, started: f.RunStarted) -> None:
        """Take a run that is active, if it is a recipe's."""
        if started.kind == "recipe":
            self._runs[run.run_id] = standing(run, started)

    @property
    def shown(self) -> list[Shown]:
        """List each recipe that has come to a step, the oldest first."""
        return [each for each in self._runs.values() if each.step]

    def of_session(self, session_id: str) -> Shown | None:
        """Return the recipe that runs in a session."""
        return next((e for e in self._runs.values() if e.session_id == session_id), None)

    def of_run(self, run_id: str) -> Shown | None:
        """Return a run's recipe, if it runs."""
        return self._runs.get(run_id)

    def take(self, run_id: str, fact: Told) -> list[Change]:
        """Bring the board up to date with a fact; return the changes to report to phones."""
        if isinstance(fact, f.RunStarted):
            if fact.kind == "recipe":
                self._runs[run_id] = _shown(fact)
            return []
        shown = self._runs.get(run_id)
        if shown is None:
            return []
        match fact:
            case f.StepEntered():
                return self._enter(shown, fact)
            case f.OutcomeInvalid():
                return [Retried(shown, fact.step, fact.message)]
            case f.EdgeTaken(to=to):
                if to == RESTART:
                    shown.next_session = fact.session_id or ""
                return [Moved(shown, fact.step, to)] if to and to != RESTART else []
            case f.RunEnded():
                del self._runs[run_id]
                return [Ended(shown, fact.exit)]
            case (
                f.QuestionOpened()
                | f.QuestionClosed()
                | f.RunPaused()
                | f.RunResumed()
                | f.RunParked()
                | f.TurnEnded()
            ):
                return []
            case _:
                assert_never(fact)

    def _enter(self, shown: Shown, entered: f.StepEntered) -> list[Change]:
        """Begin a step; the first after a restart begins in a new session."""
        left: list[Change] = []
        if shown.next_session:
            left.append(Ended(msgspec.structs.replace(shown), RESTARTED))
            shown.session_id, shown.next_session = shown.next_session, ""
        shown.step, shown.step_count = entered.step, entered.step_count
        return [*left, Started(shown)]


def standing(run: Run, started: f.RunStarted) -> Shown:
    """Build a recipe as its run stands now."""
    shown = _shown(started)
    shown.session_id = run.main_session_id
    shown.step, shown.step_count = run.step or "", run.step_count
    return shown


def _shown(started: f.RunStarted) -> Shown:
    """Build a recipe that has just begun."""
    told, limits = begun(started), started.limits
    return Shown(
        run_id=started.run_id,
        session_id=started.session_id,
        recipe_id=told.recipe or "",
        label=told.label or "",
        first_prompt=told.first_prompt or "",
        max_total_steps=None if limits is None else limits.max_total_steps,
    )
