"""ARCHITECTURE.md shows a run's life as the decider's table has it."""

from typing import get_args

from podiumd.core.decide.machine import LIVE, NEXT
from podiumd.core.run.state import Place
from tests.house.run_life import PAGE, WORDS, drawn, picture


def test_the_picture_is_that_of_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert picture() in page, "draw it anew: make run-life"
    assert drawn(page) == page


def test_every_place_is_in_the_picture() -> None:
    assert set(WORDS) == {*get_args(Place)} == {*LIVE, "ended"} > {*NEXT}
