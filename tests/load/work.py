"""Recipes that a daemon under load plays meanwhile, one after the other."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Any

from benchmarks.session_daemon import Client
from tests.e2e.machine import GitRepo, Machine
from tests.patience import HANG_SECONDS

RECIPE = "implement-and-review"
ENDS_WELL = "changes-committed"
LOOK_SECONDS = 0.05


class Work:
    """The demo of the scripted agent, again and again, each time in a new repository."""

    def __init__(self, machine: Machine, client: Client) -> None:
        self.done = 0
        self.wrong: list[str] = []
        self._machine = machine
        self._client = client
        self._repository: GitRepo | None = None
        self._run: dict[str, Any] = {}
        self._began = 0.0

    def go_on(self) -> None:
        """Begin a run where none is under way; look at one that is."""
        if self._repository is None:
            self._begin(self._machine.repository(f"project-{self.done}"))
            return
        run = self._client.call("runs.get", run_id=self._run["run_id"])
        if run["exit"] is not None:
            self._end(run, self._repository)
        elif time.monotonic() > self._began + HANG_SECONDS:
            self.wrong.append(f"a run did not end: {run['run_id']}, {run['status']}")
            self._repository = None

    def finish(self, meanwhile: Callable[[float], None]) -> None:
        """Go on until no run is under way; ``meanwhile`` passes so many seconds."""
        while self._repository is not None:
            self.go_on()
            meanwhile(LOOK_SECONDS)

    def _begin(self, repository: GitRepo) -> None:
        self._repository, self._began = repository, time.monotonic()
        where = str(repository.path)
        self._run = self._client.call(
            "runs.start", recipe=RECIPE, agent="scripted", working_directory=where
        )

    def _end(self, run: dict[str, Any], repository: GitRepo) -> None:
        reason, subjects = run["exit"]["reason"], repository.subjects
        if reason != ENDS_WELL or len(subjects) != 2:
            self.wrong.append(f"run {run['run_id']} ended as {reason} with commits {subjects}")
        shutil.rmtree(repository.path)
        self._repository = None
        self.done += 1
