"""The recipes that phones show: kept in step with the events of runs. Pure.

Phones know a recipe by the session in which a person started it. A run may work in other sessions
too (a step with a fresh one), and a restart gives it a new one: the board knows which is shown.
"""

from __future__ import annotations

from typing import Final, NamedTuple, assert_never

import msgspec

from podiumd.core.recipe.exits import Exit
from podiumd.core.recipe.model import RESTART
from podiumd.core.run import facts as f
from podiumd.gateway.phone.protocol import outgoing_recipes as recipes
from podiumd.wire.event import begun
from podiumd.wire.runs import Run

Reported = (
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

NONE_RAN: Final = Exit(
    reason="user-requested",
    category="completed",
    class_="completed",
    message="No recipe runs in this session",
)
"""Exit reported where a phone believes in a recipe that is not there."""

_RESTARTED: Final = Exit(
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


class Report(NamedTuple):
    """Messages about the recipe of a session."""

    session_id: str
    payloads: list[bytes]


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

    def take(self, run_id: str, fact: Reported) -> list[Report]:
        """Bring the board up to date with a fact; return what phones are sent of it."""
        if isinstance(fact, f.RunStarted):
            if fact.kind == "recipe":
                self._runs[run_id] = _shown(fact)
            return []
        shown = self._runs.get(run_id)
        if shown is None:
            return []
        session_id, payloads = shown.session_id, list[bytes]()
        match fact:
            case f.StepEntered():
                return self._enter(shown, fact)
            case f.OutcomeInvalid():
                retry = recipes.orchestration_retry(session_id, fact.step, fact.message)
                payloads = [retry, *recipes.recipe_error(session_id, recipes.INVALID_JSON)]
            case f.EdgeTaken(to=to):
                if to == RESTART:
                    shown.next_session = fact.session_id or ""
                elif to:
                    payloads = [recipes.recipe_step_transition(session_id, fact.step, to)]
            case f.RunPaused():
                payloads = [recipes.recipe_paused(session_id)]
            case f.RunResumed():
                payloads = [recipes.recipe_resumed(session_id)]
            case f.RunEnded():
                del self._runs[run_id]
                payloads = ended(session_id, fact.exit)
            case f.QuestionOpened() | f.QuestionClosed() | f.RunParked() | f.TurnEnded():
                pass
            case _:
                assert_never(fact)
        return [Report(session_id, payloads)] if payloads else []

    def _enter(self, shown: Shown, entered: f.StepEntered) -> list[Report]:
        """Begin a step; the first after a restart begins in a new session."""
        left: list[Report] = []
        if shown.next_session:
            left = [Report(shown.session_id, ended(shown.session_id, _RESTARTED))]
            shown.session_id, shown.next_session = shown.next_session, ""
        shown.step, shown.step_count = entered.step, entered.step_count
        session_id = shown.session_id
        step = recipes.recipe_step_started(session_id, shown.step, shown.step_count)
        return [*left, Report(session_id, [started(shown), step])]


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


def started(shown: Shown, ios_session_id: str | None = None, status: str = "running") -> bytes:
    """Build ``recipe_started`` of a recipe as it stands now; ``status`` stands in before its first
    step."""
    return recipes.recipe_started(
        shown.session_id,
        shown.recipe_id,
        shown.step or status,
        step_count=shown.step_count,
        max_total_steps=shown.max_total_steps,
        label=shown.label,
        first_prompt=shown.first_prompt,
        ios_session_id=ios_session_id,
    )


def ended(session_id: str, exit: Exit) -> list[bytes]:
    """Build the messages of a recipe's end; apps of today show only the ``error``."""
    frames = [recipes.recipe_exited(session_id, exit)]
    if exit.reason == "orchestration-error":
        frames = [*recipes.recipe_error(session_id, recipes.RETRIES_EXCEEDED), *frames]
    notice = recipes.exit_notice(session_id, exit)
    return frames if notice is None else [*frames, notice]
