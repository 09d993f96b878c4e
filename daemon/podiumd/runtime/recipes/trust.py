"""The recipes of projects that may run: those that a person has looked at and agreed to.

Agreement is to a text: the digest of a recipe file and of its prompt files, under the recipe's id,
in a project at a path. It is kept in the daemon's own store, where no clone can bring it along, and
where it is written whole and durably or not at all. A recipe is judged after it was loaded, and the
loaded text is what a run gets: nothing is read again between the two.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote_from_bytes

import msgspec
import trio

from podiumd.runtime.errors import RecipeRefused, Refused
from podiumd.runtime.recipes.catalogue import ALL_OF_PROJECT, Catalogue, Entry, shown
from podiumd.store.facts import Store


async def judged(store: Store, entries: Sequence[Entry]) -> list[Entry]:
    """Say of each recipe of a project whether it is trusted, or has changed since it was."""
    projects = {entry.project for entry in entries if entry.project is not None}
    agreed = {project: await _agreed(store, project) for project in projects}
    return [
        entry if entry.project is None else _judged(entry, agreed[entry.project])
        for entry in entries
    ]


async def agree(
    store: Store, catalogue: Catalogue, where: str, digests: Mapping[str, str] | None
) -> dict[str, str]:
    """Trust exactly these recipes (id to digest) of the project around ``where``, no others.

    Without ``digests``: all that the project has now, broken ones left out. Returns what is
    trusted from now on.

    Raises:
        RecipeRefused: the project's recipes cannot be looked at.
        Refused: a recipe is not, or no longer, what the digest says; nothing was changed.
        StoreError: it could not be stored; nothing was changed.
    """
    listed = await trio.to_thread.run_sync(catalogue.list, where)
    entries = [entry for entry in listed if entry.project is not None]
    for entry in entries:
        if entry.id == ALL_OF_PROJECT:
            raise RecipeRefused(
                f"Recipes of the project cannot be trusted: {entry.description}",
                entry.findings,
            )
    there = {entry.id: entry.recipe.digest for entry in entries if entry.recipe is not None}
    agreed = there if digests is None else dict(digests)
    for id_, digest in sorted(agreed.items()):
        if there.get(id_) != digest:
            raise Refused(
                f"Recipe '{id_}' of the project has changed since you reviewed it; nothing is "
                "trusted: review it again with 'podium recipe trust'."
            )
    for project in {entry.project for entry in entries}:
        assert project is not None
        await store.set_setting(_key(project), msgspec.json.encode(agreed))
    return agreed


def refusal(entry: Entry) -> str:
    """Explain to a person why a project's recipe that is not trusted cannot start."""
    assert entry.project is not None
    why = "has changed since it was trusted" if entry.changed else "is not trusted"
    directory = shlex.quote(shown(entry.project))
    hidden = instead = ""
    if entry.shadows:
        below = entry.shadows[0]
        whose = "the built-in recipe" if below == "builtin" else "your own"
        hidden = f" and shadows {whose}"
        instead = f" '{below}.{entry.id}' is {whose}, which needs no trust."
    return (
        f"Recipe '{entry.id}' comes with the project ({shown(entry.path)}){hidden}; it {why}, "
        f"so it does not run. 'podium recipe trust {directory}' shows what it would do and lets it "
        f"run.{instead}"
    )


def _judged(entry: Entry, agreed: Mapping[str, str]) -> Entry:
    known = agreed.get(entry.id)
    same = entry.recipe is not None and known == entry.recipe.digest
    return replace(entry, trusted=same, changed=known is not None and not same)


async def _agreed(store: Store, project: Path) -> dict[str, str]:
    value = await store.setting(_key(project))
    return {} if value is None else msgspec.json.decode(value, type=dict[str, str])


def _key(project: Path) -> str:
    # Quoted, since a path may hold bytes that are no text.
    return f"recipes.trusted:{quote_from_bytes(os.fsencode(project))}"
