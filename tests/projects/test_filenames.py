"""Names of uploaded files: plain ones only, in one form, and another where one is taken."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.projects.errors import BadName
from podiumd.projects.filenames import LONGEST_BYTES, checked_name, numbered
from tests.projects.hostile_names import HARMLESS, REFUSED

STAMP = "20260301120000"


def refusal(name: str) -> str:
    with pytest.raises(BadName) as raised:
        checked_name(name)
    return str(raised.value)


def test_hostile_names_are_refused_in_words_that_can_be_shown() -> None:
    assert len(REFUSED) >= 200
    for name in REFUSED:
        words = refusal(name)
        assert re.match(r"The file name '.*' (is|holds|begins|has)", words), words
        assert words.isprintable() and len(words) < 700


def test_names_that_only_look_odd_are_kept() -> None:
    kept = {name: checked_name(name) for name in HARMLESS}
    assert kept == {name: unicodedata.normalize("NFC", name) for name in HARMLESS}


@given(st.text(max_size=300))
def test_whatever_is_taken_is_one_plain_name(name: str) -> None:
    try:
        taken = checked_name(name)
    except BadName:
        return
    assert taken == unicodedata.normalize("NFC", taken)
    assert not set(taken) & set("/\\\0")
    assert taken[0] not in ".-"
    assert 0 < len(taken.encode()) <= LONGEST_BYTES
    assert checked_name(taken) == taken


@pytest.mark.parametrize(
    ("name", "first", "third"),
    [
        ("a.txt", f"a-{STAMP}.txt", f"a-{STAMP}-3.txt"),
        ("a.tar.gz", f"a.tar-{STAMP}.gz", f"a.tar-{STAMP}-3.gz"),
        ("README", f"README-{STAMP}", f"README-{STAMP}-3"),
        ("a.", f"a-{STAMP}.", f"a-{STAMP}-3."),
    ],
)
def test_a_taken_name_gets_the_time_and_then_a_number(name: str, first: str, third: str) -> None:
    assert (numbered(name, STAMP, 1), numbered(name, STAMP, 3)) == (first, third)


@given(st.text(min_size=1, max_size=260), st.integers(1, 10**6))
def test_another_name_for_a_taken_one_is_a_good_name_too(name: str, number: int) -> None:
    try:
        taken = checked_name(name)
    except BadName:
        return
    other = numbered(taken, STAMP, number)
    assert other != taken
    assert len(other.encode()) <= LONGEST_BYTES
    assert STAMP in other
    assert not set(other) & set("/\\\0")


def test_a_long_name_is_shortened_between_characters_and_keeps_its_ending() -> None:
    assert numbered("é" * 124 + ".png", STAMP, 1) == "é" * 118 + f"-{STAMP}.png"
    assert numbered("a." + "b" * 250, STAMP, 1) == "a." + "b" * 238 + f"-{STAMP}"
