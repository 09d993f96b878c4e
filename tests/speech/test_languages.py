"""Tags of languages as phones send them."""

from __future__ import annotations

import pytest

from podiumd.speech.words.languages import code_of


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        ("en", "en"),
        ("en-US", "en"),
        ("DE_at", "de"),
        ("zh-Hant-TW", "zh"),
        ("haw", "haw"),
        ("tlh", None),
        ("english", None),
        ("", None),
        (None, None),
    ],
)
def test_a_tag_is_the_code_of_a_language_that_models_know(
    tag: str | None, code: str | None
) -> None:
    assert code_of(tag) == code
