"""What a request names: a directory, a recipe as that directory sees it, with what it calls."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import trio

from podiumd.core.expand import CallError, expand
from podiumd.core.recipe import Recipe, Source
from podiumd.runtime.catalogue import Catalogue, Entry, RecipeNotFound
from podiumd.runtime.errors import InvalidParameter, NotFound, RecipeRefused, Refused
from podiumd.runtime.trust import judged, refusal
from podiumd.store.facts import Store


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
        findings = [msgspec.to_builtins(finding) for finding in entry.findings]
        first = entry.findings[0].message if entry.findings else "it cannot be read"
        words = f"Recipe '{recipe_id}' has faults: {first}"
        if not entry.shadows:
            raise RecipeRefused(words, findings=findings)
        # It may be somebody else's fault: what came with a clone shadows what the person means.
        fix = f"'{entry.shadows[0]}.{entry.id}' is the recipe that it shadows."
        raise RecipeRefused(words, findings=findings, fix=fix)
    return entry


async def trusted_entry(
    store: Store, catalogue: Catalogue, recipe_id: str, where: str | None
) -> Entry:
    """Find a recipe that may run: its text was loaded here, and judged as it was loaded.

    Raises:
        NotFound: no recipe has this id.
        RecipeRefused: it has faults.
        Refused: it comes with a project, and nobody has trusted it as it is.
    """
    [entry] = await judged(store, [await recipe_entry(catalogue, recipe_id, where)])
    if not entry.trusted:
        raise Refused(refusal(entry))
    return entry


def directory(path: str) -> str:
    """A working directory as the system knows it.

    Raises:
        InvalidParameter: not absolute, or no directory.
    """
    if not Path(path).is_absolute():
        raise InvalidParameter("working_directory", f"'{path}' is not an absolute path.")
    if not Path(path).is_dir():
        raise InvalidParameter("working_directory", f"'{path}' is not a directory.")
    return os.path.realpath(path)


async def expanded(store: Store, catalogue: Catalogue, entry: Entry, where: str | None) -> Recipe:
    """The recipe with what it calls in it, as a run of it is stored.

    What a person's own or a built-in recipe calls is looked for where no project can put another
    in its place.

    Raises:
        RecipeRefused: it calls a recipe that is missing or faulty, or with wrong parameters.
        Refused: it calls a project's recipe that nobody has trusted.
    """
    recipe = entry.recipe
    assert recipe is not None
    called: dict[str, Entry] = {}

    def find(recipe_id: str) -> Recipe:
        # Each is read once: all calls of a recipe get the same text, the one that is judged.
        if recipe_id not in called:
            called[recipe_id] = called_entry(catalogue, entry.source, recipe_id, where)
        found = called[recipe_id].recipe
        if found is None:
            raise CallError("", f"recipe '{recipe_id}', which it calls, has faults")
        return found

    try:
        whole = await trio.to_thread.run_sync(expand, recipe, find)
    except (CallError, RecipeNotFound) as error:
        raise RecipeRefused(f"Recipe '{recipe.id}' cannot run: {error}", findings=[]) from error
    for found in await judged(store, [*called.values()]):
        if not found.trusted:
            raise Refused(refusal(found))
    return whole


def called_entry(catalogue: Catalogue, caller: Source, recipe_id: str, where: str | None) -> Entry:
    """What a recipe from such a source means by an id. Raises ``RecipeNotFound``."""
    if caller == "builtin":
        return catalogue.get(f"builtin.{recipe_id}", None)
    return catalogue.get(recipe_id, where if caller == "project" else None)
