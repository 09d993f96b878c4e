"""What ``[context]`` declares: types, first values, and what fits them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podiumd.core.recipe.context import (
    ContextKey,
    Unfit,
    as_text,
    declared,
    fits,
    initial,
    is_set,
    taken,
)

NO_VALUE = msgspec.UNSET


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("object", ContextKey("object")),
        ("any", ContextKey("any")),
        ({"type": "list"}, ContextKey("list")),
        (
            {"type": "string", "default": "en", "description": "The language"},
            ContextKey("string", "en", "The language"),
        ),
        ("", ContextKey("string", "")),
        ("some words", ContextKey("string", "some words")),
        (7, ContextKey("integer", 7)),
        (2.5, ContextKey("number", 2.5)),
        (False, ContextKey("boolean", False)),
        ([], ContextKey("list", [])),
        ({}, ContextKey("object", {})),
        ({"type": "planet"}, ContextKey("object", {"type": "planet"})),
        ({"type": ["string"]}, ContextKey("object", {"type": ["string"]})),
    ],
)
def test_a_key_is_declared_by_its_type_by_a_table_or_by_its_first_value(
    written: Any, key: ContextKey
) -> None:
    assert declared({"key": written}) == {"key": key}
    assert initial({"key": written}) == ({} if key.default is NO_VALUE else {"key": key.default})


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("string", ["", "a"], [1, None, []]),
        ("integer", [1, -1], [True, 1.5, "1"]),
        ("number", [1, 1.5], [True, "1"]),
        ("boolean", [True], [1, "true"]),
        ("list", [[], [1]], [{}, "[]"]),
        ("object", [{}, {"a": 1}], [[], None]),
        ("any", [None, 1, "a", [], {}, True], []),
    ],
)
def test_a_value_fits_its_type(type_: Any, good: list[Any], bad: list[Any]) -> None:
    assert [fits(type_, value) for value in (*good, *bad)] == [True] * len(good) + [False] * len(
        bad
    )


@pytest.mark.parametrize(
    ("type_", "given", "value"),
    [
        ("list", '["a"]', ["a"]),
        ("object", '{"a": 1}', {"a": 1}),
        ("integer", "7", 7),
        ("number", "7.5", 7.5),
        ("boolean", "true", True),
        ("string", "7", "7"),
        ("any", "7", "7"),
    ],
)
def test_a_text_that_stands_for_a_value_of_the_type_is_that_value(
    type_: Any, given: str, value: Any
) -> None:
    assert taken(type_, given) == value


@pytest.mark.parametrize(
    ("type_", "given", "words"),
    [
        ("list", "a", "expected a list, got a text"),
        ("list", "null", "expected a list, got a text"),
        ("integer", '"7"', "expected a whole number, got a text"),
        ("object", None, "expected an object, got null"),
        ("string", 7, "expected a text, got a whole number"),
        ("list", "\ud800", "expected a list, got a text"),
    ],
)
def test_what_does_not_fit_is_said_with_what_was_expected(
    type_: Any, given: Any, words: str
) -> None:
    with pytest.raises(Unfit, match=f"^{words}$"):
        taken(type_, given)


def test_empty_values_say_nothing() -> None:
    empty: list[Any] = [None, "", [], {}]
    full: list[Any] = [0, False, "a", [""], {"a": None}]

    assert [is_set(value) for value in empty] == [False] * 4
    assert [is_set(value) for value in full] == [True] * 5


def test_values_stand_in_prompts_as_texts_or_as_json_in_a_line() -> None:
    assert as_text("A\n“b”") == "A\n“b”"
    assert as_text({"ä": [1, True, None]}) == '{"ä": [1, true, null]}'
