"""The analysis of a recipe before it runs: faults, worst case, simulation, paths, picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import Literal

import trio

from podiumd.core.analysis.check import CheckResult, check_text
from podiumd.core.analysis.check_agents import KnownAgents
from podiumd.core.analysis.rehearse import PhasePlay, StepPlay, play_step
from podiumd.core.analysis.render import graph
from podiumd.core.analysis.simulate import ImpossibleOutcome, Trace, simulate
from podiumd.core.analysis.walk import SimulationError
from podiumd.core.recipe.model import Recipe, Source
from podiumd.core.recipe.paths import Paths, simple_paths
from podiumd.runtime.agent_capabilities import known_agents
from podiumd.runtime.context import Context
from podiumd.runtime.errors import InvalidParameter, NotFound
from podiumd.runtime.recipes.catalogue import Catalogue, RecipeNotFound, shown
from podiumd.runtime.recipes.files import Overfull, ProjectFiles, own_prompts, read_own, reason
from podiumd.runtime.recipes.resolve import (
    called_entry,
    directory,
    expanded,
    no_such_step,
    recipe_entry,
)
from podiumd.wire.recipes import CheckReport, Drawing

TEXT = "recipe.toml"
"""Name in findings of a recipe that comes as text."""


class RecipeTools:
    """Looks at recipes with the agents of this daemon and the recipes of a directory."""

    def __init__(self, context: Context, catalogue: Catalogue, default_agent: str) -> None:
        self._context = context
        self._catalogue = catalogue
        self._default_agent = default_agent

    async def check(
        self,
        path: str | None,
        text: str | None,
        recipe_id: str | None,
        working_directory: str | None,
    ) -> CheckReport:
        """Check a recipe by its file, its text or its id: ``{ok, findings, worst_case}``.

        A project's recipe is read as it is for a run: no link is followed.

        Raises:
            InvalidParameter: not exactly one of the three, or a file that cannot be read.
            NotFound: no recipe has this id.
        """
        if sum(given is not None for given in (path, text, recipe_id)) != 1:
            raise InvalidParameter("path", "Give exactly one of 'path', 'text' and 'id'.")
        where = None if working_directory is None else directory(working_directory)
        agents = await known_agents(self._context, self._default_agent)
        if text is not None:
            source: Source = "user" if where is None else "project"
            result = await trio.to_thread.run_sync(
                self._check, text, TEXT, _no_prompt, source, where, agents
            )
        elif path is not None:
            owner = self._catalogue.owner(Path(path))
            result = await trio.to_thread.run_sync(self._check_file, Path(path), owner, agents)
        else:
            assert recipe_id is not None
            result = await trio.to_thread.run_sync(self._check_known, recipe_id, where, agents)
        return CheckReport(
            ok=result.ok, findings=tuple(result.findings), worst_case=result.worst_case
        )

    def _check_known(self, recipe_id: str, where: str | None, agents: KnownAgents) -> CheckResult:
        try:
            entry = self._catalogue.get(recipe_id, where)
        except RecipeNotFound as error:
            raise NotFound("recipe", recipe_id, str(error)) from error
        if entry.recipe is None:
            return CheckResult(ok=False, findings=entry.findings)
        return self._check_file(entry.path, entry.project, agents, entry.source)

    def _check_file(
        self,
        path: Path,
        project: Path | None,
        agents: KnownAgents,
        source: Source | None = None,
    ) -> CheckResult:
        source = source or ("user" if project is None else "project")
        where = None if project is None else str(project)
        with ExitStack() as stack:
            try:
                if project is None:
                    text, read_prompt = read_own(path), own_prompts(path.resolve().parent)
                else:
                    files = stack.enter_context(ProjectFiles(project))
                    text, read_prompt = files.recipe(path.name), files.prompt
            except (OSError, ValueError, RuntimeError, Overfull) as error:
                message = f"'{shown(path)}' cannot be read: {reason(error)}."
                raise InvalidParameter("path", message) from error
            return self._check(text, shown(path), read_prompt, source, where, agents)

    def _check(
        self,
        text: str,
        file: str,
        read_prompt: Callable[[str], str],
        source: Source,
        where: str | None,
        agents: KnownAgents,
    ) -> CheckResult:
        @cache  # calls of calls ask for the same recipes again and again
        def called(recipe_id: str) -> Recipe | None:
            try:
                return called_entry(self._catalogue, source, recipe_id, where).recipe
            except RecipeNotFound:
                return None

        return check_text(
            text,
            file=file,
            read_prompt=read_prompt,
            agents=agents,
            load_called=called,
        )

    async def simulate(
        self, recipe_id: str, outcomes: Sequence[str], working_directory: str | None
    ) -> Trace:
        """Walk the machine without an agent, through what it calls as well.

        Outcomes that do not fit the steps of what is called, and do fit where each call is one
        step that ends with the exit reason of its recipe, are taken so.

        Raises ``InvalidParameter``, ``NotFound``, ``RecipeRefused``.
        """
        entry = await recipe_entry(self._catalogue, recipe_id, working_directory)
        whole = await expanded(self._catalogue, entry, working_directory)
        assert entry.recipe is not None
        try:
            return await trio.to_thread.run_sync(_walked, whole, entry.recipe, outcomes)
        except SimulationError as error:
            raise InvalidParameter("outcomes", f"Invalid params: {error}") from error

    async def paths(self, recipe_id: str, working_directory: str | None) -> Paths:
        """List every simple path to each exit, through what it calls as well."""
        recipe = await self._whole(recipe_id, working_directory)
        return await trio.to_thread.run_sync(simple_paths, recipe)

    async def graph(
        self, recipe_id: str, format: Literal["mermaid", "dot"], working_directory: str | None
    ) -> Drawing:
        """Render the machine as a text that a program draws."""
        entry = await recipe_entry(self._catalogue, recipe_id, working_directory)
        assert entry.recipe is not None
        return Drawing(text=graph(entry.recipe, format))

    async def rehearse(
        self, recipe_id: str, step: str, replies: Sequence[str], working_directory: str | None
    ) -> StepPlay | PhasePlay:
        """Play one step with made-up replies. Raises ``InvalidParameter``, ``NotFound``."""
        recipe = await self._whole(recipe_id, working_directory)
        if step not in recipe.steps:
            inside = [name for name in recipe.steps if name.startswith(f"{step}.")]
            if not inside:
                raise no_such_step(step, recipe.steps)
            message = (
                f"step '{step}' calls a recipe, so nobody replies in it; its steps are: "
                f"{', '.join(inside)}."
            )
            raise InvalidParameter("step", f"Invalid params: {message}")
        try:
            return await trio.to_thread.run_sync(play_step, recipe, step, replies)
        except SimulationError as error:
            raise InvalidParameter("step", f"Invalid params: {error}") from error

    async def _whole(self, recipe_id: str, working_directory: str | None) -> Recipe:
        """Load a recipe with the steps of what it calls, as a run of it would be."""
        entry = await recipe_entry(self._catalogue, recipe_id, working_directory)
        return await expanded(self._catalogue, entry, working_directory)


def _walked(whole: Recipe, recipe: Recipe, outcomes: Sequence[str]) -> Trace:
    """Simulate the walk through ``whole``, else through ``recipe``, whose calls are steps."""
    try:
        return simulate(whole, outcomes)
    except ImpossibleOutcome:
        with suppress(SimulationError):
            return simulate(recipe, outcomes)
        raise


def _no_prompt(name: str) -> str:
    raise ValueError("a recipe that comes as text has no files beside it")
