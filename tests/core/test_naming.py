"""A run is called by its recipe and by what it was started for."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.recipe.model import Param, Recipe
from podiumd.core.recipe.naming import NAME_CHARACTERS, named_row, run_name
from podiumd.wire import views
from podiumd.wire.event import data_of
from tests.core.builders import Play, a_recipe, a_step, to
from tests.plain import shown

RECIPE = a_recipe(
    params={
        "depth": Param(type="choice", choices=("a", "b"), default="a"),
        "task": Param(type="string", default=""),
        "more": Param(type="string", default="tests"),
    }
)


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"task": "Add unicode slugs"}, "sample: Add unicode slugs"),
        ({"task": " Add\n\nslugs ", "more": "docs"}, "sample: Add slugs"),
        ({"task": " \n", "more": "docs"}, "sample: docs"),
        ({"depth": "b", "task": "", "more": "tests"}, "Sample"),
        ({"task": 7}, "Sample"),
        ({}, "Sample"),
    ],
)
def test_the_first_text_that_was_given_is_the_task(params: dict[str, Any], name: str) -> None:
    assert run_name(RECIPE, params, None) == name


def test_a_recipe_without_a_label_is_called_by_its_id() -> None:
    assert run_name(a_recipe(label=""), {}, None) == "sample"


def test_a_long_task_is_cut() -> None:
    name = run_name(RECIPE, {"task": "word " * 10_000}, None)

    assert len(name) == NAME_CHARACTERS and name.endswith("…")


@pytest.mark.parametrize(("text", "name"), [("Say\nhello", "Say hello"), (None, "")])
def test_a_plain_prompt_is_called_by_its_words(text: str | None, name: str) -> None:
    assert run_name(None, {}, text) == name


@pytest.mark.parametrize(
    ("view", "name"),
    [
        ({"name": "fix-it: Mend", "recipe": "fix-it"}, "fix-it: Mend"),
        ({"recipe": "fix-it", "params": {"n": 3, "what": "", "task": "Mend"}}, "fix-it: Mend"),
        ({"recipe": "fix-it", "params": {}}, "fix-it"),
        ({"recipe": None}, ""),
    ],
)
def test_a_run_of_an_earlier_release_is_named_as_well(view: dict[str, Any], name: str) -> None:
    assert named_row(view) == name


def test_a_run_tells_its_name_and_all_its_sessions() -> None:
    recipe: Recipe = a_recipe(
        {"work": a_step(on={"complete": to("look")}), "look": a_step(session="fresh")}
    )
    play = Play(recipe)
    play.say("complete")
    play.begin()
    view = shown(views.run_view, play.state)

    assert view["name"] == "Sample"
    assert list(play.state.sessions) == [view["main_session_id"], view["session_id"]]
    assert data_of(play.facts[0])["name"] == "Sample"
