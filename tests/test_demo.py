"""What ``make run`` says at its end."""

from __future__ import annotations

from podiumd.demo import NEXT, RECIPE


def test_no_line_of_the_words_at_its_end_is_broken_at_eighty_columns() -> None:
    said = NEXT.format(recipe=RECIPE, repository="/tmp/podium-demo-abcdefgh/shop")
    assert max(map(len, said.splitlines())) <= 80
