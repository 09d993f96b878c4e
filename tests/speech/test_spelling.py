"""Terms that are heard right and written otherwise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.speech.words.spelling import spell

TERMS = (
    "phone_link",
    "review-and-commit",
    "fact_log.py",
    "log.py",
    "README.md",
    "recipe",
    "next_step",
)


@pytest.mark.parametrize(
    ("heard", "spelt"),
    [
        ("Rename phone-link.", "Rename phone_link."),
        ("Phone-Link, please", "phone_link, please"),
        ("fact.log.py or fact log.py", "fact_log.py or fact_log.py"),
        ("open readme.md and log.py", "open README.md and log.py"),
        ("the session-phone-link-thing", "the session-phone_link-thing"),
        ("run review_and_commit", "run review-and-commit"),
        ("what is the next step?", "what is the next step?"),
        ("review and commit it", "review and commit it"),
        ("a phone. Link it", "a phone. Link it"),
        ("microphone-link and phone-links", "microphone-link and phone-links"),
        ("my Recipe", "my Recipe"),
        ("", ""),
    ],
)
def test_only_the_joints_of_a_term_are_mended(heard: str, spelt: str) -> None:
    assert spell(heard, TERMS) == spelt


@given(st.text(), st.lists(st.text(max_size=12), max_size=5))
def test_words_stay_as_they_are(text: str, terms: list[str]) -> None:
    def words(of: str) -> str:
        return "".join(one for one in of.casefold() if one.isalnum())

    assert words(spell(text, terms)) == words(text)


def test_without_terms_nothing_changes() -> None:
    assert spell("phone-link", ()) == "phone-link"
