"""The languages of spoken commands that ship with Podium."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from podiumd.core.voice import language as spoken_language_module
from podiumd.speech.words import spoken_languages as module
from podiumd.speech.words.spoken_languages import languages_read, spoken_language, spoken_languages


@pytest.fixture
def unread() -> Iterator[None]:
    """No language has been read yet, and what a test has read is forgotten."""
    spoken_languages.cache_clear()
    yield
    spoken_languages.cache_clear()


def test_the_tag_of_a_region_finds_its_language() -> None:
    assert spoken_language("de-AT") is spoken_languages()["de"]


@pytest.mark.parametrize("tag", ["", "xx", "auto", "english"])
def test_a_language_without_words_has_no_commands(tag: str) -> None:
    assert spoken_language(tag) is None


@pytest.mark.usefixtures("unread")
async def test_the_files_are_read_once_and_not_by_the_thread_of_all_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readers = []
    read = spoken_language_module.read_language

    def noted(data: Any) -> Any:
        readers.append(threading.current_thread())
        return read(data)

    monkeypatch.setattr(module, "read_language", noted)
    for _ in range(2):
        await languages_read()
    assert len(readers) == len(spoken_languages())
    assert threading.current_thread() not in readers


@pytest.mark.usefixtures("unread")
def test_a_file_that_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(data: Any) -> Any:
        raise ValueError("words: 'go on' stands in both retry and go_on")

    monkeypatch.setattr(module, "read_language", refuse)
    with pytest.raises(ValueError, match=r"^[a-z]{2}\.toml: words: 'go on' stands in both"):
        spoken_languages()
