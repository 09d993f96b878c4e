"""The names in a request: a directory, a recipe as that directory sees it, with what it calls."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import trio

from podiumd.agents.scripted.script import ScriptError, script_turns
from podiumd.core.analysis.check import check_recipe
from podiumd.core.analysis.check_calls import check_calls, finder
from podiumd.core.findings import Finding, TooManyFindings, nearest
from podiumd.core.recipe.expand import CallError, expand
from podiumd.core.recipe.model import Recipe, Source
from podiumd.core.run.fact import RunScript
from podiumd.runtime.context import Agent
from podiumd.runtime.errors import InvalidParameter, NotFound, RecipeRefused, Refused
from podiumd.runtime.recipes.catalogue import Catalogue, Entry, RecipeNotFound
from podiumd.runtime.recipes.trust import judged, refusal
from podiumd.store.facts import Store
from podiumd.tools.files.plain_file import is_directory


async def recipe_entry(catalogue: Catalogue, recipe_id: str, where: str | None) -> Entry:
    """Find a recipe that can be used.

    Raises:
        NotFound: no recipe has this id.
        RecipeRefused: it has faults.
    """
    try:
        entry = await trio.to_thread.run_sync(catalogue.get, recipe_id, where)
    except RecipeNotFound as error:
        raise NotFound("recipe", recipe_id, str(error)) from error
    if entry.recipe is None:
        findings = entry.findings
        first = entry.findings[0].message if entry.findings else "it cannot be read"
        words = f"Recipe '{recipe_id}' has faults: {first}"
        if not entry.shadows:
            raise RecipeRefused(words, findings)
        # It may be another's fault: a recipe that came with a clone shadows the one that is meant.
        fix = f"'{entry.shadows[0]}.{entry.id}' is the recipe that it shadows."
        raise RecipeRefused(words, findings, fix)
    return entry


def no_such_step(step: str, steps: Iterable[str]) -> NotFound:
    """Build the refusal that names the step which is meant, or those that there are."""
    return NotFound("step", step, f"There is no step '{step}'; {nearest(step, steps)}.")


async def trusted_entry(
    store: Store, catalogue: Catalogue, recipe_id: str, where: str | None
) -> Entry:
    """Find a recipe that may run: its text was loaded here, and judged as it was loaded.

    Raises:
        NotFound: no recipe has this id.
        RecipeRefused: it has faults.
        Refused: it comes with a project, and no person has trusted it as it is.
    """
    [entry] = await judged(store, [await recipe_entry(catalogue, recipe_id, where)])
    if not entry.trusted:
        raise Refused(refusal(entry))
    return entry


def directory(path: str) -> str:
    """Return a working directory as the system knows it.

    Raises:
        InvalidParameter: not absolute, or no directory.
    """
    if not Path(path).is_absolute():
        raise InvalidParameter("working_directory", f"'{path}' is not an absolute path.")
    if not is_directory(path):
        raise InvalidParameter("working_directory", f"'{path}' is not a directory.")
    return os.path.realpath(path)


def workplace(path: str) -> str:
    """Return a directory that a run can work in: ``directory``, of a name that facts can hold.

    Raises:
        InvalidParameter: not absolute, no directory, or its name is no text.
    """
    where = directory(path)
    if where.encode("utf-8", "replace").decode() != where:
        words = f"'{path}' is a directory whose name is not UTF-8 text; rename it."
        raise InvalidParameter("working_directory", words)
    return where


class Called:
    """The recipes that one recipe calls, as a run of it would find them.

    Each is looked up and read once: all calls of a recipe get the same text, the one that is
    judged. What a person's own or a built-in recipe calls is looked for where no project can put
    another in its place. Blocks on files.
    """

    def __init__(self, catalogue: Catalogue, caller: Entry, where: str | None) -> None:
        self._catalogue = catalogue
        self._caller = caller
        self._where = where
        self._found: dict[str, Entry | None] = {}

    def load(self, recipe_id: str) -> Recipe | None:
        """Load one of them; ``None`` where there is none that can be used."""
        if recipe_id not in self._found:
            try:
                entry = called_entry(self._catalogue, self._caller.source, recipe_id, self._where)
            except RecipeNotFound:
                entry = None
            self._found[recipe_id] = entry
        found = self._found[recipe_id]
        return None if found is None else found.recipe

    def entries(self) -> list[Entry]:
        """List all that were found."""
        return [entry for entry in self._found.values() if entry is not None]


async def expanded(catalogue: Catalogue, entry: Entry, where: str | None) -> Recipe:
    """Build the recipe with what it calls in it, as a run of it would be.

    It is not checked whether it may run: its graph may have faults, and no person may have trusted
    it.

    Raises:
        RecipeRefused: it calls a recipe that is missing or faulty, or with wrong parameters.
    """

    def whole() -> Recipe:
        assert entry.recipe is not None
        called, notes = Called(catalogue, entry, where), entry.notes()
        try:
            return expand(entry.recipe, finder(called.load))
        except CallError as error:
            with suppress(TooManyFindings):
                check_calls(entry.recipe, notes, called.load)
            raise refused(entry, notes.sorted()) from error

    return await trio.to_thread.run_sync(whole)


async def runnable(store: Store, catalogue: Catalogue, entry: Entry, where: str | None) -> Recipe:
    """Build the recipe with what it calls in it, as a run of it is stored. It comes to an end.

    Raises:
        RecipeRefused: it has errors, also such as only its whole graph shows.
        Refused: it calls a project's recipe that no person has trusted.
    """
    assert entry.recipe is not None
    called = Called(catalogue, entry, where)
    check = partial(check_recipe, entry.recipe, entry.notes(), load_called=called.load)
    result = await trio.to_thread.run_sync(check)
    if not result.ok:
        raise refused(entry, result.findings)
    for found in await judged(store, called.entries()):
        if not found.trusted:
            raise Refused(refusal(found))
    assert result.whole is not None
    return result.whole


def refused(entry: Entry, findings: Iterable[Finding]) -> RecipeRefused:
    """Build the refusal of a recipe that loads and cannot run; warnings are no reason for it."""
    errors = [finding for finding in findings if finding.level == "error"]
    return RecipeRefused(
        f"Recipe '{entry.id}' cannot run: {errors[0].message}",
        errors,
    )


def called_entry(catalogue: Catalogue, caller: Source, recipe_id: str, where: str | None) -> Entry:
    """Find the recipe that one from such a source means by an id. Raises ``RecipeNotFound``."""
    if caller == "builtin":
        return catalogue.get(f"builtin.{recipe_id}", None)
    return catalogue.get(recipe_id, where if caller == "project" else None)


async def brought_script(
    file: str | None, agent: str | None, agents: Mapping[str, Agent]
) -> RunScript | None:
    """Read the turns that a run brings for an agent that plays them; the file may change.

    Raises:
        InvalidParameter: it cannot be played, or another agent does the work.
    """
    if file is None:
        return None
    players = [name for name, one in agents.items() if one.plays_scripts]
    if agent not in players:
        wrong = InvalidParameter("script", "a script is played by the scripted agent alone.")
        wrong.data.fix = f"Say so: --agent {' or --agent '.join(players)}."
        raise wrong
    try:
        turns = await trio.to_thread.run_sync(script_turns, Path(file))
    except ScriptError as error:
        raise InvalidParameter("script", str(error)) from error
    return RunScript(file, turns)
