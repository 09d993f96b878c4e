"""Lines broken between words keep their colours."""

import re

from hypothesis import given
from hypothesis import strategies as st

from podium import flow, text
from tests.client.test_text import ANY_WORDS

PARTS = st.lists(st.tuples(st.sampled_from(["", "\x1b[1m", "\x1b[31m"]), ANY_WORDS))


def coloured(parts: list[tuple[str, str]]) -> str:
    cleaned = [(colour, text.clean(words).replace("\n", " ")) for colour, words in parts]
    return "".join(f"{colour}{words}\x1b[0m" if colour else words for colour, words in cleaned)


def letters(lines: list[str]) -> list[tuple[str, str]]:
    """Each letter with the colour that it has."""
    found, colour = [], ""
    for line in lines:
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            if part.startswith("\x1b["):
                colour = "" if part == "\x1b[0m" else part
            else:
                found += [(char, colour) for char in part if not char.isspace()]
        assert lines == [line] or not colour, "a colour goes on into the next line"
    return found


@given(PARTS, st.integers(text.NARROWEST, 40))
def test_each_letter_keeps_its_colour_and_no_line_is_too_wide(
    parts: list[tuple[str, str]], width: int
) -> None:
    line = coloured(parts)

    lines = text.flowed(line, width)

    assert max(text.cells(flow.plain(one)) for one in lines or [""]) <= width
    assert letters(lines) == letters([line])


def test_what_goes_on_is_indented_further() -> None:
    assert text.flowed("  \x1b[1mone two three\x1b[0m", 12) == [
        "  \x1b[1mone two\x1b[0m",
        "    \x1b[1mthree\x1b[0m",
    ]
