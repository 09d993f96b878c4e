"""Recipes that call recipes: how deep they may, and how one is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from podiumd.core.recipe.model import Recipe

#: How many recipes may be under way inside each other, the first one included.
MAX_CALL_DEPTH: Final = 8

#: How many steps calls may bring into a recipe, and how many characters of text in them: calls
#: in calls and variables in parameters multiply, and a recipe may come from a stranger.
MOST_CALLED_STEPS: Final = 1000
MOST_CALLED_TEXT: Final = 4 * 1024 * 1024

#: Finds a recipe by its id, as the caller sees it; ``None``: there is none that can be used.
LoadCalled = Callable[[str], Recipe | None]
