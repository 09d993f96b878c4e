"""The recipes that the manual shows are sound: people copy them."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from podiumd.core.analysis.check import check_text

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
RECIPES = [
    block
    for found in re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    if (block := textwrap.dedent(found)).startswith("format = 1\n")
]


def test_the_manual_shows_recipes() -> None:
    assert len(RECIPES) >= 2


@pytest.mark.parametrize("text", RECIPES, ids=range(len(RECIPES)))
def test_a_recipe_of_the_manual_checks_clean(text: str) -> None:
    result = check_text(text, file="recipes.md", read_prompt=lambda name: name)

    assert result.findings == ()
