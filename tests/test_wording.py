"""What a value should have been and what it was: the fault itself is named, however deep it is."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from podiumd.wording import convert, expected, sentence

Word = Annotated[str, Meta(min_length=1)]
Few = Annotated[tuple[str, ...], Meta(max_length=2)]


class Point(msgspec.Struct):
    x: int


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (int, "x", "expected an integer, got 'x'"),
        (list[str], "x", "expected a list, each a string, got 'x'"),
        (
            list[str],
            ["a", 7],
            "expected a list, each a string, got a list whose item 2 is the number 7",
        ),
        (
            tuple[Word, ...],
            ["a", ""],
            "expected a list, each a string that is not empty, got a list whose item 2 is ''",
        ),
        (Few, ["a"] * 3, "expected a list of at most 2, each a string, got a list of 3"),
        (
            Annotated[list[list[int]], Meta(max_length=9)],
            [[1], [2, None]],
            (
                "expected a list of at most 9, each a list, each an integer, got a list whose item "
                "2 is a list whose item 2 is null"
            ),
        ),
        (
            dict[str, int],
            {"a": 1, "b": [1]},
            "expected a table, each value an integer, got a table whose 'b' is a list",
        ),
        (
            list[str] | None,
            [None],
            "expected a list, each a string or null, got a list whose item 1 is null",
        ),
        (str | None, [1], "expected a string or null, got a list"),
        (
            list[Point],
            [{"x": "y"}],
            "expected a list, each a table, got a list whose item 1 is a table of values",
        ),
        (dict[str, int], [], "expected a table, each value an integer, got a list"),
    ],
)
def test_a_fault_says_what_was_expected_and_what_came(kind: Any, value: object, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        convert(value, kind)


def test_a_table_whose_values_fit_is_only_a_table() -> None:
    """A key that is no text cannot come from JSON or TOML."""
    with pytest.raises(ValueError, match=r"got a table of values$"):
        convert({1: 1}, dict[str, int])


def test_what_fits_is_given_back_typed() -> None:
    assert convert(["a"], tuple[str, ...]) == ("a",)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "there is no recipe 'nope'; none is like it",
            "There is no recipe 'nope'; none is like it.",
        ),
        ("Invalid params: parameter 'name': too long.", "Parameter 'name': too long."),
        ("'wait': expected a number, got null.", "'wait': expected a number, got null."),
        ("podium.toml is not there!", "podium.toml is not there!"),
        ("There is none. Run: podium up", "There is none. Run: podium up"),
    ],
)
def test_what_a_person_is_told_is_a_sentence(said: str, told: str) -> None:
    assert sentence(said) == told


def test_a_table_of_anything_is_called_a_table() -> None:
    assert expected(list[dict[str, Any]]) == "a list, each a table"
