"""A text that is cut for a message shows where."""

import pytest

from podiumd.core.excerpt import beginning, end


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [("", "", ""), ("abc", "abc", "abc"), ("abcd", "abc…", "…bcd")],
)
def test_only_what_is_cut_is_marked_and_where(text: str, first: str, last: str) -> None:
    assert (beginning(text, 3), end(text, 3)) == (first, last)
