"""What phones show of recipes: kept in step with the events of runs. Pure.

Phones know a recipe by the session in which a person started it. A run may work in other sessions
too (a step with a fresh one), and a restart gives it a new one: the board knows which is shown.
"""

from __future__ import annotations

from typing import Final

import msgspec

from podiumd.core.recipe.exits import Exit
from podiumd.core.recipe.model import RESTART
from podiumd.gateway.phone.protocol.wire import Json
from podiumd.wire.runs import Run

RESTARTED: Final = Exit(
    reason="restart-new-session",
    category="completed",
    class_="completed",
    message="The recipe goes on in a new session",
)
"""The exit that is told in a session whose recipe goes on in a new one."""


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
    """A recipe runs, and this is where it stands now; said again at each step."""

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

    def restore(self, run: Run, started: Json) -> None:
        """Take a recipe that is active: the public run, and the event with which it began."""
        self._start(started)
        shown = self._runs[run.run_id]
        shown.session_id = run.main_session_id
        shown.step, shown.step_count = run.step or "", run.step_count

    @property
    def shown(self) -> list[Shown]:
        """Every recipe that has come to a step, the oldest first."""
        return [each for each in self._runs.values() if each.step]

    def of_session(self, session_id: str) -> Shown | None:
        """The recipe that runs in a session."""
        return next((e for e in self._runs.values() if e.session_id == session_id), None)

    def of_run(self, run_id: str) -> Shown | None:
        """A run's recipe, if it runs."""
        return self._runs.get(run_id)

    def take(self, event: Json) -> list[Change]:
        """Bring the board up to date with an event; returns what phones are to be told."""
        data, run_id = event["data"], event["run_id"]
        if event["type"] == "run.started":
            self._start(event)
            return []
        shown = self._runs.get(run_id)
        if shown is None:
            return []
        match event["type"]:
            case "step.entered":
                return self._enter(shown, data)
            case "outcome.invalid":
                return [Retried(shown, data["step"], data["message"])]
            case "edge.taken" if data.get("to") == RESTART:
                shown.next_session = data["session_id"]
                return []
            case "edge.taken" if data.get("to"):
                return [Moved(shown, data["step"], data["to"])]
            case "run.ended":
                del self._runs[run_id]
                return [Ended(shown, msgspec.convert(data["exit"], Exit))]
        return []

    def _start(self, event: Json) -> None:
        data = event["data"]
        if data["kind"] == "recipe":
            limits = data.get("limits") or {}
            self._runs[event["run_id"]] = Shown(
                run_id=event["run_id"],
                session_id=data["session_id"],
                recipe_id=data["recipe"],
                label=data["label"],
                first_prompt=data["first_prompt"],
                max_total_steps=limits.get("max_total_steps"),
            )

    def _enter(self, shown: Shown, data: Json) -> list[Change]:
        """A step begins; the first after a restart does so in a new session."""
        left: list[Change] = []
        if shown.next_session:
            left.append(Ended(msgspec.structs.replace(shown), RESTARTED))
            shown.session_id, shown.next_session = shown.next_session, ""
        shown.step, shown.step_count = data["step"], data["step_count"]
        return [*left, Started(shown)]
