"""Queries about recipes while none of them runs: which there are, and their content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import trio
from msgspec.structs import asdict

from podiumd.core.analysis.rehearse import Accepted, Rejected
from podiumd.core.analysis.worst_case import worst_case
from podiumd.core.recipe.model import OTHER
from podiumd.core.recipe.paths import ways_out
from podiumd.core.reply import outcome
from podiumd.runtime.context import Context
from podiumd.runtime.errors import RecipeRefused
from podiumd.runtime.recipes.catalogue import Catalogue, Entry, shown
from podiumd.runtime.recipes.resolve import directory, expanded, no_such_step, recipe_entry
from podiumd.runtime.recipes.trust import agree, judged
from podiumd.wire.recipes import KnownRecipe, RecipeRow, TrustedRecipe

PREVIEW_CHARACTERS = 120


class Recipes:
    """The recipes as each working directory sees them."""

    def __init__(self, context: Context, catalogue: Catalogue, enabled: Callable[[], bool]) -> None:
        """Keep ``enabled``, which returns whether recipes are switched on: else none is listed."""
        self._context = context
        self._catalogue = catalogue
        self._enabled = enabled

    async def get(self, recipe_id: str, working_directory: str | None) -> KnownRecipe:
        entry = await recipe_entry(self._catalogue, recipe_id, working_directory)
        [entry] = await judged(self._context.store, [entry])
        assert entry.recipe is not None
        ways = {name: tuple(ways_out(step)) for name, step in entry.recipe.steps.items()}
        worst = None
        with suppress(RecipeRefused):  # it calls one that cannot be called
            worst = worst_case(await expanded(self._catalogue, entry, working_directory))
        return KnownRecipe(**asdict(entry.recipe), **_origin(entry), ways=ways, worst_case=worst)

    async def outcome(
        self, recipe_id: str, step: str, text: str, working_directory: str | None
    ) -> Accepted | Rejected:
        entry = await recipe_entry(self._catalogue, recipe_id, working_directory)
        assert entry.recipe is not None
        found = entry.recipe.steps.get(step)
        if found is None:  # it may be one of a recipe that is called
            whole = await expanded(self._catalogue, entry, working_directory)
            found = whole.steps.get(step)
            if found is None:
                raise no_such_step(step, whole.steps)
        result = outcome.from_text(text, [*found.outcomes, OTHER])
        if isinstance(result, outcome.OutcomeError):
            return Rejected(
                ok=False, error=result.error, message=result.message, excerpt=result.excerpt
            )
        return Accepted(
            ok=True,
            outcome=result.outcome,
            description=result.description,
            source=result.source,
            repaired=result.repaired,
        )

    async def trust(
        self, working_directory: str, digests: Mapping[str, str] | None
    ) -> list[TrustedRecipe]:
        where = directory(working_directory)
        agreed = await agree(self._context.store, self._catalogue, where, digests)
        self._context.log("Recipes trusted", directory=shown(where), recipes=sorted(agreed))
        return [TrustedRecipe(id=id_, digest=digest) for id_, digest in sorted(agreed.items())]

    async def list(self, working_directory: str | None) -> list[RecipeRow]:
        if not self._enabled():
            return []
        where = None if working_directory is None else directory(working_directory)
        entries = await trio.to_thread.run_sync(self._catalogue.list, where)
        return [
            RecipeRow(
                id=entry.id,
                label=entry.label,
                description=entry.description,
                first_prompt=_preview(entry.recipe.first_prompt if entry.recipe else ""),
                **_origin(entry),
                ok=entry.recipe is not None,
            )
            for entry in await judged(self._context.store, entries)
        ]


def _origin(entry: Entry) -> dict[str, Any]:
    """Describe where a recipe is from, and whether it may run."""
    return {
        "source": entry.source,
        "path": shown(entry.path),
        "shadows": entry.shadows,
        "trusted": entry.trusted,
        "changed": entry.changed,
    }


def _preview(text: str) -> str:
    return " ".join(text.split())[:PREVIEW_CHARACTERS]
