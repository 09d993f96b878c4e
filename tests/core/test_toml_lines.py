"""The line of each key of a TOML text."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.toml_lines import Path, TomlLines

TEXT = '''# a comment with = and [brackets]
a = 1
b.c = "x = 1 # no comment"   # a comment

[table]   # a comment
"quoted key" = 'literal'
text = """
a = 2
[no.table] "quoted" \\" here
"""
plain = """one line"""
literal = \'\'\'
it's
\'\'\'
list = [
  1, # [
  { x = 1 },
  "]",
]
after = {y = {z = 1}}

[deep.er]
k = 1
[deep]
j = 2
[[many]]
n = 1
[[many]]
n = 2
[many.sub]
m = 3
last = true'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 2),
        (("b",), 3),
        (("b", "c"), 3),
        (("table",), 5),
        (("table", "quoted key"), 6),
        (("table", "text"), 7),
        (("table", "plain"), 11),
        (("table", "literal"), 12),
        (("table", "list"), 15),
        (("table", "list", 1, "x"), 15),
        (("table", "after"), 20),
        (("table", "after", "y", "z"), 20),
        (("deep", "er"), 22),
        (("deep", "er", "k"), 23),
        (("deep",), 24),
        (("deep", "j"), 25),
        (("many",), 26),
        (("many", 0), 26),
        (("many", 0, "n"), 27),
        (("many", 1), 28),
        (("many", 1, "n"), 29),
        (("many", 1, "sub", "m"), 31),
        (("many", 1, "sub", "last"), 32),
        (("table", "missing"), 5),
        (("missing", "too"), 1),
        ((), 1),
    ],
)
def test_each_key_is_found_or_else_the_nearest_around_it(path: Path, line: int) -> None:
    assert TomlLines(TEXT).of(path) == line


def test_the_text_of_a_string_may_begin_on_the_next_line() -> None:
    lines = TomlLines(TEXT)
    assert lines.of_value(("table", "text")) == 8
    assert lines.of_value(("table", "literal")) == 13
    assert lines.of_value(("table", "plain")) == 11
    assert lines.of_value(("table", "missing")) == 5


def test_the_text_of_the_examples_is_toml() -> None:
    assert tomllib.loads(TEXT)["many"][1] == {"n": 2, "sub": {"m": 3, "last": True}}


def test_an_empty_text_has_no_keys() -> None:
    assert TomlLines("").of(("a",)) == 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from(['"x"', "'#'", '"""\n=\n"""', "[\n1,\n2]", "{q = '}'}", "1.5"]),
            st.integers(0, 3),
        ),
        max_size=12,
    )
)
def test_lines_are_right_whatever_stands_between(values: list[tuple[str, int]]) -> None:
    text, expected = "", []
    for index, (value, blank) in enumerate(values):
        text += "\n" * blank
        expected.append(text.count("\n") + 1)
        text += f"key{index} = {value} # = [\n"
    tomllib.loads(text)
    lines = TomlLines(text)
    assert [lines.of((f"key{index}",)) for index in range(len(values))] == expected
