"""An agent's Markdown at a terminal: drawn, never obeyed, no line too wide, no word lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium import flow, text
from podium.render import markdown
from podium.render.prose import LONGEST

PIECES = st.sampled_from(
    [
        *("**", "*", "`", "```\n", "\n", "\n\n", "- ", "1. ", "> ", "|", "|-|-|\n", "# "),
        *("[a](b)", "![x](y)", "<b>", "&#x202e;", "\\", "~~", "    ", "---\n", '[r]: /u "t"\n'),
        *(
            "e\u0301",
            "👩\u200d👩\u200d👧",
            "😀",
            "字",
            "word",
            "\t",
            "\x1b[2J",
            "\u202e",
            "<http://a>",
        ),
    ]
)
WORDS = st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join)


def drawn(words: str, width: int = 80) -> list[str]:
    return markdown.drawn(words, width, colours=False)


@given(WORDS, st.sampled_from([10, 20, 40, 80]), st.booleans())
def test_whatever_an_agent_says_fits_and_is_harmless(words: str, width: int, colours: bool) -> None:
    lines = [flow.plain(line) for line in markdown.drawn(words, width, colours=colours)]

    assert max(map(text.cells, lines), default=0) <= width
    assert all(text.clean(line) == line and "\n" not in line for line in lines)


@given(st.lists(st.sampled_from(["alpha", "βeta", "字", "*", "**", "`x`", "|", "\n", " ", "- "])))
def test_no_word_is_lost(pieces: list[str]) -> None:
    words = "".join(pieces)

    shown = "".join(drawn(words, 20))

    for letter in filter(str.isalpha, set(words)):
        assert shown.count(letter) >= words.count(letter)


def test_headings_lists_quotes_and_emphasis_lose_their_marks() -> None:
    words = (
        "# Title\n\nSome **bold** and `code`.\nNext line.\n\n- one\n- two\n\n1. a\n1. b\n\n> said"
    )

    assert drawn(words) == [
        *("Title", "", "Some bold and code.", "Next line.", ""),
        *(" • one", " • two", "", " 1 a", " 2 b", "", "▌ said"),
    ]


def test_colours_are_for_terminals_that_want_them() -> None:
    assert markdown.drawn("a **b**", 80, colours=True) == ["a \x1b[1mb\x1b[0m"]
    assert markdown.drawn("a **b**", 80, colours=False) == ["a b"]


def test_code_keeps_its_blanks_and_is_broken_anywhere() -> None:
    words = "```python\nif x:\n    return  'a long line of it'\n```"

    assert drawn(words, 20) == ["  if x:", "      return  'a lon", "  g line of it'"]


def test_a_table_is_drawn_in_columns_where_they_fit_and_else_row_by_row() -> None:
    words = "| Name | What it is |\n|---|---|\n| pots | something-unbreakable |\n| pans | b |"

    assert [line.split() for line in drawn(words) if line and "─" not in line] == [
        ["Name", "What", "it", "is"],
        ["pots", "something-unbreakable"],
        ["pans", "b"],
    ]
    narrow = ["Name: pots", "What it is:", "something-unbreakable", "", "Name: pans"]
    assert drawn(words, 24)[:5] == narrow


def test_an_address_is_text_that_no_terminal_opens() -> None:
    words = '[here](javascript:alert(1) "t") ![a](file:///x) <https://a.b/c?d=1&e=2>'

    lines = markdown.drawn(words, 80, colours=True)

    assert lines == ['here (javascript:alert(1) "t") a (file:///x) https://a.b/c?d=1&e=2']
    assert "\x1b]" not in lines[0]


def test_markup_of_others_and_entities_are_words() -> None:
    words = "Vec<String> <b>x</b> [red]y[/red] &lt; &#x202e; :smile:\n\n<div>\nwhole\n</div>"

    assert drawn(words) == [
        "Vec<String> <b>x</b> [red]y[/red] &lt; &#x202e; :smile:",
        *("", "<div>", "whole", "</div>"),
    ]


@pytest.mark.parametrize("hidden", ["| a |\n|---|\n| b | lost |", "``` many lost words\nx\n```"])
def test_what_drawing_would_lose_is_told_as_it_is(hidden: str) -> None:
    assert drawn(hidden) == hidden.split("\n")


def test_what_is_too_long_to_be_read_is_told_as_it_is() -> None:
    words = "**a** " * LONGEST * 2

    assert "".join(drawn(words)).replace(" ", "") == words.replace(" ", "")
