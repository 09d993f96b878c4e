"""The parameters of a run."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.core.recipe.load import ParamError, bind_params
from podiumd.core.recipe.model import Limits, Param, ParamType, Recipe, Step


def _recipe(**params: Param) -> Recipe:
    return Recipe(
        id="r",
        label="R",
        description="",
        initial="a",
        params=params,
        limits=Limits(),
        context={},
        steps={"a": Step(kind="turn")},
        digest="",
    )


def _param(type_: ParamType) -> Param:
    return Param(type=type_, choices=("low", "high") if type_ == "choice" else ())


@pytest.mark.parametrize(
    ("type_", "given", "bound"),
    [
        ("string", " x ", " x "),
        ("string", "true", "true"),
        ("integer", 3, 3),
        ("integer", "3", 3),
        ("integer", "-03", -3),
        ("boolean", True, True),
        ("boolean", "true", True),
        ("boolean", "false", False),
        ("choice", "low", "low"),
        ("path", "a/b c", "a/b c"),
        ("agent", "codex", "codex"),
    ],
)
def test_a_value_is_taken_in_its_type(type_: ParamType, given: Any, bound: Any) -> None:
    value = bind_params(_recipe(p=_param(type_)), {"p": given})["p"]
    assert value == bound
    assert type(value) is type(bound)


@pytest.mark.parametrize(
    ("type_", "given", "wanted"),
    [
        ("string", 3, "a text"),
        ("string", "a\0b", "a text"),
        ("integer", "3.0", "a whole number"),
        ("integer", 3.0, "a whole number"),
        ("integer", True, "a whole number"),
        ("integer", 10**30, "a whole number"),
        ("integer", "9" * 5000, "a whole number"),
        ("boolean", 1, "true or false"),
        ("boolean", "yes", "true or false"),
        ("choice", "mid", "low, high"),
        ("choice", ["low"], "low, high"),
        ("path", " ", "a path"),
        ("path", None, "a path"),
        ("agent", 7, "the name of an agent"),
    ],
)
def test_a_wrong_value_is_refused_with_what_was_wanted(
    type_: ParamType, given: Any, wanted: str
) -> None:
    with pytest.raises(ParamError) as caught:
        bind_params(_recipe(p=_param(type_)), {"p": given})
    assert caught.value.param == "p"
    assert wanted in caught.value.message
    assert len(caught.value.message) < 200


def test_defaults_fill_what_is_not_given_in_declared_order() -> None:
    recipe = _recipe(a=Param(type="integer", default=0), b=Param(type="string", default=""))
    assert list(bind_params(recipe, {"b": "x"}).items()) == [("a", 0), ("b", "x")]


def test_a_missing_value_is_named() -> None:
    with pytest.raises(ParamError, match="'issue' is missing: it needs a text"):
        bind_params(_recipe(issue=_param("string")), {})


def test_a_default_may_count_only_where_there_is_a_conversation() -> None:
    goal = Param(type="string", default="", needed="new-session")
    recipe = _recipe(goal=goal, other=Param(type="integer", default=1))

    assert bind_params(recipe, {}) == {"goal": "", "other": 1}
    assert bind_params(recipe, {"goal": "x"}, new_session=True) == {"goal": "x", "other": 1}
    with pytest.raises(ParamError, match="'goal' is needed: this conversation is new") as raised:
        bind_params(recipe, {}, new_session=True)
    assert raised.value.missing


@pytest.mark.parametrize("empty", ["", " \n"])
def test_a_needed_value_without_anything_in_it_is_missing(empty: str) -> None:
    goal = Param(type="string", default="", needed="new-session")
    recipe = _recipe(issue=_param("string"), goal=goal)

    with pytest.raises(ParamError, match="'issue' is empty: it needs a text") as raised:
        bind_params(recipe, {"issue": empty, "goal": "x"})
    assert raised.value.missing
    with pytest.raises(ParamError, match="'goal' is empty: it needs a text") as raised:
        bind_params(recipe, {"issue": "7", "goal": empty}, new_session=True)
    assert raised.value.missing
    assert bind_params(recipe, {"issue": "7", "goal": empty}) == {"issue": "7", "goal": empty}


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(ParamError, match="no parameter 'isue'; the nearest known is 'issue'"):
        bind_params(_recipe(issue=_param("string")), {"isue": "1"})
    with pytest.raises(ParamError, match="it takes none"):
        bind_params(_recipe(), {"isue": "1"})
