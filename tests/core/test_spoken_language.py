"""A language's file: what it must hold, and how the tag of an utterance finds it."""

from __future__ import annotations

import pytest

from podiumd.core.voice.language import primary, read_language, tokens
from tests.core.languages import LANGUAGES, contents


def test_seven_languages_ship_with_the_same_choices_named() -> None:
    assert set(LANGUAGES) == {"de", "en", "es", "fr", "it", "nl", "pt"}
    assert {frozenset(one.choices) for one in LANGUAGES.values()} == {
        frozenset(LANGUAGES["en"].choices)
    }


def test_the_tag_of_a_region_is_the_language() -> None:
    assert [primary(tag) for tag in ("de", "de-AT", "DE_ch", " nl ")] == ["de", "de", "de", "nl"]


def test_words_are_compared_without_case_and_punctuation() -> None:
    assert tokens("Vas-y, ALLEZ!") == ("vas", "y", "allez")


@pytest.mark.parametrize(
    ("part", "key", "value", "told"),
    [
        ("words", "approve", None, "approve"),
        ("words", "maybe", ["perhaps"], "maybe"),
        ("words", "stop", "stop", "stop"),
        ("phrases", "stopped", None, "stopped"),
        ("phrases", "denied", "Denied.", "denied"),
        ("phrases", "cheer", "Hooray!", "cheer"),
        ("words", "retry", ["Go on!"], "'go on' stands in both retry and go_on"),
        ("words", "stop", ["..."], "words.stop: '...' has no word"),
        ("choices", "maybe", "perhaps", "choices: missing or unknown: maybe"),
        ("choices", "continue", None, "choices: missing or unknown: continue"),
    ],
)
def test_what_a_file_lacks_or_has_wrong_is_named(
    part: str, key: str, value: object, told: str
) -> None:
    data = contents("en")
    if value is None:
        del data[part][key]
    else:
        data[part][key] = value

    with pytest.raises(ValueError, match=told):
        read_language(data)
