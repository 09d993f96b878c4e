"""The languages of spoken commands that ship with Podium."""

from __future__ import annotations

import pytest

from podiumd.speech.spoken_languages import spoken_language, spoken_languages


def test_the_tag_of_a_region_finds_its_language() -> None:
    assert spoken_language("de-AT") is spoken_languages()["de"]


@pytest.mark.parametrize("tag", ["", "xx", "auto", "english"])
def test_a_language_without_words_has_no_commands(tag: str) -> None:
    assert spoken_language(tag) is None
