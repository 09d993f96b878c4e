"""The places where a recipe may start that is to leave commits."""

from __future__ import annotations

import os
from pathlib import Path

from podiumd.core.recipe.model import Recipe
from podiumd.runtime.errors import Refused

NO_REPOSITORY = "no-repository"
UNUSUAL_PLACE = "unusual-place"


def check_place(
    recipe: Recipe, where: str, top: str | None, *, anyway: bool, home: str | None = None
) -> None:
    """Refuse a recipe that commits where it cannot, or where it is rarely meant to.

    ``top`` is the working tree that ``where`` lies in. Where it is the whole home or the whole
    disk, the person must confirm it (``anyway``).

    Raises:
        Refused: ``data.what`` names which of the two.
    """
    if not recipe.commits:
        return
    odd = ("/", os.path.realpath(home or Path.home()))
    if top is None:
        # A repository of the whole home or disk would be the next refusal.
        begin = "" if os.path.realpath(where) in odd else "Run 'git init' there, or start"
        raise Refused(
            f"'{where}' is no git repository, and recipe '{recipe.id}' commits.",
            what=NO_REPOSITORY,
            fix=f"{begin or 'Start'} it in a repository (--cwd DIR).",
        )
    place = "the root of the file system" if top == "/" else "your whole home"
    if top in odd and not anyway:
        raise Refused(
            f"'{top}' is {place}, and recipe '{recipe.id}' works in all of it and commits.",
            what=UNUSUAL_PLACE,
            fix="Start it in a project (--cwd DIR), or with --anyway if you mean that.",
        )
